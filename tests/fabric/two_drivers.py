"""Hosts with a RoCE and an iWARP adapter each."""

from job import godwit_run, program


def _hello(*patterns, status=0, hca=None):
    """`hca`: what each host may use."""
    command = [program("bin/examples/hello")]
    if hca:
        cases = "; ".join(f"{host}) export GODWIT_IB_HCA={name};" for host, name in enumerate(hca))
        command = ["bash", "-c", f"case $RDMA_LAB_HOST in {cases} esac; exec {command[0]}"]
    with godwit_run(2, *command, GODWIT_DEBUG="info") as job:
        job.end(*patterns, seconds=30, status=status)


def the_better_is_chosen():
    _hello(r"^hello from rank 1", r"verbs: rxe0:1", r"verbs: rxe1:1")


def iwarp_leaves_atomics_to_the_target():
    script = "export GODWIT_IB_HCA=siw${RDMA_LAB_HOST}r1; exec \"$@\""
    command = ["bash", "-c", script, "-", program("tests/suite"), "--gtest_color=no", "--gtest_filter=Atomics*"]
    with godwit_run(2, *command, GODWIT_DEBUG="info", GODWIT_ATOMICS="adapter") as job:
        job.end(r"verbs: siw1r1:1", r"64-bit atomics are executed by CPUs", r"\[  PASSED  \] [1-9]", seconds=60,
                reject=["executed by the adapter"])


def one_driver_on_each_host():
    _hello(r"no transport reaches rank [01] .*iWARP", status="nonzero", hca=["rxe0", "siw1r1"])
