"""One boot of the virtual machine. A folder is shared with the guest (there: /.lab):

    settings  command  guest/   written before the boot
    up                          made by the guest when all hosts are there
    failed                      what went wrong before that, in words
    out  err  status            of the command
    console  setup.log          for people
"""

import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from host.errors import LabError, TimedOut
from host.kernel_files import archive
from host.prepare import LAB

BOOT_TRIES = 3  # a boot under emulation may fail; see README.md
BOOT_SECONDS = 120
POLL_SECONDS = 0.05


class Machine:
    def __init__(self, settings, kernel):
        self._settings = settings
        self._kernel = kernel
        self._share = None
        self._qemu = None

    def __enter__(self):
        self._share = Path(tempfile.mkdtemp(prefix="rdma_lab."))
        return self

    def __exit__(self, *exception):
        self._stop()
        shutil.rmtree(self._share)

    def run(self, command, seconds):
        """The command's exit status; passes its output on. Throws LabError."""
        deadline = time.monotonic() + seconds
        self._write_share(command)
        self._boot(deadline)
        with open(self._share / "out", "rb") as out, open(self._share / "err", "rb") as err:
            while True:
                ended = self._qemu.poll() is not None
                pass_on(out, sys.stdout.buffer)
                pass_on(err, sys.stderr.buffer)
                if ended:
                    return self._status()
                if time.monotonic() > deadline:
                    raise TimedOut(f"time-out: the command did not end within {seconds:g} s (boot included)")
                time.sleep(POLL_SECONDS)

    def _write_share(self, command):
        share = self._share
        share.joinpath("settings").write_text(
            f"modules={shlex.quote(str(self._kernel.folder))}/root/lib/modules\n"
            f"siw={shlex.quote(str(self._kernel.folder))}/siw.ko\n" + self._settings.as_shell())
        share.joinpath("command").write_text(f"exec {shlex.join(command)}\n")
        shutil.copytree(LAB / "guest", share / "guest")
        shutil.copy(self._kernel.folder / "initrd", share / "initrd")
        archive(share / "guest", ["init"], share / "initrd")
        for name in ("out", "err"):
            (share / name).touch()

    def _boot(self, deadline):
        for attempt in range(1, BOOT_TRIES + 1):
            self._start()
            limit = min(deadline, time.monotonic() + BOOT_SECONDS)
            while self._qemu.poll() is None and time.monotonic() < limit:
                if (self._share / "up").exists():
                    return
                time.sleep(POLL_SECONDS)
            if (self._share / "up").exists():
                return
            self._stop()
            if (self._share / "failed").exists():
                raise LabError("the lab's hosts could not be made:\n" + tail(self._share / "setup.log"))
            if time.monotonic() > deadline:
                raise TimedOut("time-out before the machine was up")
            print(f"rdma_lab: boot {attempt} of {BOOT_TRIES} failed:\n{tail(self._share / 'console')}", file=sys.stderr)
        raise LabError("the machine does not boot")

    def _start(self):
        """maxcpus=1: guest/setup starts the other CPUs when all else is done, since a kernel that patches its code
        while two emulated CPUs run may crash. The machine ends with us, even if we are killed."""
        kernel = self._kernel.folder
        append = "console=ttyS0 quiet panic=-1 mitigations=off nokaslr maxcpus=1 tsc=reliable"
        command = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display",
                   "none", "-no-reboot", "-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max,la57=off",
                   "-smp", str(self._settings.cpus), "-m", str(self._settings.memory),
                   "-kernel", kernel / "vmlinux", "-initrd", self._share / "initrd", "-append", append,
                   "-serial", f"file:{self._share}/console"]
        command += shared_folder("root", "/", ",readonly=on") + shared_folder("lab", self._share)
        for number, folder in enumerate(self._settings.writable):
            command += shared_folder(f"writable{number}", folder)
        with open(self._share / "qemu.log", "wb") as log:
            self._qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _stop(self):
        if self._qemu and self._qemu.poll() is None:
            self._qemu.kill()
            self._qemu.wait()

    def _status(self):
        try:
            return int((self._share / "status").read_text())
        except (FileNotFoundError, ValueError):
            raise LabError(f"the machine died:\n{tail(self._share / 'console')}{tail(self._share / 'qemu.log')}") from None


def shared_folder(tag, path, more=""):
    text = str(path).replace(",", ",,")
    return ["-fsdev", f"local,id={tag},path={text},security_model=none,multidevs=remap{more}",
            "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]


def pass_on(source, target):
    data = source.read()
    if data:
        target.write(data)
        target.flush()


def tail(file, lines=25):
    if not file.exists():
        return ""
    return "".join(file.read_text(errors="replace").splitlines(keepends=True)[-lines:])
