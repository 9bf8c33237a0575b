"""What the caller asked for, and what follows from it. Goes to the guest as shell variables."""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

DRIVERS = ("rxe", "siw")
KERNELS = ("stable", "new")


@dataclass(frozen=True)
class Settings:
    drivers: tuple  # one device of each host per entry
    hosts: int
    kernel: str
    shared: bool  # every host sees all devices
    environment: dict
    writable: tuple  # absolute paths
    folder: Path  # where the command runs
    cpus: int
    memory: int  # MiB

    @staticmethod
    def of(arguments):
        """Throws ValueError."""
        drivers = tuple(arguments.driver.split(","))
        for driver in drivers:
            if driver not in DRIVERS:
                raise ValueError(f"--driver {driver}: known are {', '.join(DRIVERS)}")
        if "siw" in drivers and arguments.kernel != "stable":
            raise ValueError("siw needs --kernel stable")
        writable = tuple(folder.resolve() for folder in arguments.writable)
        for folder in writable:
            if not folder.is_dir():
                raise ValueError(f"--writable {folder}: no such folder")
        return Settings(drivers, arguments.hosts, arguments.kernel, arguments.shared or arguments.kernel == "stable",
                        dict(variable(text) for text in arguments.env), writable, Path.cwd(), arguments.cpus,
                        arguments.memory)

    @property
    def separate_networks(self):
        """Hosts have network namespaces. The rxe of 6.1 works in the first one only."""
        return self.kernel == "new" or "rxe" not in self.drivers

    def as_shell(self):
        """Text of variables for guest/setup, and of exports for the command."""
        def yes(flag):
            return "yes" if flag else ""

        lines = [f"drivers=({' '.join(self.drivers)})", f"host_count={self.hosts}", f"folder={quoted(self.folder)}",
                 f"shared={yes(self.shared)}", f"separate_networks={yes(self.separate_networks)}",
                 f"writable=({' '.join(map(quoted, self.writable))})"]
        lines += [f"export {name}={quoted(value)}" for name, value in self.environment.items()]
        return "\n".join(lines) + "\n"


def quoted(value):
    return shlex.quote(str(value))


def variable(text):
    """NAME=VALUE, or NAME alone for the caller's own value. Throws ValueError."""
    name, separator, value = text.partition("=")
    if not name.isidentifier():
        raise ValueError(f"--env {text}: not a name of a variable")
    if not separator:
        if name not in os.environ:
            raise ValueError(f"--env {name}: not set")
        value = os.environ[name]
    return name, value
