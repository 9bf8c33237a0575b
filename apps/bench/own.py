"""Godwit itself (godwit perf, all_reduce_perf) and the bare machine (machine_perf)."""

import json
from itertools import groupby

from plan import MACHINE, REFERENCE
from process import Failure, said, run

IDLE_PEERS = 64
OVERSUBSCRIBED_RANKS = 8


def read_report(text):
    """The results of a report of -J by size, those out of place where there are both; Failure if it is none."""
    try:
        results = json.loads(text)["results"]
        return {result["size"]: result for result in results if not result.get("in_place")}
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(f"not a report: {said(text)}") from error


class Reporting:
    """Programs that write the JSON file of -J."""

    def __init__(self, place):
        self.place = place

    def report(self, words, limit_s=120):
        path = self.place.folder / "report.json"
        path.unlink(missing_ok=True)
        run([*words, "-J", path], limit_s=limit_s)
        return read_report(path.read_text(encoding="utf-8"))


class Godwit(Reporting):
    name = REFERENCE

    PERF = {  # test -> (test of godwit perf, memory, figure)
        "latency": ("send_lat", "private", "latency"),
        "steps": ("send_lat", "private", "latency"),
        "bandwidth": ("send_bw", "private", "bandwidth_MBps"),
        "rate": ("msg_rate", "private", "messages_per_s"),
        "am_latency": ("am_lat", "private", "latency"),
        "put_latency": ("put_watch_lat", "shared", "latency"),  # as UCX's test: the target watches its memory
        "put_bandwidth": ("put_bw", "shared", "bandwidth_MBps"),
    }

    def __init__(self, place):
        super().__init__(place)
        output, _ = run([place.bin / "godwit", "--version"])
        self.version = output.strip().removeprefix("godwit ")
        commit = place.commit()
        self.about = "shared memory; godwit run" + (f"; commit {commit}" if commit else "")
        self._other = {"allreduce": self._allreduce, "oversubscribed": self._oversubscribed, "threads": self._threads,
                       "idle_peers": self._idle_peers, "wake": self._wake}
        self.tests = {*self.PERF, *self._other}

    def measure(self, test):
        if test.id in self._other:
            return self._other[test.id](test)
        name, memory, figure = self.PERF[test.id]
        return self._perf(name, test.points, figure, memory=memory)

    def _job(self, ranks, words, limit_s=120):
        launcher = [self.place.bin / "godwit", "run", "-n", str(ranks), "--"]
        return self.report([*launcher, *self.place.pinned(words)], limit_s)

    def _perf(self, name, points, figure, ranks=2, memory="private", more=()):
        """One run for each number of iterations that the points have."""
        figures = {}
        for iterations, group in groupby(points, key=lambda point: point.iterations):
            group = list(group)
            sizes = ",".join(str(point.size) for point in group)
            words = ["--sizes", sizes, "-n", str(iterations), "-w", str(group[0].warmup), "-t", "64", "--check", "0"]
            results = self._job(ranks, [self.place.bin / "godwit", "perf", name, *words, "--memory", memory, *more])
            for point in group:
                result = results[point.size]
                figures[point.size] = result["latency_us"]["median"] if figure == "latency" else result[figure]
        return figures

    def _all_reduce_perf(self, point, ranks):
        return self._job(ranks, [self.place.bin / "all_reduce_perf", "-b", str(point.size), "-e", str(point.size), "-d",
                                 "double", "-n", str(point.iterations), "-w", str(point.warmup), "-c", "0"])[point.size]

    def _allreduce(self, test):
        return {point.size: self._all_reduce_perf(point, 2)["latency_us"]["median"] for point in test.points}

    def _oversubscribed(self, test):
        return {str(OVERSUBSCRIBED_RANKS): self._all_reduce_perf(test.points[0], OVERSUBSCRIBED_RANKS)["time_us"]}

    def _threads(self, test):
        return {mode: self._perf("send_lat", test.points, "latency", more=["--thread-mode", mode])[8]
                for mode in ("single", "multiple")}

    def _idle_peers(self, test):
        return {str(peers): self._perf("send_lat", test.points, "latency", ranks=peers + 1, more=["--connect"])[8]
                for peers in (1, IDLE_PEERS)}

    def _wake(self, test):
        """The wake-up with a free core for each rank; the use of the CPU where there are more ranks than CPUs."""
        words = [self.place.bin / "godwit", "perf", "wake_lat", "-n", str(test.points[0].iterations), "--check", "0"]
        free, crowded = self._job(2, words)[8], self._job(4, [*words, "--connect"])[8]
        return {"round trip (us)": free["latency_us"]["median"], "waiting CPU (%)": crowded["waiting_cpu_percent"]}


class Machine(Reporting):
    name = MACHINE

    def __init__(self, place):
        super().__init__(place)
        self.version = ""
        self.about = "no library: one cache line between two CPUs, memcpy into shared memory, one process_vm_readv"
        self.tests = {"line", "put_bandwidth", "vm_read"}

    def measure(self, test):
        if test.id == "line":
            return {name: self._perf(name)[8]["latency_us"]["median"] for name in ("line", "line_pair")}
        sizes = ["--sizes", ",".join(str(point.size) for point in test.points)]
        if test.id == "put_bandwidth":
            return {size: result["bandwidth_MBps"] for size, result in self._perf("memcpy", sizes).items()}
        return {size: result["latency_us"]["median"] for size, result in self._perf("vm_read", sizes).items()}

    def _perf(self, name, more=()):
        quick = ["--quick"] if self.place.quick else []
        return self.report([self.place.bin / "machine_perf", name, "--cpus", self.place.cpus, *quick, *more])
