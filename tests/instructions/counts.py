#!/usr/bin/env python3
"""Counts the instructions of small transfers with valgrind and compares them with what is stored.

    counts.py PROBE              compare; exit 1 for a difference, 77 where they cannot be compared
    counts.py PROBE --update     store what is measured now
    counts.py PROBE --explain [STEP...]   print which functions and files the instructions are in

PROBE is build/tests/instruction_probe or build/tests/verbs_instruction_probe. Each step is counted several times, the
median counts.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

SKIPPED = 77
FOLDER = Path(__file__).resolve().parent
EXPECTED = {"instruction_probe": FOLDER / "expected.json", "verbs_instruction_probe": FOLDER / "expected_verbs.json"}
# Entering and leaving one of them switches the counting on or off: what is below libibverbs is left out of a step.
SWITCHES = ["counted_step", "below_post_send", "below_post_srq_recv", "below_poll_cq", "below_req_notify_cq"]
TOP = 12  # lines of an explanation


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("probe", type=Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--explain", nargs="*", metavar="STEP")
    return parser.parse_args()


def build_of(probe):
    """How the probe was built: what decides the counts beside the sources."""
    if not probe.exists():
        sys.exit(f"counts.py: {probe} is missing: ./dev build makes it, where valgrind's headers are installed")
    build = json.loads(subprocess.run([probe, "--build"], check=True, capture_output=True, text=True).stdout)
    return {**build, "c_library": os.confstr("CS_GNU_LIBC_VERSION")}


def measure(probe):
    """step -> the median of its profiles."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GODWIT_")}
    with tempfile.TemporaryDirectory(prefix="counts.") as folder:
        out = Path(folder, "out")
        run = subprocess.run(["valgrind", "--tool=callgrind", "--collect-atstart=no",
                              *(f"--toggle-collect={function}" for function in SWITCHES),
                              f"--callgrind-out-file={out}", probe], capture_output=True, text=True, env=environment)
        if run.returncode != 0:
            sys.exit(f"counts.py: {probe} under valgrind ended with status {run.returncode}:\n{run.stdout}{run.stderr}")
        profiles = {}
        for file in sorted(Path(folder).glob("out.*"), key=lambda path: int(path.suffix[1:])):
            profile = Profile(file.read_text())
            profiles.setdefault(profile.step, []).append(profile)
    return {step: sorted(found, key=lambda profile: profile.total)[len(found) // 2] for step, found in profiles.items()}


class Profile:
    """One dump of callgrind: instructions of a step, by function and source file."""

    def __init__(self, text):
        self.step = re.search(r"^desc: Trigger: Client Request: (\w+)$", text, re.MULTILINE)[1]
        self.total = int(re.search(r"^totals: (\d+)$", text, re.MULTILINE)[1])
        self.parts = Counter()  # (function, file) -> instructions of its own
        self.names = {}
        self.read(text)

    def name(self, kind, text):
        """Names are written once, as `(7) name`, then only as `(7)`."""
        number, name = re.fullmatch(r"(\(\d+\))(?: (.*))?", text).groups()
        if name:
            self.names[kind, number] = name
        return self.names[kind, number]

    def read(self, text):
        function = file = home = ""
        skip_next = False  # the line after `calls=` is what the called function took
        for line in text.splitlines():
            key, equals, value = line.partition("=")
            if equals and key in ("fl", "fi", "fe"):
                file = self.name("file", value)
            elif equals and key in ("cfi", "cfl"):
                self.name("file", value)
            elif equals and key in ("fn", "cfn"):
                name = self.name("function", value)
                function = name if key == "fn" else function
            elif equals and key in ("ob", "cob"):
                pass
            elif key == "calls":
                skip_next = True
            elif cost := re.fullmatch(r"[-+*\d]\d* (\d+)", line):
                if not skip_next:
                    self.parts[function, file] += int(cost[1])
                skip_next = False


def short(name):
    """Function names without their arguments."""
    return re.sub(r"\(.*", "", name.replace("(anonymous namespace)", "{}"))


def explain(step, profile):
    print(f"\n{step}: {profile.total} instructions")
    functions = Counter()
    for (function, _), count in profile.parts.items():
        functions[function] += count
    for function, count in functions.most_common(TOP):
        files = Counter({Path(file).name: n for (f, file), n in profile.parts.items() if f == function})
        inlined = ", ".join(f"{file} {n}" for file, n in files.most_common(6))
        print(f"  {count:6}  {short(function):58}  {inlined}")
    rest = sum(functions.values()) - sum(count for _, count in functions.most_common(TOP))
    if rest:
        print(f"  {rest:6}  in {len(functions) - TOP} other functions")


def compare(counts, stored, update_command):
    tolerance = stored["tolerance_percent"]
    problems = []
    for step in sorted(counts.keys() | stored["counts"].keys()):
        measured, expected = counts.get(step), stored["counts"].get(step)
        if measured is None or expected is None:
            problems.append(f"{step}: " + ("stored, but not measured any more" if measured is None else "not stored yet"))
            continue
        change = 100 * (measured - expected) / expected
        bad = abs(change) > tolerance
        print(f"{step:24} {measured:6}  stored {expected:6}  {change:+6.1f} %{'  <--' if bad else ''}")
        if bad:
            problems.append(f"{step}: {measured} instructions, stored are {expected} ({change:+.1f} %, tolerated {tolerance} %)")
    if problems:
        print("\nInstruction counts differ:\n  " + "\n  ".join(problems) +
              f"\nFewer, or more for a reason? Store them:  {update_command} --update"
              f"\nWhere are they?                           {update_command} --explain")
    return 1 if problems else 0


def main():
    args = parse_arguments()
    if not shutil.which("valgrind"):
        skip("valgrind is not installed (Debian package valgrind)")
    build = build_of(args.probe)
    expected = EXPECTED[args.probe.name]
    stored = json.loads(expected.read_text()) if expected.exists() else {"tolerance_percent": 5, "counts": {}}
    command = f"{os.path.relpath(__file__)} {os.path.relpath(args.probe)}"
    if not args.update and args.explain is None and stored.get("build") != build:
        skip(f"the counts were taken with {stored.get('build')}, this is {build}; "
             f"`{command} --update` would replace them")
    profiles = measure(args.probe)
    counts = {step: profile.total for step, profile in profiles.items()}
    if args.explain is not None:
        if unknown := set(args.explain) - profiles.keys():
            sys.exit(f"counts.py: no step {', '.join(unknown)}; there are: {', '.join(profiles)}")
        for step in args.explain or profiles:
            explain(step, profiles[step])
    elif args.update:
        expected.write_text(json.dumps({**stored, "build": build, "counts": counts}, indent=2) + "\n")
        print(f"{len(counts)} counts are stored in {os.path.relpath(expected)}")
    else:
        sys.exit(compare(counts, stored, command))


if __name__ == "__main__":
    main()
