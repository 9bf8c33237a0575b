"""Any MPI: mpi_perf.c compiled by its mpicc and started by its mpirun."""

import json
import os
import re

from own import OVERSUBSCRIBED_RANKS
from process import Failure, said, run

ALLOW_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
VERBOSE = {f"OMPI_MCA_{framework}_base_verbose": "10" for framework in ("pml", "bml", "btl")}


def read_lines(output):
    """(head, results by size) of mpi_perf's output."""
    head, results = None, {}
    for line in output.splitlines():
        if not line.startswith("{"):
            continue  # a launcher's words
        try:
            document = json.loads(line)
        except ValueError as error:
            raise Failure(f"not a line of mpi_perf: {line}") from error
        if "library" in document:
            head = document
        else:
            results[document["size"]] = document
    if not head or not results:
        raise Failure(f"mpi_perf printed no result:\n{said(output)}")
    return head, results


def library_version(library):
    """"4.1.4" of what MPI_Get_library_version says."""
    found = re.search(r"(?:Open MPI v|MPICH Version:\s*)(\d+(?:\.\d+)+)", library)
    if not found:
        raise Failure(f"the MPI library says no version: {library[:100]}")
    return found[1]


def open_mpi_path(words):
    """What its verbose words say about the way between two ranks: "pml ob1, btl vader"."""
    pml = re.search(r"component (\w+) selected", words)
    btls = sorted(set(re.findall(r"Using (\w+) btl for send to", words)) - {"self"})
    return ", ".join(([f"pml {pml[1]}"] if pml else []) + ([f"btl {'+'.join(btls)}"] if btls else [])) or "unknown"


def mpich_path(library):
    """Its device: "ch4:ucx"."""
    device = re.search(r"MPICH Device:\s*(.+?)\s*MPICH \w+:", library + " MPICH end:")
    return f"device {device[1]}" if device else "unknown"


class Mpi:
    SIMPLE = {  # test -> (test of mpi_perf, figure)
        "latency": ("latency", "median_us"),
        "allreduce": ("allreduce", "median_us"),
        "bandwidth": ("bandwidth", "bandwidth_MBps"),
        "rate": ("bandwidth", "messages_per_s"),
    }
    tests = {*SIMPLE, "oversubscribed", "threads"}

    def __init__(self, place, kind, mpicc, mpirun, origin):
        """`kind`: "Open MPI" or "MPICH". Compiles, starts once, and asks what it is."""
        self.place, self._mpirun = place, mpirun
        self._open_mpi = kind == "Open MPI"
        self._environment = dict(ALLOW_ROOT) if self._open_mpi and os.geteuid() == 0 else {}
        self._program = place.folder / f"mpi_perf-{kind}-{origin}".replace(' ', '_')
        run([mpicc, "-O2", "-o", self._program, place.source / "mpi_perf.c"])
        head, _ = read_lines(self._output("latency", "8:10"))
        self.version = library_version(head["library"])
        self.name = f"{kind} {'.'.join(self.version.split('.')[:2])}"
        self.about = f"{origin}; {self._way(head)}"

    def _way(self, head):
        """What carries messages."""
        return "its default: " + (open_mpi_path("".join(self._run(2, ["latency", "--sizes", "8:10"], VERBOSE)))
                                  if self._open_mpi else mpich_path(head["library"]))

    def measure(self, test):
        sizes = ",".join(f"{point.size}:{point.iterations}" for point in test.points)
        if test.id == "threads":
            return {"single": self._figures("latency", sizes, "median_us")[8],
                    "multiple": self._figures("latency", sizes, "median_us", more=["--thread-multiple"])[8]}
        if test.id == "oversubscribed":
            figures = self._figures("allreduce", sizes, "mean_of_ranks_us", OVERSUBSCRIBED_RANKS)
            return {str(OVERSUBSCRIBED_RANKS): figures[8]}
        program, figure = self.SIMPLE[test.id]
        return self._figures(program, sizes, figure)

    def _figures(self, program, sizes, figure, ranks=2, more=()):
        _, results = read_lines(self._output(program, sizes, ranks, more))
        return {size: result[figure] for size, result in results.items()}

    def _output(self, program, sizes, ranks=2, more=()):
        return self._run(ranks, [program, "--sizes", sizes, *more])[0]

    def _run(self, ranks, words, more_environment=None):
        """No setting but those of starting: pin.sh binds, and Open MPI is told when there are more ranks than CPUs."""
        flags = ["--bind-to", "none"] if self._open_mpi else []
        if self._open_mpi and ranks > 2:
            flags.append("--oversubscribe")
        return run([self._mpirun, "-np", str(ranks), *flags, *self.place.pinned([self._program, *words])],
                   {**self._environment, **(more_environment or {})})
