"""Rounds, alternation, failures, bench.json; with runtimes that measure nothing."""

import contextlib
import io
import json
import re
import sys
import unittest
import unittest.mock

import bench
import peers
import process
from process import Failure


class Fake:
    version, about = "1.0", "made up"

    def __init__(self, name, calls, fails_at=None):
        self.name, self.tests, self._calls, self._fails_at = name, {"latency", "rate"}, calls, fails_at

    def measure(self, test):
        self._calls.append((test.id, self.name))
        if self._fails_at is not None and len([call for call in self._calls if call[1] == self.name]) > self._fails_at:
            raise Failure("exit status 1:\nno more memory")
        return {8: 1.0, 64: 2.0}


def session(rounds=3):
    options = bench.arguments(["--quick", "--rounds", str(rounds), "--tests", "latency,rate,wake", "--cpus", "0,1"])
    output = io.StringIO()
    return bench.Session(options, output), output


class Rounds(unittest.TestCase):
    def test_runtimes_alternate_and_take_turns_to_begin(self):
        calls = []
        run, _ = session(rounds=2)
        run.measure([Fake("godwit", calls), Fake("UCX", calls)])
        self.assertEqual(calls, [("latency", "godwit"), ("latency", "UCX"), ("rate", "godwit"), ("rate", "UCX"),
                                 ("latency", "UCX"), ("latency", "godwit"), ("rate", "UCX"), ("rate", "godwit")])
        self.assertEqual(run.results.rounds("latency", "UCX", 8), [1.0, 1.0])
        self.assertEqual(run.failures, [])

    def test_a_failure_takes_the_runtime_out_of_that_test(self):
        calls = []
        run, output = session()
        run.measure([Fake("godwit", calls), Fake("UCX", calls, fails_at=2)])  # both of its tests fail in round 2
        self.assertEqual(run.results.peers("latency"), [])
        self.assertEqual(run.results.rounds("latency", "godwit", 8), [1.0, 1.0, 1.0])
        self.assertEqual([call for call in calls if call[1] == "UCX"][2:], [("latency", "UCX"), ("rate", "UCX")])
        self.assertEqual(run.failures, ["UCX, latency", "UCX, rate"])
        self.assertIn("no more memory", output.getvalue())

    def test_document(self):
        run, _ = session()
        runtimes = [Fake("godwit", []), Fake("UCX", [])]
        run.measure(runtimes)
        document = json.loads(json.dumps(run.document(runtimes, {"cpu": "some"})))
        self.assertEqual(sorted(document), ["charts", "command", "date", "machine", "runtimes", "targets", "title"])
        self.assertEqual([chart["id"] for chart in document["charts"]], ["latency", "rate"])
        self.assertEqual(document["runtimes"][1], {"name": "UCX", "version": "1.0", "about": "made up"})
        for target in document["targets"]:
            self.assertEqual(list(target), ["name", "want", "got", "met", "note"])
        self.assertTrue(document["command"].startswith("./dev bench --quick --rounds 3"))


class Finding(unittest.TestCase):
    def test_one_that_does_not_start_is_left_out_with_its_words(self):
        def broken():
            process.run([sys.executable, "-c", "import sys; sys.exit('no such transport')"])

        reported = []
        found = peers.find([("UCX (Debian)", broken), ("godwit", lambda: Fake("godwit", []))],
                           lambda name, words: reported.append((name, words)))
        self.assertEqual([runtime.name for runtime in found], ["godwit"])
        self.assertEqual(reported[0][0], "UCX (Debian)")
        self.assertRegex(reported[0][1], r"exit status 1:\nno such transport")

    def test_names_are_unique(self):
        found = peers.find([("a", lambda: Fake("UCX 1.13", [])), ("b", lambda: Fake("UCX 1.13", []))], self.fail)
        self.assertEqual(len({runtime.name for runtime in found}), 2)

    def test_programs(self):
        with self.assertRaisesRegex(Failure, "no-such-mpicc is not installed"):
            peers.program("no-such-mpicc")


class Processes(unittest.TestCase):
    def test_no_such_program(self):
        with self.assertRaisesRegex(Failure, "/no/such/program: No such file"):
            process.run(["/no/such/program"])

    def test_too_slow(self):
        with self.assertRaisesRegex(Failure, "not ready after 0.2 s"):
            process.run(["sleep", "600"], limit_s=0.2)

    def test_launchers_and_settings_around_us_do_not_count(self):
        with unittest.mock.patch.dict("os.environ", {"UCX_TLS": "tcp", "OMPI_MCA_btl": "tcp", "PMIX_RANK": "3"}):
            self.assertFalse(re.search("UCX_TLS|OMPI_MCA|PMIX", " ".join(process.environment())))
        self.assertEqual(process.environment({"UCX_TLS": "self"})["UCX_TLS"], "self")

    def test_server_that_does_not_listen(self):
        port = process.free_port()
        server = process.start(["true"])
        try:
            with self.assertRaisesRegex(Failure, f"port {port}"):
                process.await_listener(server, port)
        finally:
            process.end(server)


class CommandLine(unittest.TestCase):
    def refused(self, *words):
        errors = io.StringIO()
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(errors):
            bench.arguments(list(words))
        self.assertEqual(ended.exception.code, 2)
        return errors.getvalue()

    def test_wrong(self):
        self.assertIn("latncy: no such test; there are line, latency", self.refused("--tests", "latncy"))
        self.assertIn("--rounds -1: at least one", self.refused("--rounds", "-1", "--cpus", "0,1"))
        self.assertIn("two CPUs", self.refused("--cpus", "1,1"))

    def test_defaults(self):
        options = bench.arguments(["--cpus", "0,1"])
        self.assertEqual((options.rounds, options.peers, options.quick), (5, "debian", False))
        self.assertEqual(bench.arguments(["--quick", "--cpus", "0,1"]).rounds, 2)


if __name__ == "__main__":
    unittest.main()
