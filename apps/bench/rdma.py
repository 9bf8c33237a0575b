"""./dev bench rdma: Godwit, perftest, UCX and Open MPI over RDMA between two hosts, alternately. See README.md.

Exit status 0, also when figures are not reached; 1 when something failed to run; 2 for wrong usage."""

import argparse
import os
import sys
from pathlib import Path

import adapters
import machine
import peers
import plan
import targets
import text
from bench import Session, conclude, show
from process import run

LAB_HOSTS = ["--shell", "lab-rsh", "--hosts", "h0,h1", "--devices", "rxe0,rxe1", "--address", "10.9.0.2",
             "--gid-index", "1", "--emulated"]


def arguments(words):
    if os.environ.get("RDMA_LAB_HOSTS"):
        words = [*LAB_HOSTS, *words]
    ids = [test.id for test in plan.adapter_tests(True, True)]
    parser = argparse.ArgumentParser(prog="./dev bench rdma", description="Measures Godwit and its peers over RDMA "
                                     "between this host and another one, in the lab unless --hosts names two.")
    option = parser.add_argument
    option("--hosts", required=True, help="HERE,THERE: names of this host and the other one; with the same folders")
    option("--devices", required=True, help="HERE,THERE: such as mlx5_0,mlx5_0")
    option("--address", help="of the other host (default: its name)")
    option("--gid-index", help="for RoCE: perftest's and Godwit's -x (default: each one's own choice)")
    option("--shell", default="ssh", help="starts a program there: SHELL HOST WORDS (default ssh)")
    option("--ucx-tls", default="rc_v,self", help="UCX_TLS for UCX and Open MPI (default rc_v,self)")
    option("--emulated", action="store_true", help="fewer iterations: soft-RoCE under emulated processors")
    option("--rounds", type=int, default=5, help="how often each runtime runs each test (default 5)")
    option("--all-sizes", action="store_true", help="latency of all powers of two up to 64K, not of seven sizes")
    option("--tests", help=f"some of {','.join(ids)}")
    option("--peers", default="perftest,ucx,openmpi", help="some of perftest,ucx,openmpi (default all)")
    option("--bin", default="build/bin", help="where godwit is")
    option("--output", default="build/bench", help="folder of rdma.json, rdma.html, rdma.svg")
    options = parser.parse_args(words)
    options.tests = options.tests.split(",") if options.tests else ids
    for name, given, known in (("--tests", options.tests, ids), ("--peers", options.peers.split(","), list(PEERS))):
        if unknown := [word for word in given if word not in known]:
            parser.error(f"{name} {unknown[0]}: no such thing; there are {', '.join(known)}")
    for name in ("hosts", "devices"):
        if len(getattr(options, name).split(",")) != 2:
            parser.error(f"--{name} {getattr(options, name)}: two are needed: HERE,THERE")
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: at least one is needed")
    return options


PEERS = {
    "perftest": lambda hosts: adapters.Perftest(hosts),
    "ucx": lambda hosts: adapters.UcxBetweenHosts(hosts, peers.program("ucx_perftest").parent, "Debian"),
    "openmpi": lambda hosts: adapters.OpenMpiBetweenHosts(hosts, "Open MPI", peers.program("mpicc.openmpi"),
                                                          peers.program("mpirun.openmpi"), "Debian"),
}


def describe(options):
    found = {**machine.describe(""), "pinning": "none"}
    kind = "soft-RoCE, emulated processors" if options.emulated else "adapters"
    return {**found, "rdma": f"{kind}: {options.devices} of {options.hosts}"}


def main(words):
    options = arguments(words)
    tests = plan.adapter_tests(options.emulated, options.all_sizes)
    session = Session(options, tests=tests)
    hosts = adapters.Hosts(options.bin, options.output, options)
    chosen = [(name, lambda make=make: make(hosts)) for name, make in PEERS.items() if name in options.peers.split(",")]
    runtimes = peers.find([("godwit", lambda: adapters.Godwit(hosts)), *chosen], session.failed)
    if not runtimes:
        return 1
    description = describe(options)
    session.say("# " + "; ".join(f"{name}: {value}" for name, value in description.items()))
    session.say(text.runtime_lines(runtimes))
    session.measure(runtimes)
    show(session)
    document = session.document_of("Godwit and its peers over RDMA", ["rdma", "--rounds", str(options.rounds)],
                                   runtimes, description,
                                   targets.judge(session.results, options.tests, targets.ADAPTER_TARGETS))
    return conclude(session, hosts, document, Path(options.output) / "rdma.json")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
