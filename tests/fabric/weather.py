"""What a network does that only costs time: results must be right."""

import time

from job import Failure, disturbed, dropped, godwit_run, on_host, program, unplugged


def _all_reduce(*patterns, largest="128K", **variables):
    with godwit_run(2, program("bin/all_reduce_perf"), "-b", 8, "-e", largest, "-f", 16, "-c", 1, "-n", 3, "-w", 1,
                    **variables) as job:
        job.end(r"Out of bounds values : 0 OK", *patterns, seconds=90)


def loss():
    with disturbed(1, "loss 3%"):
        _all_reduce()
        if dropped(1) == 0:
            raise Failure("no packet was lost")


def delay_and_reordering():
    with disturbed(0, "delay 2ms 1ms reorder 25%"):
        _all_reduce(largest="16K")


def mtu_differs():
    """The smaller one counts, and is told."""
    on_host(1, "ip link set p1 mtu 1500")
    try:
        _all_reduce(r"to rank 1 .*MTU 1024", largest="512K", GODWIT_DEBUG="info")
    finally:
        on_host(1, "ip link set p1 mtu 4200")


def _stream_through(trouble):
    with godwit_run(2, program("tests/fabric_fault"), "stream", 4) as job:
        job.wait_for("^streaming")
        with trouble():
            time.sleep(0.15)
        job.end("^rank 0: streamed [0-9]+ rounds", "^rank 1: streamed [0-9]+ rounds", seconds=60)


def short_outage():
    _stream_through(lambda: disturbed(1, "loss 100%"))


def _recovered_from(trouble, *patterns):
    """Longer than the retransmissions last: queue pairs fail and are replaced."""
    with godwit_run(2, program("bin/all_reduce_perf"), "-b", 8, "-e", "32K", "-f", 8, "-n", 400, "-c", 1,
                    GODWIT_DEBUG="info", GODWIT_IB_TIMEOUT=12) as job:
        job.wait_for("^ +64 ")
        with trouble():
            time.sleep(2)
        job.end("the connection is being rebuilt", "rebuilt after [0-9]+ ms", *patterns, "# Out of bounds values : 0 OK",
                seconds=90)


def two_seconds_of_loss():
    _recovered_from(lambda: disturbed(1, "loss 100%"))


def two_seconds_without_cable():
    _recovered_from(lambda: unplugged(1), "rxe1:1: the port is down", "rxe1:1: the port is up again")


def short_pull_of_the_cable():
    """The ports see it."""
    _stream_through(lambda: unplugged(1))
