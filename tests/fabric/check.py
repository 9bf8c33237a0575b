#!/usr/bin/env python3
"""Runs checks of the fabric in the lab, all in one boot: check.py BUILD CHECK...   or a module: faults, weather, suites

Each check is a function of one of these modules; all run, whatever fails. Status 1 if one failed.
"""

import inspect
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

import atomics
import bad_input
import conformance
import faults
import isolated
import job
import rails
import suites
import two_drivers
import weather

MODULES = (atomics, bad_input, conformance, faults, isolated, rails, suites, two_drivers, weather)


def checks_of(module):
    return [function for name, function in inspect.getmembers(module, inspect.isfunction)
            if function.__module__ == module.__name__ and not name.startswith("_")]


def named(name):
    for module in MODULES:
        if module.__name__ == name:
            return checks_of(module)
        found = [function for function in checks_of(module) if function.__name__ == name]
        if found:
            return found
    sys.exit(f"check.py: there is no check {name}")


def passes(check):
    started = time.monotonic()
    try:
        check()
        verdict = "ok"
    except job.Failure as problem:
        verdict = f"FAILED: {problem}"
    print(f"{check.__module__}.{check.__name__}: {time.monotonic() - started:.1f} s: {verdict}", flush=True)
    return verdict == "ok"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    job.build = Path(sys.argv[1]).resolve()
    checks = [check for name in sys.argv[2:] for check in named(name)]
    results = [passes(check) for check in checks]
    print(f"{sum(results)} of {len(results)} checks passed")
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
