"""What ./dev bench measures, as data: tests, sizes, numbers of iterations."""

from dataclasses import dataclass

KiB, MiB = 1024, 1024 * 1024
REFERENCE = "godwit"  # every ratio is godwit's figure by a peer's
MACHINE = "machine"  # not a peer: what two processes do without any library


@dataclass(frozen=True)
class Point:
    size: int
    iterations: int  # round trips or messages; a tenth of them run untimed before
    depth: int = 64  # bandwidth: that many in flight

    @property
    def warmup(self):
        return max(1, self.iterations // 10)


@dataclass(frozen=True)
class Test:
    id: str
    title: str
    unit: str  # "us", "MB/s" (10^6 bytes), "1/s" or "mixed": the words say it
    points: tuple
    x_label: str = "bytes"  # what the keys of its results are; anything else is a word
    chart: bool = True

    @property
    def better(self):
        return "lower" if self.unit in ("us", "mixed") else "higher"

    @property
    def by_size(self):
        return self.x_label == "bytes"


def powers(first, last):
    sizes = []
    while first <= last:
        sizes.append(first)
        first *= 2
    return sizes


def size_text(size):
    for unit, letter in ((MiB, "M"), (KiB, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)


# The same numbers for every runtime: they depend on nothing but the size.
def round_trips(size):
    return 20000 if size <= 16 * KiB + 1 else 2000 if size <= 256 * KiB + 1 else 200


def messages(size):
    return 128000 if size <= 4 * KiB else 12800 if size <= 128 * KiB else 1280 if size <= MiB else 320


def tests(quick):
    """In the order in which they run. `quick`: fewer sizes, a quarter of the iterations."""
    divisor = 4 if quick else 1

    def points(sizes, iterations):
        return tuple(Point(size, max(iterations(size) // divisor, 50)) for size in sizes)

    def fixed(size, iterations):
        return (Point(size, iterations // divisor),)

    latency = [0, 1, 8, 64, 256] + powers(KiB, 4 * MiB)
    steps = powers(1, 4 * MiB)
    bandwidth = powers(4 * KiB, 4 * MiB)
    allreduce = [8, 512, 32 * KiB]
    if quick:
        latency = [0, 8, 64, 256, KiB, 4 * KiB, 8 * KiB, 16 * KiB, 64 * KiB, 256 * KiB, MiB, 4 * MiB]
        steps = powers(64, MiB)
        bandwidth = [4 * KiB, 64 * KiB, MiB, 4 * MiB]
        allreduce = [8]
    steps = sorted({*steps, *(size + 1 for size in steps[:-1])})
    put = [size for size in latency if size >= 8]

    return (
        Test("line", "Bare cache line, half round trip", "us", fixed(8, 1000), "cache lines", chart=False),
        Test("latency", "Tagged messages: latency, half round trip", "us", points(latency, round_trips)),
        Test("steps", "Tagged messages: latency at n and n + 1", "us", points(steps, round_trips)),
        Test("bandwidth", "Tagged messages: bandwidth, 64 in flight", "MB/s", points(bandwidth, messages)),
        Test("rate", "Tagged messages: message rate, 64 in flight", "1/s", points([1, 8, 64, 512], messages)),
        Test("am_latency", "Active messages: latency, half round trip", "us", points([8, 256, 4 * KiB], round_trips)),
        Test("put_latency", "Put: latency, half round trip", "us", points(put, round_trips)),
        Test("put_bandwidth", "Put into shared memory: bandwidth, 64 in flight", "MB/s", points(bandwidth, messages)),
        Test("vm_read", "One process_vm_readv", "us", points([64, KiB, 4 * KiB, 16 * KiB, 64 * KiB], round_trips)),
        Test("allreduce", "Allreduce, 2 ranks", "us", points(allreduce, round_trips)),
        # The MPIs that spin need tens of milliseconds each.
        Test("oversubscribed", "Allreduce of 8 B, 8 ranks on 2 CPUs", "us", fixed(8, 200), "ranks"),
        Test("threads", "Latency at 8 B by thread mode", "us", points([8], round_trips), "thread mode"),
        Test("idle_peers", "Latency at 8 B beside idle peers", "us", points([8], round_trips), "connected peers"),
        Test("wake", "A waiting rank: its wake-up, its use of the CPU", "mixed", fixed(8, 4), "figure", chart=False),
    )


# Between two hosts with adapters. Emulated ones take some fifty times as long.
def adapter_tests(emulated, all_sizes):
    def latency(sizes):
        return tuple(Point(size, (1000 if size <= 4 * KiB else 100) * (1 if emulated else 20)) for size in sizes)

    def bandwidth(sizes):
        return tuple(Point(size, (600 if size <= 64 * KiB else 100) * (1 if emulated else 20)) for size in sizes)

    sizes = powers(2, 64 * KiB) if all_sizes else [2, 8, 64, 512, 4 * KiB, 16 * KiB, 64 * KiB]
    return (
        Test("write_lat", "RDMA write: latency, half round trip", "us", latency(sizes)),
        Test("send_lat", "Send, tagged but for perftest: latency, half round trip", "us", latency(sizes)),
        Test("read_lat", "RDMA read: latency", "us", latency(sizes)),
        Test("atomic_lat", "Fetch-and-add of 8 bytes: latency", "us", latency([8])),
        Test("write_bw", "RDMA write: bandwidth, 64 in flight", "MB/s", bandwidth([64 * KiB, MiB])),
        Test("send_bw", "Send, tagged but for perftest: bandwidth, 64 in flight", "MB/s", bandwidth([64 * KiB, MiB])),
    )
