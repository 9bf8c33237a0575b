"""machine_perf, pin.sh, and mpi_perf.c: real runs."""

import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path

import mpi
import process
from process import Failure

SOURCE = Path(mpi.__file__).parent
MACHINE_PERF = Path(os.environ["GODWIT_BENCH_BIN"]) / "machine_perf"
CPUS = [str(cpu) for cpu in sorted(os.sched_getaffinity(0))[:2]]
needs_two_cpus = unittest.skipIf(len(CPUS) < 2, "needs two CPUs")


@needs_two_cpus
class MachinePerf(unittest.TestCase):
    def measure(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.json"
            process.run([MACHINE_PERF, *words, "--quick", "--cpus", ",".join(CPUS), "-J", path])
            self.assertEqual(os.listdir(folder), ["report.json"])
            document = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual(document["tool"], f"machine_perf {words[0]}")
        self.assertEqual((document["ranks"], document["hosts"]), (2, 1))
        for result in document["results"]:
            latency = result["latency_us"]
            self.assertTrue(0 < latency["min"] <= latency["median"] <= latency["p99"], result)
        return document["results"]

    def test_lines(self):
        for test in ("line", "line_pair"):
            (result,) = self.measure(test)
            self.assertEqual(result["size"], 8)
            self.assertGreater(result["latency_us"]["median"], 0.001)  # light passes 30 cm in that time

    def test_copies_and_reads(self):
        for test in ("memcpy", "vm_read"):
            results = self.measure(test, "--sizes", "64,4K,1M")
            self.assertEqual([result["size"] for result in results], [64, 4096, 1 << 20])
            for result in results:
                moved = result["bandwidth_MBps"] * result["latency_us"]["median"]
                self.assertAlmostEqual(moved / result["size"], 1, places=6)
            self.assertGreater(results[2]["latency_us"]["median"], results[0]["latency_us"]["median"])

    def test_wrong_words(self):
        for words, said in ((["lines"], "lines: no such test"), (["memcpy", "--sizes", "0"], "sizes begin at 1"),
                            (["line", "--cpus", "0,0"], "two CPUs are needed"),
                            (["line", "--cpus", f"{CPUS[0]},1023"], "CPU 1023 cannot be used"),
                            (["memcpy", "-J", "/no/such/folder/x"], "cannot write there")):
            with self.subTest(words), self.assertRaisesRegex(Failure, said):
                process.run([MACHINE_PERF, *words])


@needs_two_cpus
class Pin(unittest.TestCase):
    AFFINITY = ["python3", "-c", "import os; print(*os.sched_getaffinity(0))"]

    def pinned(self, **variables):
        return process.run([SOURCE / "pin.sh", ",".join(CPUS), *self.AFFINITY], variables)[0].strip()

    def test_by_local_rank(self):
        self.assertEqual(self.pinned(OMPI_COMM_WORLD_LOCAL_RANK="0", PMIX_RANK="1"), CPUS[0])
        self.assertEqual(self.pinned(MPI_LOCALRANKID="1"), CPUS[1])
        self.assertEqual(self.pinned(PMIX_RANK="5"), CPUS[1])  # round and round

    def test_without_launcher(self):
        with self.assertRaisesRegex(Failure, "the launcher says no rank"):
            self.pinned()


@needs_two_cpus
class MpiPerf(unittest.TestCase):
    def start(self, *words):
        for kind in ("openmpi", "mpich"):
            if shutil.which(f"mpicc.{kind}") and shutil.which(f"mpirun.{kind}"):
                break
        else:
            self.skipTest("no mpicc.openmpi or mpicc.mpich")
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "mpi_perf"
            process.run([f"mpicc.{kind}", "-O2", "-Wall", "-o", program, SOURCE / "mpi_perf.c"])
            return process.run([f"mpirun.{kind}", "-np", "2", SOURCE / "pin.sh", ",".join(CPUS), program, *words],
                               mpi.ALLOW_ROOT)[0]

    def test_latency(self):
        head, results = mpi.read_lines(self.start("latency", "--sizes", "0:50,8:5000,65536:20", "--thread-multiple"))
        self.assertEqual((head["ranks"], head["thread_multiple"]), (2, True))
        self.assertEqual({size: result["iterations"] for size, result in results.items()}, {0: 50, 8: 5000, 65536: 20})
        for result in results.values():
            self.assertTrue(0 < result["min_us"] <= result["median_us"], result)

    def test_bandwidth(self):
        _, results = mpi.read_lines(self.start("bandwidth", "--sizes", "8:1000", "--window", "16"))
        self.assertEqual(results[8]["messages"], 1008)  # whole windows
        self.assertAlmostEqual(results[8]["bandwidth_MBps"] / (results[8]["messages_per_s"] * 8e-6), 1, places=2)

    def test_allreduce(self):
        _, results = mpi.read_lines(self.start("allreduce", "--sizes", "8:100"))
        self.assertGreater(results[8]["mean_of_ranks_us"], 0)

    def test_wrong_words(self):
        for words, said in ((["latency", "--sizes", "8:x"], "write SIZE:ITERATIONS"),
                            (["latency", "--fast"], "no such flag"), (["speed"], "no such test")):
            with self.subTest(words), self.assertRaisesRegex(Failure, said):
                self.start(*words)


if __name__ == "__main__":
    unittest.main()
