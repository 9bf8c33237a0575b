"""Runs the programs that measure. Whatever goes wrong becomes a Failure with the program's own words."""

import os
import re
import signal
import socket
import subprocess
import time

FOREIGN = re.compile(r"^(PMIX?_|PRTE_|OMPI_|MPI_LOCAL|MPIR_|SLURM_|UCX_|GODWIT_|NCCL_|MASTER_)"
                     r"|^(RANK|LOCAL_RANK|WORLD_SIZE)$")


class Failure(Exception):
    """A runtime could not be found, built, started, or understood; the text says why."""


def environment(more=None):
    """Of the caller, without what an outer launcher or a user's settings of one runtime would change."""
    own = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
    return {**own, "LC_ALL": "C", **(more or {})}


def said(text, lines=12):
    """What a program said, without rules and blank lines; of much the beginning and the end."""
    words = [line.rstrip() for line in text.splitlines() if line.strip("-=* \t")]
    if len(words) > lines:
        words[lines // 2 : -lines // 2] = ["..."]
    return "\n".join(words) or "it said nothing"


def start(words, more=None):
    """Its own process group, so that a launcher's ranks can be ended with it."""
    try:
        return subprocess.Popen(words, env=environment(more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    except OSError as error:
        raise Failure(f"{words[0]}: {error.strerror}") from error


def end(process):
    """Ends what start() started, if it still runs. Returns what is left of its output and errors."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    return process.communicate() if not process.stdout.closed else ("", "")


def finish(process, words, limit_s):
    """Standard output and standard error."""
    try:
        output, errors = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired as expired:
        end(process)
        raise Failure(f"{' '.join(words)}: not ready after {limit_s} s, ended") from expired
    except BaseException:
        end(process)
        raise
    if process.returncode != 0:
        raise Failure(f"{' '.join(words)}: exit status {process.returncode}:\n{said(errors or output)}")
    return output, errors


def run(words, more=None, limit_s=120):
    words = [str(word) for word in words]
    return finish(start(words, more), words, limit_s)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_listener(process, port, limit_s=20):
    """Until somebody listens on the port; looks into the kernel's table, since a trial connection would be taken as
    the client's."""
    wanted = re.compile(rf":{port:04X} [0-9A-F]+:0000 0A ")
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline and process.poll() is None:
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            if os.path.exists(table):
                with open(table, encoding="ascii") as lines:
                    if wanted.search(lines.read()):
                        return
        time.sleep(0.005)
    raise Failure(f"the server did not come to listen on port {port} within {limit_s} s")
