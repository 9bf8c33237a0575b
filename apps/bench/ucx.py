"""UCX by its own ucx_perftest: a server and a client, each on its CPU, all sizes of a test as one batch."""

import re

from process import Failure, await_listener, end, finish, free_port, said, run, start

MiB = 1024 * 1024
SHARED_MEMORY = {"UCX_TLS": "posix,sysv,cma,self"}


def read_figures(output):
    """Name of the test -> its columns, of -v -f output."""
    columns, figures = [], {}
    for line in output.splitlines():
        words = [word.strip() for word in line.split(",")]
        if "iterations" in words:
            columns = words[words.index("iterations"):]
        elif columns and len(words) == len(columns) + 1:
            try:
                figures[words[0]] = dict(zip(columns, map(float, words[1:])))
            except ValueError as error:
                raise Failure(f"not a line of ucx_perftest: {line}") from error
    if not figures:
        raise Failure(f"ucx_perftest printed no result:\n{said(output)}")
    return figures


def read_lanes(words):
    """The transports that carried the data, of what UCX_LOG_LEVEL=info prints: {"sysv", "cma"}."""
    lanes = re.findall(r"\b(?:tag|rma|am)\(([^)]*)\)", words)
    return {lane.split("/")[0] for group in lanes for lane in group.split()}


class Ucx:
    TESTS = {  # test -> (test of ucx_perftest, flags, figure, factor)
        "latency": ("tag_lat", "", "50.0_percentile_lat", 1),
        "am_latency": ("ucp_am_lat", "", "50.0_percentile_lat", 1),
        "put_latency": ("ucp_put_lat", "", "50.0_percentile_lat", 1),
        "bandwidth": ("tag_bw", "-O {depth}", "overall_bw", MiB / 1e6),
        "put_bandwidth": ("ucp_put_bw", "-O {depth}", "overall_bw", MiB / 1e6),
        "rate": ("tag_bw", "-O {depth}", "overall_mr", 1),
    }
    tests = set(TESTS)

    def __init__(self, place, folder, origin, libraries=None):
        """`folder`: of the programs. `libraries`: where they find theirs, if that is not the usual place."""
        self.place, self._program = place, str(folder / "ucx_perftest")
        self._environment = {"LD_LIBRARY_PATH": str(libraries)} if libraries else {}
        version, _ = run([folder / "ucx_info", "-v"], self._environment)
        found = re.search(r"[Vv]ersion:?\s+(\d+(?:\.\d+)+)", version)
        if not found:
            raise Failure(f"ucx_info says no version:\n{said(version)}")
        self.version = found[1]
        self.name = f"UCX {'.'.join(self.version.split('.')[:2])}"
        self._choose(origin)

    def _choose(self, origin):
        """Lets it take what it takes between two processes of one host, but not TCP."""
        lanes = self._probe()
        setting = "its default"
        if not lanes or "tcp" in lanes:
            self._environment.update(SHARED_MEMORY)
            setting, lanes = f"UCX_TLS={SHARED_MEMORY['UCX_TLS']}", self._probe()
        if not lanes or "tcp" in lanes:
            raise Failure(f"it does not use shared memory between two processes but {' '.join(lanes) or 'nothing'}")
        self.about = f"{origin}; {setting}: {', '.join(sorted(lanes))}; buffers allocated by UCX"

    def measure(self, test):
        name, flags, figure, factor = self.TESTS[test.id]
        lines = [f"{point.size} -t {name} -s {point.size} -n {point.iterations} -w {point.warmup} "
                 + flags.format(depth=point.depth) for point in test.points]
        output, _ = self._batch(lines)
        figures = read_figures(output)
        return {point.size: figures[str(point.size)][figure] * factor for point in test.points}

    def _probe(self):
        output, errors = self._batch(["8 -t tag_lat -s 8 -n 10 -w 1"], {"UCX_LOG_LEVEL": "info"})
        return read_lanes(output + errors)

    def _batch(self, lines, more=None):
        batch = self.place.folder / "ucx.batch"
        batch.write_text("\n".join(lines) + "\n", encoding="utf-8")
        port, variables = free_port(), {**self._environment, **(more or {})}
        common = [self._program, "-b", str(batch), "-f", "-v", "-p", str(port)]
        first, second = self.place.cpus.split(",")
        server_words = ["taskset", "-c", second, *common]
        client_words = ["taskset", "-c", first, self._program, "127.0.0.1", *common[1:]]
        server = start(server_words, variables)
        try:
            await_listener(server, port)
            client_output = finish(start(client_words, variables), client_words, 120)
            finish(server, server_words, 20)
        except Failure as failure:
            words = said("".join(end(server)))
            raise Failure(f"{failure}\nits server: {words}") from failure
        finally:
            end(server)
        return client_output
