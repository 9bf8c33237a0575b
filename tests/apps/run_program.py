"""Runs a program of Godwit as a user would, without a launcher's variables around it."""

import os
import re
import subprocess
import sys

FOREIGN = re.compile(r"^(PMIX?_|OMPI_|SLURM_|RANK$|WORLD_SIZE$|LOCAL_RANK$|MASTER_|GODWIT_|NCCL_)")


def environment(**more):
    return {**{name: value for name, value in os.environ.items() if not FOREIGN.match(name)}, **more}


def run(words, status=0, **more):
    """Standard output and standard error; ends the test if the exit status is another one."""
    done = subprocess.run(words, env=environment(**more), capture_output=True, text=True, timeout=120)
    if done.returncode != status:
        sys.exit(f"{' '.join(words)}: exit status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def expect(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")
