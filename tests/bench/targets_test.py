"""Each figure to reach, on made-up results."""

import unittest

import plan
import targets
from results import Results

ALL = [test.id for test in plan.tests(False)]
KiB, MiB = 1024, 1024 * 1024


def judged(results, name, tests=None):
    return next(verdict for verdict in targets.judge(results, tests or ALL) if verdict["name"].startswith(name))


def results_of(test, **figures):
    """results_of("latency", godwit={8: 1}, UCX={8: 2})"""
    results = Results()
    for runtime, values in figures.items():
        results.add(test, runtime, values)
    return results


class Latency(unittest.TestCase):
    def test_mean_is_geometric_over_the_best_peer_at_each_size(self):
        results = results_of("latency", godwit={8: 0.5, 64: 0.8}, UCX={8: 1.0, 64: 9.0}, MPICH={8: 3.0, 64: 1.0})
        verdict = judged(results, "latency / best peer, geometric mean")
        self.assertEqual((verdict["got"], verdict["met"]), ("0.63", True))  # sqrt(0.5 * 0.8)

    def test_worst_size(self):
        results = results_of("latency", godwit={8: 0.5, 64: 1.1}, UCX={8: 1.0, 64: 1.0})
        verdict = judged(results, "latency / best peer, worst size")
        self.assertEqual((verdict["got"], verdict["met"]), ("1.10", False))
        self.assertIn("above 1.05 at 64", verdict["note"])

    def test_small_takes_the_larger_limit(self):
        results = results_of("latency", godwit={8: 0.2}, UCX={8: 0.2}, MPICH={8: 0.1})
        results.add("line", "machine", {"line": 0.1, "line_pair": 0.3})
        verdict = judged(results, "latency at 8 B")  # 0.8 * 0.2 against 1.3 * 0.1
        self.assertEqual((verdict["want"], verdict["met"]), ("at most 0.160 us", False))
        results.add("line", "machine", {"line": 0.3, "line_pair": 0.3})  # median 0.2: 0.26
        self.assertEqual(judged(results, "latency at 8 B")["met"], True)


class Cliffs(unittest.TestCase):
    def test_doubling(self):
        self.assertEqual(targets.worst_doubling({1: 1.0, 2: 1.5, 4: 6.0, 5: 99.0, 8: 7.0}), (4.0, 2, 4))
        self.assertIsNone(targets.worst_doubling({0: 1.0, 8: 1.0, 64: 9.0}))  # 64 is not twice 8

    def test_next_byte(self):
        self.assertEqual(targets.worst_next_byte({1: 1.0, 2: 9.0, 3: 9.0, 64: 2.0, 65: 5.0}), (9.0, 1, 2))
        self.assertEqual(targets.worst_next_byte({63: 0.1, 64: 2.0, 65: 5.0, 66: 50.0}), (2.5, 64, 65))

    def test_targets(self):
        results = results_of("steps", godwit={KiB: 1.0, KiB + 1: 1.6, 2 * KiB: 2.4})
        results.add("latency", "UCX", {KiB: 1.0, 2 * KiB: 10.0})
        verdict = judged(results, "no cliff: latency at 2n")
        self.assertEqual((verdict["got"], verdict["met"]), ("2.40", True))
        self.assertEqual(verdict["note"], "from 1K to 2K; others: UCX 10.0 at 1K")
        results.add("put_bandwidth", "machine", {MiB: 30000.0, 2 * MiB: 20000.0})
        self.assertIn("UCX 10.0 at 1K, memcpy 3.0 at 1M", judged(results, "no cliff: latency at 2n")["note"])
        verdict = judged(results, "no cliff: latency at n + 1")
        self.assertEqual((verdict["got"], verdict["met"]), ("1.60", False))


class AgainstPeers(unittest.TestCase):
    def test_more_is_better(self):
        results = results_of("bandwidth", godwit={MiB: 14000.0}, UCX={MiB: 10000.0}, MPICH={MiB: 9000.0})
        verdict = judged(results, "bandwidth at 1M")
        self.assertEqual((verdict["got"], verdict["met"]), ("1.40", True))
        self.assertIn("godwit 14.00, UCX 10.00 GB/s", verdict["note"])
        results = results_of("rate", godwit={8: 1.4e6}, UCX={8: 1e6})
        self.assertEqual(judged(results, "message rate")["met"], False)

    def test_less_is_better(self):
        results = results_of("allreduce", godwit={8: 0.2}, **{"Open MPI": {8: 0.5}, "MPICH": {8: 0.4}})
        self.assertEqual(judged(results, "allreduce of 8 B, 2 ranks")["met"], True)
        results = results_of("oversubscribed", godwit={"8": 7.0}, **{"Open MPI": {"8": 12.0}, "MPICH": {"8": 24000.0}})
        self.assertEqual(judged(results, "allreduce of 8 B, 8 ranks")["got"], "0.58")

    def test_put_is_held_against_ucx_only(self):
        results = results_of("put_latency", godwit={8: 0.2}, UCX={8: 0.2}, other={8: 0.1})
        self.assertEqual(judged(results, "put latency")["met"], True)

    def test_put_bandwidth_by_memcpy(self):
        results = results_of("put_bandwidth", godwit={4 * KiB: 1.0, 64 * KiB: 9.6, MiB: 9.0}, machine={
            4 * KiB: 10.0, 64 * KiB: 10.0, MiB: 10.0})
        verdict = judged(results, "put bandwidth")
        self.assertEqual((verdict["got"], verdict["met"]), ("0.90", False))
        self.assertIn("worst at 1M", verdict["note"])


class WithoutPeers(unittest.TestCase):
    def test_idle_peers(self):
        results = results_of("idle_peers", godwit={"1": 0.2, "64": 0.25})
        self.assertEqual(judged(results, "latency with 64")["got"], "1.25")

    def test_thread_modes(self):
        results = results_of("threads", godwit={"single": 0.2, "multiple": 0.24})
        results.add("threads", "MPICH", {"single": 0.1, "multiple": 0.3})
        verdict = judged(results, "latency in thread mode")
        self.assertEqual((verdict["got"], verdict["met"], verdict["note"]), ("1.20", True, "peers: MPICH 3.00"))

    def test_waiting(self):
        results = results_of("wake", godwit={"round trip (us)": 61.0, "waiting CPU (%)": 4.9})
        self.assertEqual(judged(results, "CPU use")["met"], True)
        self.assertEqual(judged(results, "wake-up")["met"], False)


class WhatIsMissing(unittest.TestCase):
    def test_not_measured_is_not_met(self):
        verdicts = targets.judge(Results(), ALL)
        self.assertEqual(len(verdicts), len(targets.TARGETS))
        for verdict in verdicts:
            self.assertEqual((verdict["got"], verdict["met"]), ("not measured", False), verdict["name"])
            self.assertIn("missing: ", verdict["note"])

    def test_not_asked_for_is_left_out(self):
        verdicts = targets.judge(Results(), ["rate"])
        self.assertEqual([verdict["name"] for verdict in verdicts], ["message rate at 8 B / best peer"])

    def test_no_peer(self):
        verdict = judged(results_of("rate", godwit={8: 1.0}), "message rate")
        self.assertEqual(verdict["note"], "missing: a peer's rate at 8")


if __name__ == "__main__":
    unittest.main()
