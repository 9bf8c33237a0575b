"""What every peer's tool printed, as recorded (shortened), and what is no output of it."""

import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import machine
import mpi
import own
import ucx
from process import Failure

UCX_1_13 = """\
u8.batch,iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr
[1796031443.981656] [vm:20818:0]     ucp_context.c:1849 UCX  INFO  Version 1.13.1 (loaded from /lib/libucp.so.0)
[1796031443.987635] [vm:20818:0]       rdmacm_cm.c:928  UCX  DIAG  rdma_create_event_channel failed: No such device
[1796031443.987929] [vm:20818:0]      ucp_worker.c:1763 UCX  INFO    ep_cfg[0]: tag(sysv/memory cma/memory)
8,1000,0.369,0.376,0.376,20.29,20.29,2659673,2659673
1048576, 100,0.131,67.651,67.651,14781.69,14781.69,14782,14782
"""
UCX_1_22 = """\
u8.batch,iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr
[1796031352.015046] [vm:29703:0]  ucp_worker.c:1991 UCX  INFO    perftest intra-node cfg#0 rma(sysv/memory posix/memory)
8,1000,0.194,0.203,0.203,37.58,37.58,4925783,4925783
"""
UCX_TCP = "[1.2] [vm:20834:0]  ucp_worker.c:1991 UCX  INFO    perftest intra-node cfg#0 tag(tcp/lo tcp/eth0)\n"

OPEN_MPI = """\
{"library": "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022", \
"test": "latency", "ranks": 2, "thread_multiple": false}
{"size": 0, "iterations": 20000, "min_us": 0.24998, "median_us": 0.25775, "average_us": 0.27169, \
"mean_of_ranks_us": 0.27170}
{"size": 4194304, "iterations": 100, "min_us": 373.657, "median_us": 375.67, "average_us": 382.48, \
"mean_of_ranks_us": 382.49}
"""
OPEN_MPI_VERBOSE = """\
[vm:06673] select: component v not in the include list
[vm:06673] selected ob1 best priority 20
[vm:06673] select: component ob1 selected
[vm:06672] mca: bml: Using vader btl for send to [[30450,1],1] on node vm
[vm:06672] mca: bml: Using self btl for send to [[30450,1],0] on node vm
"""
MPICH_4 = ("MPICH Version: 4.0.2 MPICH Release date: Thu Apr  7 12:34:45 CDT 2022 MPICH ABI: 14:2:2 "
           "MPICH Device: ch4:ucx MPICH configure: --build=x86_64-linux-gnu")
MPICH_5 = "MPICH Version:      5.0.2 MPICH ABI:          18:2:6 MPICH Device:       ch4:ucx ofi MPICH configure:   --w"

ALL_REDUCE = """{"tool": "all_reduce_perf", "version": "0.1.0", "ranks": 2, "results": [
 {"size": 8, "in_place": false, "latency_us": {"min": 0.4, "median": 0.5, "p99": 1, "average": 0.6}, "time_us": 0.6},
 {"size": 8, "in_place": true, "latency_us": {"min": 0.1, "median": 0.2, "p99": 1, "average": 0.3}, "time_us": 0.3}]}"""

LSCPU = """{"lscpu": [{"field": "CPU(s):", "data": "2", "children": [{"field": "On-line CPU(s) list:", "data": "0,1"}]},
 {"field": "Model name:", "data": "Some CPU"}, {"field": "Caches (sum of all):", "data": null,
  "children": [{"field": "L2:", "data": "4 MiB"}]}]}"""


class UcxPerftest(unittest.TestCase):
    def test_figures(self):
        figures = ucx.read_figures(UCX_1_13)
        self.assertEqual(sorted(figures), ["1048576", "8"])
        self.assertEqual(figures["8"]["50.0_percentile_lat"], 0.369)
        self.assertEqual(figures["1048576"]["overall_bw"], 14781.69)
        self.assertEqual(figures["1048576"]["overall_mr"], 14782)
        self.assertEqual(ucx.read_figures(UCX_1_22)["8"]["overall_mr"], 4925783)

    def test_lanes(self):
        self.assertEqual(ucx.read_lanes(UCX_1_13), {"sysv", "cma"})
        self.assertEqual(ucx.read_lanes(UCX_1_22), {"sysv", "posix"})
        self.assertEqual(ucx.read_lanes(UCX_TCP), {"tcp"})
        self.assertEqual(ucx.read_lanes("nothing"), set())

    def start(self, *lanes):
        """Its constructor, when its probes use these lanes one after the other."""
        place = SimpleNamespace(folder=Path("."), cpus="0,1")
        with mock.patch.object(ucx, "run", return_value=("# Version 1.13.1", "")), \
                mock.patch.object(ucx.Ucx, "_batch", side_effect=[("", words) for words in lanes]):
            return ucx.Ucx(place, Path("/usr/bin"), "Debian")

    def test_its_default_if_that_is_shared_memory(self):
        self.assertEqual(self.start(UCX_1_13).about, "Debian; its default: cma, sysv; buffers allocated by UCX")

    def test_shared_memory_instead_of_tcp(self):
        self.assertIn("UCX_TLS=posix,sysv,cma,self: cma, sysv", self.start(UCX_TCP, UCX_1_13).about)
        with self.assertRaisesRegex(Failure, "does not use shared memory between two processes but tcp"):
            self.start(UCX_TCP, UCX_TCP)

    def test_no_output(self):
        with self.assertRaisesRegex(Failure, "printed no result:\n(?s:.*)Invalid argument"):
            ucx.read_figures(UCX_1_13.splitlines()[0] + "\nInvalid argument\n")


class MpiPerf(unittest.TestCase):
    def test_lines(self):
        head, results = mpi.read_lines("a launcher's warning\n" + OPEN_MPI)
        self.assertEqual(head["ranks"], 2)
        self.assertEqual(sorted(results), [0, 4194304])
        self.assertEqual(results[0]["median_us"], 0.25775)

    def test_no_output(self):
        with self.assertRaisesRegex(Failure, "no result:\nfatal: no slots"):
            mpi.read_lines("fatal: no slots\n")
        with self.assertRaisesRegex(Failure, "not a line of mpi_perf"):
            mpi.read_lines(OPEN_MPI + "{cut of")

    def test_versions(self):
        self.assertEqual(mpi.library_version(mpi.read_lines(OPEN_MPI)[0]["library"]), "4.1.4")
        self.assertEqual(mpi.library_version(MPICH_4), "4.0.2")
        self.assertEqual(mpi.library_version(MPICH_5), "5.0.2")
        with self.assertRaises(Failure):
            mpi.library_version("Another MPI 1.0")

    def test_way(self):
        self.assertEqual(mpi.open_mpi_path(OPEN_MPI_VERBOSE), "pml ob1, btl vader")
        self.assertEqual(mpi.open_mpi_path("select: component ucx selected\n"), "pml ucx")
        self.assertEqual(mpi.open_mpi_path(""), "unknown")
        self.assertEqual(mpi.mpich_path(MPICH_4), "device ch4:ucx")
        self.assertEqual(mpi.mpich_path(MPICH_5), "device ch4:ucx ofi")


class Reports(unittest.TestCase):
    def test_out_of_place_counts(self):
        self.assertEqual(own.read_report(ALL_REDUCE)[8]["time_us"], 0.6)

    def test_no_report(self):
        for text in ("", "{}", '{"results": 3}', '{"results": [{}]}'):
            with self.subTest(text), self.assertRaisesRegex(Failure, "not a report"):
                own.read_report(text)


class Lscpu(unittest.TestCase):
    def test_nested_fields(self):
        fields = machine.lscpu_fields(LSCPU)
        self.assertEqual(fields["Model name"], "Some CPU")
        self.assertEqual(fields["L2"], "4 MiB")
        self.assertEqual(fields["On-line CPU(s) list"], "0,1")

    def test_cpu_lists(self):
        self.assertEqual(machine.expand("0,64"), {0, 64})
        self.assertEqual(machine.expand("0-2,7"), {0, 1, 2, 7})


if __name__ == "__main__":
    unittest.main()
