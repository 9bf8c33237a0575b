"""With hosts that have network namespaces of their own (the new kernel): what needs a real network between them. Here
the side channel goes over the cable, too."""

from job import mpirun, program, unplugged


def unplugged_while_both_wait():
    """Nobody sends, so no adapter notices: the side channel does."""
    with mpirun(2, program("tests/fabric_fault"), "wait_only", recovery=True) as job:
        job.wait_for("^waiting")
        with unplugged(1):
            job.wait_for(r"^rank 0 saw (peer_failed|transport) after [0-9.]+ s: .*rank 1 \(h1, ", seconds=30)
        job.end(r"^rank 1 saw (peer_failed|transport) after [0-9.]+ s: .*rank 0 \(h0, ", seconds=30, status=None)
