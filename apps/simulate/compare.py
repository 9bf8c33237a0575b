#!/usr/bin/env python3
"""Holds `godwit simulate` against this machine: python3 apps/simulate/compare.py build/bin [ROUNDS]

Calibrates a cluster file with `godwit perf send_lat` and `put_bw` (two ranks, shared memory) and nothing else, predicts
the collectives whose ranks all do the same, measures them with the *_perf programs, and prints both and the error. The least
of several rounds counts on either side, because the simulator knows no other load on the machine. Two ranks need two
CPUs for themselves: with more ranks than CPUs the ranks take turns, which is not simulated. Changes nothing.
"""

import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter", "alltoall"]
SWEEP = ["-b", "256", "-e", "16M", "-f", "4"]


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=120).stdout


def launched(bin_dir: Path, *words: str) -> list[str]:
    return [f"{bin_dir}/godwit", "run", "-n", "2", "--bind", "core", "--", *words]


def results(bin_dir: Path, folder: str, *words: str) -> tuple[str, list[dict]]:
    file = f"{folder}/results.json"
    text = run(*launched(bin_dir, *words, "-J", file))
    return text, json.loads(Path(file).read_text())["results"]


def calibrated(bin_dir: Path, folder: str, rounds: int) -> dict:
    """The description of this machine with what send_lat measures put in."""
    times: dict[int, float] = {}
    text = ""
    for _ in range(rounds):
        text, found = results(bin_dir, folder, f"{bin_dir}/godwit", "perf", "send_lat", "--memory", "shared")
        for result in found:
            time = result["latency_us"]["median"]
            times[result["size"]] = min(time, times.get(result["size"], time))
    copies = 0.0  # a put is a memcpy; in the cache, as most copies of a collective are
    for _ in range(rounds):
        sizes = ["--sizes", "256K"]
        found = results(bin_dir, folder, f"{bin_dir}/godwit", "perf", "put_bw", "--memory", "shared", *sizes)[1]
        copies = max(copies, found[0]["bandwidth_MBps"] / 1e3)
    cluster = json.loads(run(f"{bin_dir}/godwit", "simulate", "--describe"))
    points, highest = [], 0.0
    for size in sorted(times):  # noise may make a longer message look faster
        highest = max(highest, times[size])
        points.append([size, highest])
    inside = cluster["inside"]
    cluster["ranks_per_node"] = 2
    inside["latency_us"] = points[0][1] / 2
    inside["measured_us"] = points
    eager = re.search(r"eager up to (\d+)", text)
    cluster["ranks"]["copy_GBps"] = copies
    assert eager, f"send_lat does not say what is sent eagerly:\n{text}"
    cluster["ranks"]["eager_bytes"] = int(eager[1])
    return cluster


def predicted(bin_dir: Path, file: str, collective: str) -> dict[int, float]:
    text = run(f"{bin_dir}/godwit", "simulate", "--cluster", file, collective, *SWEEP)
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {int(row[0]): float(row[5]) for row in rows}


def measured(bin_dir: Path, folder: str, collective: str, rounds: int) -> dict[int, float]:
    times: dict[int, float] = {}
    for _ in range(rounds):
        program = f"{bin_dir}/{collective}_perf"
        for result in results(bin_dir, folder, program, *SWEEP, "-n", "300", "-w", "300", "-c", "0")[1]:
            if result["in_place"]:
                continue
            time = result["latency_us"]["median"]
            times[result["size"]] = min(time, times.get(result["size"], time))
    return times


def main() -> None:
    bin_dir = Path(sys.argv[1] if len(sys.argv) > 1 else "build/bin").resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/cluster.json"
        Path(file).write_text(json.dumps(calibrated(bin_dir, folder, rounds)))
        print(f"{'collective':<15} {'size (B)':>10} {'predicted us':>13} {'measured us':>12} {'error':>7}")
        ratios = []
        for collective in COLLECTIVES:
            found = measured(bin_dir, folder, collective, rounds)
            for size, time in predicted(bin_dir, file, collective).items():
                ratio = time / found[size]
                ratios.append(ratio)
                print(f"{collective:<15} {size:>10} {time:>13.2f} {found[size]:>12.2f} {ratio - 1:>+7.0%}")
    mean = math.exp(sum(abs(math.log(ratio)) for ratio in ratios) / len(ratios)) - 1
    within = sum(1 for ratio in ratios if 1 / 1.3 <= ratio <= 1.3)
    print(f"mean error {mean:.0%} (geometric); {within} of {len(ratios)} points within 30 %")


if __name__ == "__main__":
    main()
