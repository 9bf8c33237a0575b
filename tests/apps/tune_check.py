"""`godwit tune`: the table that it writes, and what GODWIT_TUNE_FILE makes of it."""

import json
import sys
import tempfile
from pathlib import Path

from run_program import expect, run

BIN = sys.argv[1]
QUICK = ["--rounds", "2", "--round-ms", "0.2"]


def ranks(count, *words, **more):
    return run([f"{BIN}/godwit", "run", "-n", str(count), "--", *words], **more)


def tune(count, path, *words, **more):
    return ranks(count, f"{BIN}/godwit", "tune", "-o", str(path), *QUICK, *words, **more)


with tempfile.TemporaryDirectory() as folder:
    table = Path(folder) / "table.json"
    printed, _ = tune(3, table, "--collectives", "allreduce,scan", "-b", "8", "-e", "32K", "-f", "64")
    expect("by flags in shared memory" in printed, f"8 bytes among three ranks of a host: {printed}")
    (shape,) = json.loads(table.read_text())["shapes"]
    expect((shape["ranks"], shape["nodes"], shape["ranks_per_node"]) == (3, 1, 3), f"{shape}")
    expect([(r["collective"], r["bytes"]) for r in shape["ranges"]] ==
           [("allreduce", 512), ("allreduce", 32768), ("scan", 8), ("scan", 512), ("scan", 32768)], f"{shape}")
    expect(all(r["us"] > 0 for r in shape["ranges"]), f"{shape}")

    tune(2, table, "--collectives", "broadcast", "-b", "1K", "-e", "1K")
    both = json.loads(table.read_text())["shapes"]
    expect([s["ranks"] for s in both] == [3, 2] and both[0] == shape, f"what is known of three ranks stays: {both}")

    # The table decides: an algorithm that costs alone would never choose.
    both[0]["ranges"] = [{"collective": "allreduce", "bytes": 1 << 20, "algorithm": "kary", "us": 1}]
    table.write_text(json.dumps({"godwit_tuning": 1, "shapes": both}))
    info, _ = ranks(3, f"{BIN}/godwit", "info", "--collectives", GODWIT_TUNE_FILE=str(table))
    expect("kary" in info and "measured to be the best" in info, info)
    ranks(3, f"{BIN}/all_reduce_perf", "-b", "1K", "-e", "1K", "-n", "5", GODWIT_TUNE_FILE=str(table))

    # Ranks with different tables are told, not left to wait for each other.
    script = f'[ "$PMIX_RANK" = 1 ] && export GODWIT_TUNE_FILE={table}; exec {BIN}/all_reduce_perf -b 1K -e 1K -n 1'
    _, errors = ranks(3, "sh", "-c", script, status=1)
    expect("does not fit" in errors and "GODWIT_TUNE_FILE" in errors, errors)

    table.write_text("{}")
    _, errors = ranks(2, f"{BIN}/all_reduce_perf", "-b", "8", "-e", "8", status=1, GODWIT_TUNE_FILE=str(table))
    expect(f"GODWIT_TUNE_FILE={table}: not a table of algorithms" in errors, errors)
    _, errors = tune(2, table, "--collectives", "allreduce", status=1)
    expect(f"-o {table}: not a table of algorithms" in errors and table.read_text() == "{}", errors)
    _, errors = tune(2, Path(folder) / "none" / "table.json", status=2)
    expect("cannot write there" in errors, errors)
    _, errors = tune(2, table, "--collectives", "allreduse", status=2)
    expect("there is no 'allreduse'; known are allreduce" in errors, errors)
