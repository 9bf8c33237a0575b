"""`godwit perf` as perftest's users start it: a server and a client, no launcher."""

import json
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from run_program import environment, expect, run

GODWIT = sys.argv[1] + "/godwit"
LIMIT_S = 120
NAMES = {"write_lat": "RDMA_Write Latency Test", "write_bw": "RDMA_Write BW Test",
         "read_lat": "RDMA_Read Latency Test", "read_bw": "RDMA_Read BW Test", "send_lat": "Send Latency Test",
         "send_bw": "Send BW Test", "atomic_lat": "Atomic FETCH_AND_ADD Latency Test"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


@contextmanager
def started(words, **more):
    """A process with pipes, ended and waited for whatever happens."""
    process = subprocess.Popen([GODWIT, "perf", *words], env=environment(**more), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process):
    out, err = process.communicate(timeout=LIMIT_S)
    return process.returncode, out, err


def pair(server_words, client_words=None, host="127.0.0.1"):
    """Both ends' (status, standard output, standard error)."""
    port = ["-p", str(free_port())]
    client_words = server_words if client_words is None else client_words
    with started([*server_words, *port]) as server, started([*client_words, *port, host]) as client:
        return ended(server), ended(client)


def good_pair(*words):
    """Standard outputs."""
    server, client = pair(list(words))
    for name, (status, out, err) in {"server": server, "client": client}.items():
        expect(status == 0 and err == "", f"{words}, {name}: status {status}\n{out}{err}")
    return server[1], client[1]


def rows(out):
    """The numbers below the line of columns."""
    lines = out[out.index("#bytes"):].splitlines()[1:]
    return [[float(word) for word in line.split()] for line in lines if line and line[0] == " "]


def check_latency(row, size, iterations):
    got_size, got_iterations, least, most, typical, average, deviation, p99, p99_9 = row
    expect((got_size, got_iterations) == (size, iterations), f"{row}")
    expect(0 < least <= typical <= p99 <= p99_9 <= most and least <= average <= most and deviation >= 0, f"{row}")


def check_bandwidth(row, size, iterations):
    got_size, got_iterations, peak, average, rate = row
    expect((got_size, got_iterations) == (size, iterations), f"{row}")
    expect(0 < average <= peak, f"{row}")
    # The last digit that is printed of the rate is a byte's worth of size in the bandwidth.
    expect(abs(average - rate * 1e6 * size / 2**20) <= 0.01 + size / 2**20, f"bandwidth is rate by size: {row}")


# All seven tests, with their defaults and with sizes.
for test, name in NAMES.items():
    server, client = good_pair(test)
    expect(f"* waiting for a client on port" in server and "waiting" not in client, f"{test}: {server}")
    for out in (server, client):
        expect(name in out and "Transport      : shm" in out and "client" in out and "server" in out, out)
    expect(rows(server) == rows(client), f"both print the same: {server}{client}")
    if test.endswith("_lat"):
        (row,) = rows(client)
        check_latency(row, 8 if test == "atomic_lat" else 2, 1000)
    else:
        (row,) = rows(client)
        check_bandwidth(row, 65536, 5000 if test == "write_bw" else 1000)
_, client = good_pair("atomic_lat", "-A", "CMP_AND_SWAP", "-n", "50")
expect("Atomic CMP_AND_SWAP Latency Test" in client and "atomics: executed by a CPU" in client, client)
for test in NAMES:
    if test == "atomic_lat":
        continue
    sizes = [1, 8, 4096, 100000]
    _, client = good_pair(test, "--sizes", ",".join(map(str, sizes)), "-n", "50")
    for row, size in zip(rows(client), sizes, strict=True):
        (check_latency if test.endswith("_lat") else check_bandwidth)(row, size, 50)
_, client = good_pair("write_bw", "-a", "-n", "5", "-t", "4")
expect([row[0] for row in rows(client)] == [2.0**k for k in range(1, 24)], f"-a: {client}")

# Both ways, posted in a row, for a time, with every sample; more in flight than there are operations.
for test in ("write_bw", "read_bw", "send_bw"):
    _, client = good_pair(test, "-b", "-t", "8", "-l", "4", "-n", "90", "-s", "10000")
    expect("Bidirectional BW Test" in client, client)
    (row,) = rows(client)
    expect(row[1] == 90 and 0 < row[3] <= row[2], f"{row}")
began = time.monotonic()
_, client = good_pair("send_lat", "-D", "1", "-s", "64")
(row,) = rows(client)
check_latency(row, 64, row[1])
expect(row[1] > 1000 or time.monotonic() - began > 0.5, f"-D 1: {row}")
_, client = good_pair("write_lat", "-n", "7", "-H")
samples = [float(line.split(", ")[1]) for line in client.splitlines() if line[0].isdigit()]
expect(len(samples) == 7 and samples == sorted(samples) and "#, usec" in client, client)
good_pair("send_bw", "-n", "3", "-t", "128")

# Tests that perftest does not have, in our own table, at the client.
server, client = good_pair("put_lat", "--sizes", "8,64", "-n", "20")
expect("#    size(B)" in client and "2 ranks on 1 host via TCP" in client, client)
expect("size(B)" not in server, server)

# JSON at both sides, in a file and on standard output.
with tempfile.TemporaryDirectory() as folder:
    files = [Path(folder) / "server.json", Path(folder) / "client.json"]
    server, client = pair(*[["write_lat", "-n", "20", "--out_json", "--out_json_file", str(file)] for file in files])
    expect(server[0] == 0 and client[0] == 0, f"{server}{client}")
    texts = [file.read_text() for file in files]
    expect(sorted(Path(folder).iterdir()) == sorted(files), "only the reports are left")
reports = [json.loads(text) for text in texts]
expect(reports[0]["results"] == reports[1]["results"], f"{reports}")
(result,) = reports[0]["results"]
expect(result["size"] == 2 and result["iterations"] == 20 and result["wrong"] == 0, f"{result}")
expect(set(result["latency_us"]) == {"min", "median", "p99", "average", "max", "deviation", "p99_9"}, f"{result}")
expect(reports[0]["transport"] == "shm" and reports[0]["tool"] == "godwit perf write_lat", f"{reports[0]}")
server, client = pair(["read_bw", "-n", "20", "--json"])
(result,) = json.loads(client[1])["results"]
expect({"bandwidth_MBps", "bandwidth_peak_MBps", "messages_per_s"} < set(result), f"{result}")
expect(json.loads(server[1])["results"] == [result] and "waiting for a client" in server[2], f"{server}")

# Options that differ: both sides say so, with both values, and end.
for server_words, client_words, texts in [
    (["write_lat"], ["read_lat"], ["the test is write_lat at the server and read_lat at the client"]),
    (["send_bw", "-s", "8"], ["send_bw", "-s", "64", "-n", "10"],
     ["is 8 at the server and 64 at the client", "-n is 1000 at the server and 10 at the client"]),
    (["write_bw", "-b"], ["write_bw"], ["-b is set at the server and unset at the client"]),
    (["put_lat"], ["am_lat"], ["the test is put_lat at the server"]),
]:
    for status, out, err in pair(server_words, client_words):
        expect(status == 2 and all(text in err for text in texts) and "Test" not in out, f"{status} {out} {err}")

# A file that cannot be written at one side is an error at both.
server, client = pair(["write_lat"], ["write_lat", "-J", "/no/such/folder/x.json"])
expect(client[0] == 2 and "-J /no/such/folder/x.json: cannot write there" in client[2], f"{client}")
expect(server[0] == 2 and "the client (" in server[2] and "cannot write there" in server[2], f"{server}")

# A host that does not exist, a server that does not come, a port that is taken.
out, err = run([GODWIT, "perf", "write_lat", "no-such-host.invalid"], 1)
expect("no host has the name or address no-such-host.invalid" in err and err.count("\n") == 1, err)
port = str(free_port())
out, err = run([GODWIT, "perf", "write_lat", "-p", port, "127.0.0.1"], 1, GODWIT_STARTUP_TIMEOUT="1")
expect(f"port {port}, within 1 s" in err and "Is the server running" in err and "MASTER_ADDR" not in err, err)
with socket.create_server(("", 0)) as taken:
    port = str(taken.getsockname()[1])
    out, err = run([GODWIT, "perf", "write_lat", "-p", port], 1)
    expect(f"the server cannot listen: port {port} (Address already in use)" in err and "waiting" not in out, err)
out, err = run([GODWIT, "perf", "write_lat", "-p", str(free_port())], 1, GODWIT_STARTUP_TIMEOUT="1")
expect("rank 1 never came" in err, err)

# The client may come first: it tries until the server is there. That it waits shows in that it lives.
port = ["-p", str(free_port())]
with started(["send_lat", "-n", "10", *port, "localhost"]) as client:
    try:
        client.wait(timeout=1)
        expect(False, f"the client did not wait: {ended(client)}")
    except subprocess.TimeoutExpired:
        pass
    with started(["send_lat", "-n", "10", *port]) as server:
        expect(ended(server)[0] == 0, "late server")
    expect(ended(client)[0] == 0, "early client")

# A client that dies in the middle ends the server, with a line that says so.
for test in ("write_lat", "send_lat", "read_bw"):
    port = ["-p", str(free_port())]
    with started([test, "-D", "600", *port]) as server, started([test, "-D", "600", *port, "127.0.0.1"]) as client:
        for line in client.stdout:
            if "#bytes" in line:
                break
        client.kill()
        status, out, err = ended(server)
        expect(status == 1 and "rank 1" in err, f"{test}: {status} {out} {err}")
