"""The suite of the public API between hosts: odd rank counts, several ranks per host (shm within, RDMA between), both
launchers."""

from job import HOSTS, godwit_run, mpirun, program

# Tests that take seconds with the emulated processor.
SLOW = ("FlowControl.*:*Soak.*:Reductions/*:LargeReductions.*:Bytes/Movement.*:Bytes/TaggedSizes.*/6:"
        "Tagged.EverySizeAroundTheThresholds")
COLLECTIVES = "Reductions/1.*:Reductions/8.*:Reductions/11.*:LargeReductions.*:Bytes/Movement.*/1:Bytes/Movement.*/9"
PART = "Tagged.Wait*:Order.*:OneSided*:Groups*:Nonblocking*:Bytes/TaggedSizes.Synchronous*"


def _suite(launch, ranks, chosen):
    with launch(ranks, program("tests/suite"), "--gtest_color=no", f"--gtest_filter={chosen}") as job:
        job.end(rf"{ranks} ranks on {min(ranks, HOSTS)} hosts", r"\[  PASSED  \] [1-9]", seconds=120)


def api():
    _suite(mpirun, HOSTS, f"-{SLOW}")


def api_of_ranks_that_share_hosts():
    _suite(mpirun, 5, PART)


def collectives():
    _suite(mpirun, HOSTS, COLLECTIVES)


def flow_and_soak():
    _suite(godwit_run, 2, "FlowControl.Medium*:FlowControl.Active*:Seed/Soak.*/0")


def api_under_godwit_run():
    _suite(godwit_run, HOSTS + 1, PART)
