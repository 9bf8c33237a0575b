"""Faults that end a job: the survivor says in words who, where and why, soon."""

from job import godwit_run, program, unplugged

RANK_0, RANK_1, EITHER = (rf"rank {rank} \(h{rank}, pid [0-9]+\)" for rank in ("0", "1", "[01]"))


def _fault(mode, *arguments):
    return godwit_run(2, program("tests/fabric_fault"), mode, *arguments, recovery=True)


def unplugged_in_a_transfer():
    with _fault("stream", 60) as job:
        job.wait_for("^streaming")
        with unplugged(1):
            job.end(rf"^rank [01] saw transport after .*: RDMA with {EITHER} \(here rxe[01]:1, .*there rxe[01]:1, "
                    r".*(retry counter exceeded|local QP operation error)",
                    r"rxe1:1: the port is down", seconds=30, status="nonzero")


def peer_killed_in_a_put():
    with _fault("kill_in_put") as job:
        job.end("^the first put has come", rf"^rank 0 saw (peer_failed|transport) after .*{RANK_1}", seconds=15,
                status="nonzero")


def peer_killed_while_one_waits():
    """The launcher may be first to tell; that the transport knows by itself is a test of conformance."""
    with _fault("kill_while_one_waits") as job:
        job.end("^waiting", rf"^rank 0 saw peer_failed after [0-9.]+ s: .*{RANK_1}: .*(process has ended|was killed)",
                seconds=15, status="nonzero")


def wrong_key():
    """Both ends learn of it."""
    with _fault("wrong_key") as job:
        job.end(r"^the first put was right",
                rf"^rank 0 saw transport after .*RDMA with {RANK_1} \(here rxe0:1, .*there rxe1:1, .*"
                "remote access error.*freed", rf"^rank 1 saw transport after .*{RANK_0}", seconds=30, status="nonzero",
                reject=["nothing refused"])


def _known_fault(mode, ranks):
    """tests/faults has ways to die that are the same over any transport; each survivor checks what it sees."""
    with godwit_run(ranks, program("tests/fault"), mode, recovery=True) as job:
        job.end(*[f"^survivor {rank}: all as it should be" for rank in range(ranks - 1)], seconds=45, status="nonzero")


def killed_in_allreduce():
    _known_fault("kill_in_allreduce", 3)


def killed_in_transfer():
    _known_fault("kill_in_transfer", 2)


def killed_before_any_message():
    _known_fault("kill_before_any_message", 2)


def killed_while_any_source_waits():
    _known_fault("kill_while_any_source_waits", 3)


def left_without_goodbye():
    _known_fault("leave_without_goodbye", 2)
