"""Jobs of ranks on the lab's hosts, and what is done to their network meanwhile. Runs on host 0 of the lab."""

import os
import re
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

HOSTS = int(os.environ.get("RDMA_LAB_HOSTS", "0"))
build = Path("build")  # check.py sets it


class Failure(Exception):
    """What a check found to be wrong, with the output of its job."""


class Job:
    """A launcher and its ranks, rank i on host i modulo their number. Output is kept; the end kills what is left."""

    def __init__(self, launcher, command):
        self._log = tempfile.TemporaryFile()
        self._words = " ".join(map(str, command))
        self._process = subprocess.Popen([*map(str, launcher), *map(str, command)], stdin=subprocess.DEVNULL,
                                         stdout=self._log, stderr=self._log, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)  # the launchers end their ranks
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        self._log.close()

    @property
    def output(self):
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode(errors="replace")

    def fail(self, what):
        raise Failure(f"{what}\n--- output of {self._words}\n{self.output}---")

    def wait_for(self, pattern, seconds=60):
        """Until the output matches."""
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.output, re.MULTILINE):
            if self._process.poll() is not None:
                self.fail(f"it ended without saying /{pattern}/")
            if time.monotonic() > deadline:
                self.fail(f"/{pattern}/ did not come within {seconds} s")
            time.sleep(0.02)

    def end(self, *patterns, seconds, status=0, reject=()):
        """Waits for the end, at most so long, and checks status (a number, "nonzero", None: any) and output."""
        try:
            found = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.fail(f"no end within {seconds} s")
        if status is not None and (found == 0 if status == "nonzero" else found != status):
            self.fail(f"exit status {found}, expected {status}")
        for pattern in patterns:
            if not re.search(pattern, self.output, re.MULTILINE):
                self.fail(f"its output lacks /{pattern}/")
        for pattern in reject:
            if re.search(pattern, self.output, re.MULTILINE):
                self.fail(f"its output has /{pattern}/")


def program(path):
    return build / path


def mpirun(ranks, *command, recovery=False, **variables):
    """Takes 3 s longer than godwit_run, but works with hosts that have networks of their own."""
    hosts = ",".join(f"h{host}:{ranks}" for host in range(HOSTS))
    launcher = ["mpirun.openmpi", "--host", hosts, "--map-by", "node", "-n", ranks]
    launcher += [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
    if recovery:  # who sees a death goes on; the exit status is 0 then
        launcher.append("--enable-recovery")
    return Job(launcher, command)


def godwit_run(ranks, *command, recovery=False, **variables):
    launcher = [build / "bin/godwit", "run", "-n", ranks]
    if recovery:
        launcher.append("--keep-going")
    # Of the hosts' own variables some may be meant: those of the job come after them.
    variables = [f"{name}={value}" for name, value in variables.items()]
    return Job([*launcher, "--", Path(__file__).resolve().parent / "enter_host", "env", *variables], command)


def switch(command):
    subprocess.run(["lab-switch", *command.split()], check=True)


def on_host(host, command):
    return subprocess.run(["lab-host", str(host), *command.split()], check=True, capture_output=True, text=True).stdout


def dropped(host):
    """Packets to the host that `disturbed` has dropped until now."""
    command = ["lab-switch", "tc", "-s", "qdisc", "show", "dev", f"v{host}"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return int(re.search(r"dropped (\d+)", shown).group(1))


@contextmanager
def disturbed(host, netem):
    """What the switch sends to the host suffers: "loss 3%"."""
    switch(f"tc qdisc add dev v{host} root netem {netem}")
    try:
        yield
    finally:
        switch(f"tc qdisc del dev v{host} root")


@contextmanager
def unplugged(host, rail=0):
    """The host's cable is pulled; at the end it is back, and the port active."""
    end = f"{host}r{rail}" if rail else f"{host}"
    switch(f"ip link set v{end} down")
    try:
        yield
    finally:
        switch(f"ip link set v{end} up")
        deadline = time.monotonic() + 30
        while f"rxe{end}:PORT_ACTIVE" not in states():
            if time.monotonic() > deadline:
                raise Failure(f"the port rxe{end} does not come back: {states()}")
            time.sleep(0.05)


def states():
    """Of all devices that hosts see, as rxe0:PORT_ACTIVE."""
    text = "".join(on_host(host, "ibv_devinfo") for host in range(HOSTS))
    return {f"{name}:{state}" for name, state in re.findall(r"hca_id:\s*(\S+).*?state:\s*(PORT_\w+)", text, re.DOTALL)}
