"""The suite of the public API between hosts: odd rank counts, several ranks per host (shm within, RDMA between), both
launchers."""

from job import HOSTS, godwit_run, mpirun, program

# Tests that take seconds with the emulated processors, of which there are fewer than ranks.
SLOW = ("FlowControl.*:*Soak.*:Reductions/*:LargeReductions.*:Bytes/Movement.*:Bytes/TaggedSizes.*/6:"
        "Tagged.EverySizeAroundTheThresholds")
COLLECTIVES = "Reductions/8.*:LargeReductions.*:Bytes/Movement.*/1:Bytes/Movement.*/9"
PART = "Tagged.Wait*:Order.*:OneSided/1*:Nonblocking*:Bytes/TaggedSizes.Synchronous*/5"


def _suite(launch, ranks, chosen):
    """Of the ranks on other hosts, rank 1 is one: that is reached by RDMA or not at all.

    With more ranks than processors an acknowledgement may take longer than usual. It is waited for (4 s each time),
    because soft-RoCE fails the queue pair when a read is repeated whose memory was deregistered after the first answer.
    """
    with launch(ranks, program("tests/suite"), "--gtest_color=no", f"--gtest_filter={chosen}", GODWIT_DEBUG="info",
                GODWIT_IB_TIMEOUT=20) as job:
        job.end(rf"^godwit .*: {ranks} ranks on", r"info: to rank 1 \(h1, pid [0-9]+\): verbs: rxe0:1",
                r"\[  PASSED  \] [1-9]", seconds=120)


def api():
    _suite(mpirun, HOSTS, f"-{SLOW}")


def api_of_ranks_that_share_hosts():
    _suite(mpirun, 5, PART)


def collectives():
    _suite(mpirun, HOSTS, COLLECTIVES)


def flow_and_soak():
    _suite(godwit_run, 2, "FlowControl.Active*:Seed/Soak.*/0")


def api_under_godwit_run():
    _suite(godwit_run, HOSTS + 1, PART)
