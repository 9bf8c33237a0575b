#!/usr/bin/env python3
"""Runs a program as N ranks under a launcher, with a deadline, and checks what it leaves behind.

    launch.py --launcher mpirun|godwit|torch|hosts|lab -n N [options] -- PROGRAM ARGS...

Passes when the exit status is the expected one, every --expect pattern is in the output, and neither a
process nor a file of Godwit stays. Exits with 77 (skipped) where a launcher cannot be used at all.
It kills only its own descendants: it makes itself their reaper and finds them by parent id.
"""

import argparse
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SKIPPED = 77
PR_SET_CHILD_SUBREAPER = 36
LAUNCHER_VARIABLES = re.compile(r"^(PMIX?_|OMPI_|SLURM_|MPI_|HYDI?_|TORCHELASTIC_)|"
                                r"^(RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|MASTER_ADDR|MASTER_PORT)$")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launcher", required=True, choices=["mpirun", "godwit", "torch", "hosts", "lab"])
    parser.add_argument("-n", "--ranks", type=int, required=True)
    parser.add_argument("--godwit", default="godwit", help="the godwit tool, for --launcher godwit")
    parser.add_argument("--timeout", type=float, default=120, help="seconds until everything is killed")
    parser.add_argument("--expect-status", default="0", help="exit status: a number, 'nonzero' or 'any'")
    parser.add_argument("--expect", action="append", default=[], help="regular expression that the output must match")
    parser.add_argument("--reject", action="append", default=[], help="regular expression that it must not match")
    parser.add_argument("--launcher-arg", action="append", default=[], help="one more argument for the launcher")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def open_mpi():
    """Path of Open MPI's mpirun; `mpirun` itself may belong to another MPI."""
    for name in ("mpirun.openmpi", "mpirun"):
        path = shutil.which(name)
        if path and "Open MPI" in subprocess.run([path, "--version"], capture_output=True, text=True).stdout:
            return path
    skip("Open MPI's mpirun is not installed (Debian package openmpi-bin)")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def base_environment(tmp):
    env = {name: value for name, value in os.environ.items() if not LAUNCHER_VARIABLES.match(name)}
    env.update(TMPDIR=tmp, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return env


def launches(args, tmp):
    """The (command, environment) pairs to start: one for a launcher, one per rank for torchrun's environment."""
    n, env, extra = args.ranks, base_environment(tmp), args.launcher_arg
    if args.launcher == "godwit":
        return [([args.godwit, "run", "-n", str(n), *extra, "--", *args.command], env)]
    if args.launcher == "mpirun":
        bind = ["--bind-to", "none"] if n > len(os.sched_getaffinity(0)) else []
        return [([open_mpi(), "--oversubscribe", *bind, "-n", str(n), *extra, *args.command], env)]
    if args.launcher == "hosts":
        if os.geteuid() != 0 or subprocess.run(["unshare", "--uts", "true"], capture_output=True).returncode != 0:
            skip("fake hosts need root: each gets a UTS namespace of its own")
        agent = str(Path(__file__).resolve().parent / "fake_ssh")
        hosts = f"nodeA:{n - n // 2},nodeB:{n // 2}" if n > 1 else "nodeA:1"
        return [([open_mpi(), "--oversubscribe", "--bind-to", "none", "--mca", "plm", "rsh", "--mca", "ras", "^slurm",
                  "--mca", "plm_rsh_agent", agent, "--host", hosts, "-n", str(n), *extra, *args.command], env)]
    if args.launcher == "lab":
        env.update({name: value for name, value in os.environ.items() if name.startswith("OMPI_MCA_")})  # the lab's
        hosts = os.environ.get("RDMA_LAB_HOSTS") or skip("not within tests/rdma_lab/run")
        names = ",".join(f"h{host}:{n}" for host in range(int(hosts)))
        return [([open_mpi(), "--host", names, "--map-by", "node", "-n", str(n), *extra, *args.command], env)]
    job = dict(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), WORLD_SIZE=str(n), LOCAL_WORLD_SIZE=str(n))
    return [(args.command, {**env, **job, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(n)]


def descendants():
    """Live processes below this one, orphans included. Reaps orphans that have ended."""
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            text = Path("/proc", entry, "stat").read_text()
        except OSError:
            continue
        state, parent = text[text.rindex(")") + 2:].split()[:2]
        if state != "Z":
            children.setdefault(int(parent), []).append(int(entry))
    found, stack = [], [os.getpid()]
    while stack:
        below = children.get(stack.pop(), [])
        found += below
        stack += below
    return found


def reap_orphans():
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def name_of(pid):
    try:
        return f"{pid} ({Path('/proc', str(pid), 'cmdline').read_text().replace(chr(0), ' ').strip()[:120]})"
    except OSError:
        return str(pid)


def kill_descendants():
    for pid in descendants():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    while descendants():
        reap_orphans()


def wait_all(processes, deadline):
    """Exit statuses, shell fashion, or None after the deadline."""
    while time.monotonic() < deadline:
        if all(process.poll() is not None for process in processes):
            return [128 - p.returncode if p.returncode < 0 else p.returncode for p in processes]
        time.sleep(0.02)
    return None


def shared_memory_files():
    return {name for name in os.listdir("/dev/shm") if "godwit" in name.lower()}


def files_left(tmp, before, launcher):
    left = [f"/dev/shm/{name}" for name in shared_memory_files() - before]
    for folder, folders, files in os.walk(tmp):
        left += [os.path.join(folder, name) for name in folders + files]
    # Open MPI may keep its session folder; what counts is that nothing of ours is in it.
    return [path for path in left if launcher in ("godwit", "torch") or "godwit" in path[len(tmp):].lower()]


def leftovers(tmp, before, launcher):
    """What still stays 10 s after the end, as words; an orderly end needs a moment."""
    deadline = time.monotonic() + 10
    while True:
        reap_orphans()
        left = [f"process {name_of(pid)}" for pid in descendants()]
        left += [f"file {path}" for path in files_left(tmp, before, launcher)]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


def complaints(args, statuses, output, left):
    worst = max(statuses)
    if args.expect_status == "any":
        wanted = True
    else:
        wanted = worst != 0 if args.expect_status == "nonzero" else worst == int(args.expect_status)
    if not wanted:
        yield f"exit status {statuses}, expected {args.expect_status}"
    yield from (f"the output lacks /{p}/" for p in args.expect if not re.search(p, output, re.MULTILINE))
    yield from (f"the output contains /{p}/" for p in args.reject if re.search(p, output, re.MULTILINE))
    yield from (f"left behind: {what}" for what in left)


def main():
    args = parse_arguments()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = shared_memory_files()
    tmp = tempfile.mkdtemp(prefix="launch.")
    problems = []
    with tempfile.TemporaryFile() as log:
        try:
            processes = [subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          start_new_session=True) for command, env in launches(args, tmp)]
            statuses = wait_all(processes, time.monotonic() + args.timeout)
            if statuses is None:
                running = [name_of(pid) for pid in descendants()]
                problems = [f"no end within {args.timeout:g} s; killed: " + "; ".join(running)]
            left = leftovers(tmp, before, args.launcher) if statuses is not None else []
        finally:
            kill_descendants()
            shutil.rmtree(tmp, ignore_errors=True)
        log.seek(0)
        output = log.read().decode(errors="replace")
    sys.stdout.write(output)
    if statuses is not None:
        problems = list(complaints(args, statuses, output, left))
    for problem in problems:
        print(f"launch.py: {args.launcher}, {args.ranks} ranks: {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
