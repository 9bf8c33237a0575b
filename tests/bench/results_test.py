"""Medians, ratios, tables."""

import unittest

import bench
import plan
import text
from results import Results


def example():
    results = Results()
    for own, ucx, mpi in ((1.0, 2.0, 5.0), (3.0, 4.0, 1.0), (2.0, 9.0, 3.0)):
        results.add("latency", "godwit", {8: own, 65536: own})
        results.add("latency", "UCX 1.13", {8: ucx})
        results.add("latency", "MPICH 4.0", {8: mpi})
    results.add("latency", "machine", {8: 0.1})
    return results


LATENCY = next(test for test in plan.tests(True) if test.id == "latency")


class Figures(unittest.TestCase):
    def test_median_over_rounds(self):
        self.assertEqual(example().median("latency", "UCX 1.13", 8), 4.0)
        self.assertIsNone(example().median("latency", "UCX 1.13", 64))

    def test_best_peer_is_neither_godwit_nor_the_machine(self):
        self.assertEqual(example().best_peer("latency", 8, "lower"), ("MPICH 4.0", 3.0))
        self.assertEqual(example().best_peer("latency", 8, "higher"), ("UCX 1.13", 4.0))
        self.assertIsNone(example().best_peer("latency", 65536, "lower"))

    def test_ratio(self):
        self.assertAlmostEqual(example().ratio("latency", 8, "lower"), 2 / 3)
        self.assertEqual(list(example().ratios("latency", "lower")), [8])

    def test_dropped(self):
        results = example()
        results.drop("latency", "MPICH 4.0")
        results.drop("latency", "nobody")
        self.assertEqual(results.best_peer("latency", 8, "lower"), ("UCX 1.13", 4.0))


class Tables(unittest.TestCase):
    def test_table(self):
        lines = text.table(LATENCY, example()).splitlines()
        self.assertIn("(us; lower is better)", lines[0])
        words = [" ".join(line.split()) for line in lines]
        self.assertEqual(words[1], "bytes godwit UCX 1.13 MPICH 4.0 machine godwit / best peer")
        self.assertEqual(words[2], "8 2.000 (1.000-3.000) 4.000 (2.000-9.000) 3.000 (1.000-5.000) 0.100 (0.100-0.100) "
                                   "0.67 (MPICH 4.0)")
        self.assertEqual(words[3], "64K 2.000 (1.000-3.000) - - - -")

    def test_units(self):
        self.assertEqual(text.cell([15000.0, 16260.0, 17000.0], "MB/s"), "16.26 (15.00-17.00)")
        self.assertEqual(text.cell([10260000.0], "1/s"), "10.26 (10.26-10.26)")
        self.assertEqual(text.cell([], "us"), "-")

    def test_sizes(self):
        self.assertEqual([plan.size_text(size) for size in (0, 8, 1024, 1025, 4 << 20, 1536)],
                         ["0", "8", "1K", "1025", "4M", "1536"])


class Chart(unittest.TestCase):
    def test_schema(self):
        chart = bench.chart(LATENCY, example())
        self.assertEqual([chart[key] for key in ("id", "x_scale", "y_scale", "better")],
                         ["latency", "log2", "log", "lower"])
        godwit = chart["series"][0]
        self.assertEqual(godwit["runtime"], "godwit")
        self.assertEqual(godwit["points"][0],
                         {"x": 8, "median": 2.0, "min": 1.0, "max": 3.0, "rounds": [1.0, 3.0, 2.0]})

    def test_words(self):
        results = Results()
        results.add("threads", "godwit", {"single": 1.0, "multiple": 2.0})
        threads = next(test for test in plan.tests(True) if test.id == "threads")
        chart = bench.chart(threads, results)
        self.assertEqual((chart["x_scale"], chart["y_scale"]), ("category", "linear"))
        self.assertEqual([point["x"] for point in chart["series"][0]["points"]], ["single", "multiple"])


class Plan(unittest.TestCase):
    def test_points(self):
        for quick in (True, False):
            for test in plan.tests(quick):
                sizes = [point.size for point in test.points]
                self.assertEqual(sizes, sorted(set(sizes)), test.id)
                self.assertTrue(all(point.iterations > 0 and point.warmup > 0 for point in test.points), test.id)

    def test_every_power_of_two_has_its_next_byte_and_its_double(self):
        steps = [point.size for test in plan.tests(False) if test.id == "steps" for point in test.points]
        for power in range(22):
            self.assertLessEqual({1 << power, (1 << power) + 1, 2 << power}, set(steps))


if __name__ == "__main__":
    unittest.main()
