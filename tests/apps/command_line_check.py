"""What `godwit` says to right and wrong command lines."""

import json
import sys

from run_program import expect, run

GODWIT = sys.argv[1] + "/godwit"

out, err = run([GODWIT, "--version"])
expect(out.startswith("godwit 0.") and err == "", f"--version: {out!r} {err!r}")
out, err = run([GODWIT, "info"])
lines = out.splitlines()
expect(lines[0].startswith("godwit 0."), "info begins with the version")
expect(any("1 rank on 1 host via nothing" in line for line in lines), f"info names the bootstrap: {out}")
expect("compiler" in out and "transports:" in out, f"info shows build and transports: {out}")
out, err = run([GODWIT, "info", "--options"], GODWIT_NO_SUCH_OPTION="1")
expect("GODWIT_DEBUG" in out, "--options works although the environment is wrong")
out, err = run([GODWIT, "info", "--options", "--markdown"])
expect(out.startswith("#") and "| " in out, f"--markdown: {out[:200]}")

# One line, which says what is wrong; 2 for usage, 1 for the rest.
for words, status, text in [
    ([], 2, "subcommand is required"),
    (["frobnicate"], 2, "godwit: "),
    (["run"], 2, "run: no program"),
    (["run", "-n", "0", "--", "true"], 2, "run -n 0: at least one rank is needed"),
    (["run", "-n", "1", "-x", "A", "--", "true"], 2, "run -x A: write NAME=VALUE"),
    (["run", "-n", "1", "--", "/no/such/program"], 127, "/no/such/program: No such file or directory"),
    (["perf", "send"], 2, "no such test; there are write_lat, "),
    (["perf", "send_bw", "-t", "0"], 2, "depth"),
    (["perf", "send_lat", "--memory", "device"], 2, "--memory"),
    (["perf", "send_lat", "--thread-mode", "some"], 2, "--thread-mode"),
    (["perf", "send_lat", "-t", "2"], 2, "send_lat: -t is for bandwidth tests"),
    (["perf", "send_lat", "-b"], 2, "send_lat: -b is for bandwidth tests"),
    (["perf", "write_lat", "-c", "UD"], 2, "UD"),
    (["ibstat", "no_such"], 1, "there is no adapter `no_such` on this host; it has: "),
    (["ibstat", "mlx5_0", "0"], 2, "PORT: Value 0 not in range 1 to 255"),
]:
    out, err = run([GODWIT, *words], status)
    expect(text in err and err.count("\n") == 1 and out == "", f"godwit {words}: {out!r} {err!r}")

out, err = run([GODWIT, "ibstat", "--json"])
expect(isinstance(json.loads(out)["adapters"], list), f"ibstat --json: {out!r} {err!r}")
names, err = run([GODWIT, "ibstat", "-l"])
expect(names or "no RDMA adapter on this host" in err, f"ibstat says that there is none: {err!r}")

out, err = run([GODWIT, "info"], 1, GODWIT_NO_SUCH_OPTION="1")
expect("NO_SUCH_OPTION" in err and err.startswith("godwit: "), f"unknown option: {err!r}")

# The launcher passes on arguments, environment, output and status.
out, err = run([GODWIT, "run", "-n", "2", "-x", "GREETING=hello there", "--", "sh", "-c", "echo $GREETING $0", "--", "-n"])
expect(out.splitlines() == ["hello there --"] * 2, f"run -x: {out!r}")
out, err = run([GODWIT, "run", "-n", "2", "--tag-output", "printenv", "PMIX_RANK"])
expect(sorted(out.splitlines()) == ["[0] 0", "[1] 1"], f"--tag-output: {out!r}")
run([GODWIT, "run", "-n", "2", "--", "sh", "-c", "exit 7"], 7)

