"""What the figures were measured on: for the heading and bench.json; and which two CPUs to use."""

import json
import os
import platform
from pathlib import Path

from process import run


def lscpu_fields(text):
    """Field -> value of `lscpu -J`, with nested fields."""
    fields = {}

    def walk(entries):
        for entry in entries:
            fields[entry["field"].rstrip(":")] = entry.get("data") or ""
            walk(entry.get("children", []))

    walk(json.loads(text)["lscpu"])
    return fields


def describe(cpus):
    fields = lscpu_fields(run(["lscpu", "-J"])[0])
    caches = [f"{name.removesuffix(' cache')} {fields[name]}" for name in ("L1d cache", "L2 cache", "L3 cache")
              if fields.get(name)]
    kilobytes = next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
                     if line.startswith("MemTotal:"))
    hypervisor = fields.get("Hypervisor vendor")
    return {"cpu": fields.get("Model name", "unknown"), "cpus": os.cpu_count(), "caches": ", ".join(caches),
            "memory": f"{kilobytes / 2**20:.0f} GiB", "kernel": platform.release(),
            "virtual": f"virtual machine ({hypervisor})" if hypervisor else "no",
            "pinning": f"rank i on CPU number i of {cpus}, by taskset, for every runtime"}


def siblings(cpu):
    """CPUs of the same core, as the kernel writes lists: 0,64 or 0-1."""
    path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    return expand(path.read_text(encoding="ascii").strip()) if path.exists() else {cpu}


def expand(text):
    cpus = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


def package(cpu):
    path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id")
    return path.read_text(encoding="ascii").strip() if path.exists() else ""


def two_cpus():
    """The first allowed CPU and the next one on another core, of the same socket if there is one; or None."""
    allowed = sorted(os.sched_getaffinity(0))
    others = [cpu for cpu in allowed if cpu not in siblings(allowed[0])]
    others.sort(key=lambda cpu: (package(cpu) != package(allowed[0]), cpu))
    return f"{allowed[0]},{others[0]}" if others else None
