"""Options and machines with which RDMA cannot be used: what is said, and what there is instead."""

from job import godwit_run, on_host, program


def _hello(*patterns, **variables):
    with godwit_run(2, program("bin/examples/hello"), **variables) as job:
        job.end(*patterns, seconds=30, status="nonzero")


def adapter_that_is_not_there():
    _hello(r"GODWIT_IB_HCA=mlx5_9.*rxe[01]:1", GODWIT_IB_HCA="mlx5_9")


def disabled():
    _hello(r"no transport reaches rank [01] .*GODWIT_IB_DISABLE", GODWIT_IB_DISABLE=1)


def no_address():
    """The port has a link-local GID only: a warning, and where nothing else reaches, an error."""
    on_host(1, "ip addr del 10.9.0.2/24 dev p1")
    try:
        _hello(r"warning: verbs: rxe1 port 1: only link-local GIDs.*give p1 an IP address",
               r"no transport reaches rank [01] .*verbs: .*GIDs of IPv4 and IPv6 .*(10.9.0.1.*fe80:|fe80:.*10.9.0.1)")
    finally:
        on_host(1, "ip addr add 10.9.0.2/24 dev p1")
        on_host(1, "ip route add 10.9.0.0/24 dev p1 src 10.9.0.2 table 101")  # of rdma_lab/guest/network; it went, too
