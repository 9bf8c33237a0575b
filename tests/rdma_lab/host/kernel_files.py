"""Makes what QEMU boots out of an unpacked kernel package, and the module for soft-iWARP."""

import lzma
import shutil
import struct
import subprocess
from pathlib import Path

from host.errors import LabError
from host.packages import call

FIRST_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")  # to reach the machine's files


def complete(folder, version):
    """Adds vmlinux, module dependencies and initrd to folder, which has the packages' files below root/."""
    root = folder / "root"
    if not (root / "lib").exists():
        (root / "lib").symlink_to("usr/lib")
    call(["depmod", "-b", root, version])
    image = next(path for path in root.rglob("vmlinuz*") if path.is_file())
    (folder / "vmlinux").write_bytes(payload(image))
    make_initrd(folder, version)


def payload(image):
    """The kernel within a bzImage, uncompressed: unpacking it in the emulated machine would take seconds."""
    data = image.read_bytes()
    if data[0x202:0x206] != b"HdrS":
        raise LabError(f"{image} is no x86 kernel")
    sectors = data[0x1F1] or 4
    start, length = struct.unpack_from("<II", data, 0x248)
    begin = (sectors + 1) * 512 + start
    packed = data[begin:begin + length - 4]  # the last four bytes are the size
    if packed.startswith(b"\xfd7zXZ\0"):
        return lzma.decompress(packed)
    if packed.startswith(b"\x28\xb5\x2f\xfd"):
        return subprocess.run(["zstd", "-dcq"], input=packed, stdout=subprocess.PIPE, check=True).stdout
    raise LabError(f"{image} is packed in an unknown way")


def make_initrd(folder, version):
    """busybox and the first modules; guest/init is appended at each boot."""
    tree = folder / "initrd.d"
    for name in ("bin", "modules", "proc", "sys", "dev", "machine", "scratch", "root"):
        (tree / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", tree / "bin")
    order = []
    for module in FIRST_MODULES:
        for file in dependencies(folder / "root", version, module):
            name = file.name.removesuffix(".xz")
            if name not in order:
                order.append(name)
                data = file.read_bytes()
                (tree / "modules" / name).write_bytes(lzma.decompress(data) if file.suffix == ".xz" else data)
    (tree / "modules/order").write_text("\n".join(order) + "\n")
    archive(tree, [path.relative_to(tree) for path in sorted(tree.rglob("*"))], folder / "initrd")
    shutil.rmtree(tree)


def dependencies(root, version, module):
    """Files of a module and those that it needs, in the order to load them; none if it is built in."""
    lines = call(["modprobe", "-d", root, "-S", version, "--show-depends", module]).splitlines()
    return [Path(line.split()[1]) for line in lines if line.startswith("insmod")]


def archive(folder, names, target):
    """Appends files of a folder to a cpio archive as the kernel reads it."""
    with open(target, "ab") as out:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], input="".join(f"{name}\n" for name in names), text=True,
                       stdout=out, cwd=folder, check=True)


def build_siw(folder, version):
    """Needs the kernel's headers and linux-source-6.1 installed."""
    inside = "linux-source-6.1/drivers/infiniband/sw/siw"
    build = folder / "siw"
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir()
    call(["tar", "-C", build, f"--strip-components={inside.count('/') + 1}", "-xJf", "/usr/src/linux-source-6.1.tar.xz",
          inside])
    makefile = build / "Makefile"
    makefile.write_text(makefile.read_text().replace("$(CONFIG_RDMA_SIW)", "m"))
    call(["make", "-s", "-j2", "-C", f"/lib/modules/{version}/build", f"M={build}", "modules"])
    (build / "siw.ko").rename(folder / "siw.ko")
    shutil.rmtree(build)
