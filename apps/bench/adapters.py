"""What can be measured between two hosts with RDMA adapters: Godwit, perftest, UCX, and Open MPI over UCX. The program
runs on one host (the client, rank 0) and starts the other side there by a remote shell."""

import re
from itertools import groupby
from math import isfinite
from pathlib import Path
from time import monotonic, sleep

from mpi import Mpi, open_mpi_path
from own import read_report
from plan import REFERENCE
from process import Failure, end, finish, free_port, run, said, start
from ucx import Ucx

MiB = 1024 * 1024


class Hosts:
    """Both ends: names, devices, and how a program is started there. Programs and folders have one name on both."""

    def __init__(self, programs, folder, options):
        self.source = Path(__file__).resolve().parent
        self.bin, self.folder = Path(programs).resolve(), Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.shell, self.gid_index, self.ucx_tls = options.shell, options.gid_index, options.ucx_tls
        self.names, self.devices = options.hosts.split(","), options.devices.split(",")
        self.address = options.address or self.names[1]

    def pinned(self, words):
        return words  # wherever the kernels put them

    def there(self, words, variables=None):
        """The words that run a program on the other host."""
        return [self.shell, self.names[1], "env", *(f"{name}={value}" for name, value in (variables or {}).items()),
                *map(str, words)]

    def ucx_variables(self, side):
        # Soft-RoCE loses the destination's GID, by which UCX sorts out what is not its own.
        return {"UCX_TLS": self.ucx_tls, "UCX_NET_DEVICES": f"{self.devices[side]}:1",
                "UCX_UD_VERBS_ETH_DGID_CHECK": "n"}

    def serve(self, server, client, variables=({}, {}), limit_s=300):
        """Output of a client against its server on the other host. Who serves does not say when: the client is started
        again as long as nobody listens."""
        client = list(map(str, client))
        server = self.there(server, variables[1])
        serving = start(server)
        deadline = monotonic() + 30
        try:
            while True:
                try:
                    output, _ = finish(start(client, variables[0]), client, limit_s)
                    break
                except Failure as failure:
                    early = re.search(r"[Cc]ouldn't connect|[Cc]onnection refused|Unable to open file descriptor",
                                      str(failure))
                    if not early or serving.poll() is not None or monotonic() > deadline:
                        raise Failure(f"{failure}\nits server: {said(''.join(end(serving)))}") from failure
                    sleep(0.1)
            finish(serving, server, 30)
            return output
        finally:
            end(serving)


class Godwit:
    name = REFERENCE

    PERF = {  # test -> (test of godwit perf, figure)
        "write_lat": ("write_lat", "latency"), "send_lat": ("send_lat", "latency"), "read_lat": ("read_lat", "latency"),
        "atomic_lat": ("atomic_lat", "latency"),
        "write_bw": ("write_bw", "bandwidth_MBps"), "send_bw": ("send_bw", "bandwidth_MBps"),
    }
    tests = set(PERF)

    def __init__(self, hosts):
        self._hosts = hosts
        output, _ = run([hosts.bin / "godwit", "--version"])
        self.version, self.about = output.strip().removeprefix("godwit "), "godwit perf, without a launcher"

    def measure(self, test):
        name, figure = self.PERF[test.id]
        figures = {}
        for (iterations, depth), points in groupby(test.points, key=lambda point: (point.iterations, point.depth)):
            points = list(points)
            path = self._hosts.folder / "report.json"
            path.unlink(missing_ok=True)
            port = free_port()
            sizes = ",".join(str(point.size) for point in points)
            words = [[self._hosts.bin / "godwit", "perf", name, "-d", device, *self._gid(), "--sizes", sizes, "-n",
                      iterations, "-w", points[0].warmup, "--check", 0, "-p", port,
                      *(["-t", depth] if name.endswith("_bw") else [])] for device in self._hosts.devices]
            self._hosts.serve(words[1], [*words[0], "-J", path, self._hosts.address])
            results = read_report(path.read_text(encoding="utf-8"))
            for point in points:
                result = results[point.size]
                figures[point.size] = result["latency_us"]["median"] if figure == "latency" else result[figure]
        return figures

    def _gid(self):
        return [] if self._hosts.gid_index is None else ["-x", self._hosts.gid_index]


def read_perftest(output, column):
    """The figure in that column (0: bytes) of the only line of results."""
    lines = [line.split() for line in output.splitlines()]
    found = [words for words in lines if len(words) > column and words[0].isdigit() and words[1].isdigit()]
    if len(found) != 1:
        raise Failure(f"perftest printed {len(found)} lines of results:\n{said(output)}")
    return float(found[0][column])


class Perftest:
    name = "perftest"

    PROGRAMS = {  # test -> (program, column: typical latency, or average bandwidth; factor)
        "write_lat": ("ib_write_lat", 4, 1), "send_lat": ("ib_send_lat", 4, 1), "read_lat": ("ib_read_lat", 4, 1),
        "atomic_lat": ("ib_atomic_lat", 4, 1),
        "write_bw": ("ib_write_bw", 3, MiB / 1e6), "send_bw": ("ib_send_bw", 3, MiB / 1e6),
    }
    tests = set(PROGRAMS)

    def __init__(self, hosts):
        self._hosts = hosts
        said_version, _ = start(["ib_write_lat", "--version"]).communicate(timeout=20)  # with exit status 1
        found = re.search(r"\d+(?:\.\d+)+", said_version)
        if not found:
            raise Failure(f"ib_write_lat says no version:\n{said(said_version)}")
        self.version = found[0]
        self.about = "ib_*_lat, ib_*_bw, one run for each size"

    def measure(self, test):
        program, column, factor = self.PROGRAMS[test.id]
        return {point.size: self._until_it_knows_the_clock(program, point, column) * factor for point in test.points}

    def _until_it_knows_the_clock(self, program, point, column):
        """It measures the processor's frequency, and prints "inf" where that fails, as it may when processors are
        emulated."""
        for _ in range(5):
            if isfinite(figure := self._once(program, point, column)):
                return figure
        raise Failure(f"{program} did not find out the processor's frequency in five runs")

    def _once(self, program, point, column):
        port = free_port()
        gid = [] if self._hosts.gid_index is None else ["-x", self._hosts.gid_index]
        words = [[program, "-d", device, *gid, "-F", "-s", point.size, "-n", point.iterations, "-p", port,
                  *(["-t", point.depth] if program.endswith("_bw") else [])] for device in self._hosts.devices]
        return read_perftest(self._hosts.serve(words[1], [*words[0], self._hosts.address]), column)


class UcxBetweenHosts(Ucx):
    TESTS = {
        "send_lat": ("tag_lat", "", "50.0_percentile_lat", 1),
        "send_bw": ("tag_bw", "-O {depth}", "overall_bw", MiB / 1e6),
    }
    tests = set(TESTS)

    def _choose(self, origin):
        lanes = self._probe()
        self.about = f"{origin}; UCX_TLS={self.place.ucx_tls}: {', '.join(sorted(lanes)) or 'unknown lanes'}"

    def _batch(self, lines, more=None):
        hosts = self.place
        batch = hosts.folder / "ucx.batch"
        batch.write_text("\n".join(lines) + "\n", encoding="utf-8")
        words = [self._program, "-b", batch, "-f", "-v", "-p", free_port()]
        variables = [{**hosts.ucx_variables(side), **(more or {})} for side in (0, 1)]
        return hosts.serve(words, [words[0], hosts.address, *words[1:]], variables), ""


class OpenMpiBetweenHosts(Mpi):
    SIMPLE = {"send_lat": ("latency", "median_us"), "send_bw": ("bandwidth", "bandwidth_MBps")}
    tests = set(SIMPLE)

    def _way(self, head):
        return f"pml ucx, UCX_TLS={self.place.ucx_tls}"

    def _run(self, ranks, words, more_environment=None):
        hosts = self.place
        shared = hosts.ucx_variables(0)
        del shared["UCX_NET_DEVICES"]  # each side has its own
        exports = [word for pair in shared.items() for word in ("-x", "=".join(pair))]
        choose = f"[ $OMPI_COMM_WORLD_RANK = 0 ] && device={hosts.devices[0]} || device={hosts.devices[1]}; " \
            'UCX_NET_DEVICES=$device:1 exec "$@"'
        return run([self._mpirun, "--mca", "plm_rsh_agent", hosts.shell, "--mca", "pml", "ucx", "--bind-to", "none",
                    "-np", str(ranks), "--host", ",".join(hosts.names), *exports, "sh", "-c", choose, "sh",
                    self._program, *words], {**self._environment, **(more_environment or {})}, limit_s=300)
