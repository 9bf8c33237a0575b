"""The cache of kernels. Preparation runs under a lock; what is ready is never changed again."""

import contextlib
import fcntl
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from host import kernel_files, packages
from host.errors import CannotRun, LabError

LAB = Path(__file__).resolve().parent.parent
LAYOUT = 1  # to be raised when the content of the cache changes
SUITES = {"stable": ["bookworm", "bookworm-security"], "new": ["trixie-backports"]}


@dataclass(frozen=True)
class Kernel:
    folder: Path  # vmlinux, initrd, root/lib/modules/VERSION, siw.ko
    version: str


class Cache:
    def __init__(self, folder):
        self._folder = folder

    @staticmethod
    def of_user():
        user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Cache(Path(os.environ.get("GODWIT_RDMA_LAB_CACHE") or Path(user, "godwit", "rdma_lab")).absolute())

    @contextlib.contextmanager
    def _locked(self):
        self._folder.mkdir(parents=True, exist_ok=True)
        with open(self._folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def kernel(self, kind, drivers, download=True):
        """A kernel that is ready to boot; installs, downloads and builds what is missing. Throws LabError."""
        packages.check_machine()
        with self._locked():
            packages.install(packages.listed(LAB / "packages"))
            folder = self._folder / f"{kind}-{LAYOUT}"
            if not (folder / "version").exists():
                if not download:
                    raise CannotRun(f"its kernel '{kind}' is not in {self._folder} "
                                    f"(tests/rdma_lab/run --kernel {kind} --prepare downloads it)")
                make_kernel(folder, SUITES[kind])
            kernel = Kernel(folder, (folder / "version").read_text())
            if "siw" in drivers and not (folder / "siw.ko").exists():
                make_siw(kernel)
        return kernel


def make_kernel(folder, suites):
    shutil.rmtree(folder, ignore_errors=True)
    root = folder / "root"
    root.mkdir(parents=True)
    packages.note(f"downloading a kernel to {folder}")
    source = packages.PackageSource(folder / "apt", suites)
    version = newest_version(source)
    # 6.1 is one package; later ones are split.
    parts = {f"linux-{part}-{version}" for part in ("image", "binary", "modules", "base")}
    source.unpack(sorted(parts & set(source.names("linux-"))), root)
    kernel_files.complete(folder, version)
    shutil.rmtree(folder / "apt")
    (folder / "version").write_text(version)  # last: it says that all is there


def make_siw(kernel):
    try:
        packages.install([f"linux-headers-{kernel.version}", *packages.listed(LAB / "packages.siw")])
    except CannotRun:
        raise
    except LabError as problem:
        raise LabError(f"{problem}\nIf Debian no longer has the headers of this kernel, remove {kernel.folder}: "
                       "the next run gets a newer kernel.") from None
    packages.note("building the module for soft-iWARP")
    kernel_files.build_siw(kernel.folder, kernel.version)


def newest_version(source):
    prefix = "linux-image-"
    for name in source.dependencies("linux-image-amd64"):
        if name.startswith(prefix) and name.endswith("-amd64"):
            return name[len(prefix):]
    raise LabError("linux-image-amd64 names no kernel package")
