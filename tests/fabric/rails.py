"""Hosts with two RoCE adapters each, in networks of their own: a link that goes is not waited for."""

from job import godwit_run, program, unplugged


def _all_reduce():
    return godwit_run(2, program("bin/all_reduce_perf"), "-b", 8, "-e", "32K", "-f", 8, "-n", 400, "-c", 1,
                      GODWIT_DEBUG="info")


def traffic_moves_over():
    """The two ranks begin with the second rail: of equally near ones each pair of ranks has its own."""
    with _all_reduce() as job:
        job.wait_for("^ +64 ")
        with unplugged(1, rail=1):
            job.end(r"verbs: rxe[01]r1:1.* to rxe[01]r1:1", r"rebuilt after [0-9]+ ms \(QP [0-9]+, rxe[01]:1,",
                    "# Out of bounds values : 0 OK", seconds=60)


def and_back():
    with _all_reduce() as job:
        job.wait_for("^ +64 ")
        with unplugged(0, rail=1):
            job.wait_for(r"rebuilt after [0-9]+ ms \(QP [0-9]+, rxe[01]:1,")
        job.end("rxe0r1:1: the port can be used again", r"rebuilt after [0-9]+ ms \(QP [0-9]+, rxe[01]r1:1,",
                "# Out of bounds values : 0 OK", seconds=60)


def the_other_link_does_not_matter():
    with _all_reduce() as job:
        job.wait_for("^ +64 ")
        with unplugged(1):
            job.wait_for("^ +512 ")
        job.end("# Out of bounds values : 0 OK", seconds=60, reject=["is being rebuilt"])
