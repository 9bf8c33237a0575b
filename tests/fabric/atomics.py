"""Atomics that adapters execute: of other hosts, of the owner's neighbours and of the owner itself, on one word."""

from job import HOSTS, godwit_run, mpirun, program

BY_ADAPTER = r"64-bit atomics are executed by the adapter of verbs"


def _suite(launch, ranks, chosen, **variables):
    with launch(ranks, program("tests/suite"), "--gtest_color=no", f"--gtest_filter={chosen}", GODWIT_DEBUG="info",
                GODWIT_ATOMICS="adapter", GODWIT_IB_TIMEOUT=20, **variables) as job:
        job.end(BY_ADAPTER, r"\[  PASSED  \] [1-9]", seconds=120, reject=["executed by CPUs"])


def of_one_rank_each():
    _suite(mpirun, HOSTS, "Atomics*:OneSided/1*")


def of_ranks_that_share_hosts():
    _suite(godwit_run, HOSTS + 2, "Atomics*")


def perf_says_who_executes_them():
    command = [program("bin/godwit"), "perf", "atomic_lat", "--table", "perftest", "-n", 200]
    for words, title in (([], "FETCH_AND_ADD"), (["-A", "CMP_AND_SWAP"], "CMP_AND_SWAP")):
        with godwit_run(2, *command, *words) as job:
            job.end(rf"Atomic {title} Latency Test", "executed by the target's adapter", r"^ 8 +200 ", seconds=60)
