"""The JSON files of -J, from real runs."""

import json
import sys
import tempfile
from pathlib import Path

from run_program import expect, run

BIN = sys.argv[1]
HEAD = {"tool", "version", "transport", "ranks", "hosts", "memory", "threads", "command", "date", "machine",
        "results"}


def report(ranks, words):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        run([f"{BIN}/godwit", "run", "-n", str(ranks), "--", *words, "-J", str(path)])
        expect([file.name for file in Path(folder).iterdir()] == ["report.json"], "only the report is left")
        document = json.loads(path.read_text())
    expect(set(document) == HEAD, f"keys: {sorted(document)}")
    expect(document["ranks"] == ranks and document["hosts"] == 1 and document["transport"] == "shm", f"{document}")
    return document


document = report(3, [f"{BIN}/all_reduce_perf", "-b", "1K", "-e", "16K", "-f", "4", "-n", "4"])
results = document["results"]
expect(document["tool"] == "all_reduce_perf", document["tool"])
expect([(r["size"], r["in_place"]) for r in results] ==
       [(size, in_place) for size in (1024, 4096, 16384) for in_place in (False, True)], f"{results}")
for result in results:
    latency = result["latency_us"]
    expect(0 < latency["min"] <= latency["median"] <= latency["p99"], f"{latency}")
    expect(result["wrong"] == 0 and result["type"] == "float" and result["redop"] == "sum" and result["root"] == -1,
           f"{result}")
    expect(abs(result["algbw_GBps"] - result["size"] / result["time_us"] / 1e3) < 1e-6 + 1e-6 * result["algbw_GBps"],
           f"algbw is size over time: {result}")
    expect(abs(result["busbw_GBps"] - result["algbw_GBps"] * 4 / 3) < 1e-9, f"busbw: {result}")

document = report(2, [f"{BIN}/godwit", "perf", "put_lat", "--sizes", "8,64", "-n", "20"])
expect(document["tool"] == "godwit perf put_lat", document["tool"])
for result in document["results"]:
    expect(set(result) == {"size", "latency_us", "wrong"} and result["wrong"] == 0, f"{result}")
expect(document["memory"] == "shared" and document["threads"] == 1, f"{document}")

document = report(2, [f"{BIN}/godwit", "perf", "wake_lat", "--idle-ms", "20", "-n", "3"])
(result,) = document["results"]
expect(set(result) == {"size", "latency_us", "waiting_cpu_percent", "wrong"}, f"{result}")
# More cores than all threads of the waiting process could use would be a wrong clock or a wrong process.
expect(0 <= result["waiting_cpu_percent"] < 300, f"{result}")

document = report(2, [f"{BIN}/godwit", "perf", "msg_rate", "--sizes", "0,8", "--threads", "3", "-n", "100", "-w", "0"])
expect([r["size"] for r in document["results"]] == [0, 8], f"{document}")
expect(document["memory"] == "private" and document["threads"] == 3, f"{document}")

document = report(4, [f"{BIN}/godwit", "perf", "send_bw", "-s", "4K", "-n", "100", "--check", "0"])
(result,) = document["results"]
expect(set(result) == {"size", "bandwidth_MBps", "messages_per_s"}, f"{result}")
expect(abs(result["bandwidth_MBps"] - result["messages_per_s"] * 4096 / 1e6) < 1e-6 * result["bandwidth_MBps"], f"{result}")
