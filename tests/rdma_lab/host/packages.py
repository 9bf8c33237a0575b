"""Debian packages: those to install on this machine, and those of the lab's kernels, which are only unpacked."""

import os
import platform
import shutil
import subprocess
import sys

from host.errors import CannotRun, LabError

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def check_machine():
    if platform.machine() != "x86_64":
        raise CannotRun(f"the lab is for x86-64, this is {platform.machine()}")
    release = platform.freedesktop_os_release() if os.path.exists("/etc/os-release") else {}
    if (release.get("ID"), release.get("VERSION_ID")) != ("debian", "12"):
        raise CannotRun(f"the lab needs Debian 12, this is {release.get('PRETTY_NAME', 'something else')}")


def listed(file):
    return [line.strip() for line in file.read_text().splitlines() if line and not line.startswith("#")]


def is_installed(package):
    query = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status}", package], capture_output=True, text=True)
    return query.stdout == "installed"


def install(packages):
    """Installs what is missing; throws CannotRun without apt or the right to install."""
    missing = [package for package in packages if not is_installed(package)]
    if not missing:
        return
    wanted = f"these Debian packages are missing: {' '.join(missing)}"
    if not shutil.which("apt-get"):
        raise CannotRun(f"{wanted}, and there is no apt-get")
    root = as_root()
    if root is None:
        raise CannotRun(f"{wanted}, and only root can install them")
    note(f"installing {' '.join(missing)}")
    call([*root, "apt-get", "-qq", "update"])
    call([*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=600", "install",
          "-y", "--no-install-recommends", *missing])


def as_root():
    """What to put before a command, None if we cannot become root. Asks for a password only where somebody sits."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo"] if sys.stdin.isatty() else ["sudo", "--non-interactive"]
    allowed = shutil.which("sudo") and subprocess.run([*sudo, "true"], stderr=subprocess.DEVNULL).returncode == 0
    return sudo if allowed else None


def note(text):
    print(f"rdma_lab: {text}", file=sys.stderr)


def call(command, **options):
    """Runs a program, silent unless it fails; returns its output. Throws LabError."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          **options)
    if done.returncode != 0:
        raise LabError(f"failed ({done.returncode}): {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class PackageSource:
    """An apt of its own in a folder: neither the sources nor the state of the machine's apt are used or changed."""

    def __init__(self, folder, suites):
        self._folder = folder
        for name in ("lists/partial", "archives/partial", "etc"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        sources = [f"deb [signed-by={KEYRING}] {mirror(suite)} {suite} main\n" for suite in suites]
        (folder / "etc/lab.list").write_text("".join(sources))
        self._options = ["-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={folder}/etc",
                         "-o", f"Dir::State::Lists={folder}/lists", "-o", f"Dir::Cache={folder}",
                         "-o", "APT::Sandbox::User="]
        self._apt("apt-get", "-qq", "-o", "APT::Update::Error-Mode=any", "update")

    def _apt(self, program, *arguments, **options):
        return call([program, *self._options, *arguments], **options)

    def dependencies(self, package):
        lines = self._apt("apt-cache", "depends", package).splitlines()
        return [line.split()[-1] for line in lines if "Depends:" in line]

    def names(self, prefix):
        return self._apt("apt-cache", "pkgnames", prefix).split()

    def unpack(self, packages, folder):
        """Downloads packages and unpacks their files below the folder."""
        self._apt("apt-get", "-qq", "download", *packages, cwd=self._folder)
        for file in self._folder.glob("*.deb"):
            call(["dpkg", "-x", file, folder])


def mirror(suite):
    """Where this machine gets that suite from, or its sibling of Debian 12."""
    sibling = "bookworm-security" if suite.endswith("-security") else "bookworm"
    for candidate in (suite, sibling):
        found = call(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", f"Codename: {candidate}"])
        if found:
            return found.splitlines()[0]
    return "http://deb.debian.org/debian-security" if suite.endswith("-security") else "http://deb.debian.org/debian"
