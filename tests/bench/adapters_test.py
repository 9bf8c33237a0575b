"""./dev bench rdma: which words are run at which end, perftest's output, and a client that comes before its server."""

import contextlib
import io
import os
import stat
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import adapters
import plan
import rdma
import targets
from process import Failure
from results import Results

LATENCY = """\
                    RDMA_Write Latency Test
 Dual-port       : OFF		Device         : rxe0
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]
 8       1000          30.18          447.65       33.68    	       37.37       	19.55  		121.74  		447.65
"""
BANDWIDTH = """\
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      600            66.73              61.05                0.000977
"""


def options(folder, *words):
    return rdma.arguments(["--hosts", "a,b", "--devices", "d0,d1", "--output", folder, *words])


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, name, *lines):
        path = self.folder / name
        path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n", encoding="ascii")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def hosts(self, *words):
        return adapters.Hosts("bin", self.folder, options(str(self.folder), *words))


class PerftestOutput(unittest.TestCase):
    def test_columns(self):
        self.assertEqual(adapters.read_perftest(LATENCY, 4), 33.68)
        self.assertEqual(adapters.read_perftest(BANDWIDTH, 3), 61.05)

    def test_no_figure(self):
        with self.assertRaisesRegex(Failure, "0 lines of results"):
            adapters.read_perftest("Couldn't connect to b:18515", 4)


class Words(Folder):
    def test_the_other_end_is_started_by_the_shell_with_its_variables(self):
        hosts = self.hosts("--shell", "ssh")
        self.assertEqual(hosts.there(["prog", 1], {"A": "x"}), ["ssh", "b", "env", "A=x", "prog", "1"])
        self.assertEqual(hosts.address, "b")
        self.assertEqual(hosts.ucx_variables(1)["UCX_NET_DEVICES"], "d1:1")

    def test_perftest_takes_each_end_its_device(self):
        hosts, calls = self.hosts("--gid-index", "3"), []
        perftest = adapters.Perftest.__new__(adapters.Perftest)
        perftest._hosts = hosts
        hosts.serve = lambda server, client: calls.append((server, client)) or LATENCY
        test = plan.Test("write_lat", "", "us", (plan.Point(8, 1000),))
        self.assertEqual(perftest.measure(test), {8: 33.68})
        (server, client), = calls
        self.assertEqual(server[:5], ["ib_write_lat", "-d", "d1", "-x", "3"])
        self.assertEqual((client[2], client[-1]), ("d0", "b"))

    def test_perftest_runs_again_where_it_does_not_know_the_clock(self):
        perftest = adapters.Perftest.__new__(adapters.Perftest)
        perftest._hosts = self.hosts()
        outputs = [LATENCY.replace("33.68", "inf"), LATENCY]
        perftest._hosts.serve = lambda server, client: outputs.pop(0)
        self.assertEqual(perftest.measure(plan.Test("send_lat", "", "us", (plan.Point(8, 1000),))), {8: 33.68})

    def test_wrong_words(self):
        for words, said in ((["--hosts", "a"], "two are needed"), (["--tests", "read"], "no such thing"),
                            (["--peers", "ompi"], "no such thing"), (["--rounds", "0"], "at least one")):
            errors = io.StringIO()
            with self.subTest(words), contextlib.redirect_stderr(errors), self.assertRaises(SystemExit):
                options("unused", *words)
            self.assertIn(said, errors.getvalue())

    def test_the_lab_says_where_it_is(self):
        with mock.patch.dict(os.environ, {"RDMA_LAB_HOSTS": "2"}):
            found = rdma.arguments([])
        self.assertEqual((found.hosts, found.devices, found.emulated), ("h0,h1", "rxe0,rxe1", True))


class Serving(Folder):
    def test_the_client_is_started_again_until_the_server_listens(self):
        hosts, tries = self.hosts(), self.folder / "tries"
        # It serves until the client has been there.
        hosts.shell = self.program("shell", f"until [ \"$(cat {tries} 2>/dev/null | wc -l)\" = 3 ]; do sleep 0.05; done")
        client = self.program("client", f"echo x >>{tries}", f"[ $(wc -l <{tries}) = 3 ] && echo done && exit",
                              "echo \"Couldn't connect to b:1\"", "exit 1")
        self.assertEqual(hosts.serve(["server"], [client]), "done\n")
        self.assertEqual(tries.read_text(encoding="ascii").count("x"), 3)

    def test_another_failure_is_one_with_the_servers_words(self):
        hosts = self.hosts()
        hosts.shell = self.program("shell", "echo no such device", "exec sleep 5")
        client = self.program("client", "sleep 0.3", "echo broken", "exit 2")
        with self.assertRaisesRegex(Failure, "(?s)broken.*its server: no such device"):
            hosts.serve(["server"], [client])


class Figures(unittest.TestCase):
    def verdict(self, test, name, **figures):
        results = Results()
        for runtime, values in figures.items():
            results.add(test, runtime, values)
        verdicts = targets.judge(results, [test], targets.ADAPTER_TARGETS)
        return next(verdict for verdict in verdicts if verdict["name"].startswith(name))

    def test_latency_is_judged_by_its_worst_size(self):
        verdict = self.verdict("read_lat", "read latency", godwit={2: 1.0, 8: 1.1}, perftest={2: 1.0, 8: 1.0})
        self.assertEqual((verdict["got"], verdict["met"]), ("1.10", False))
        self.assertIn("2 1.00, 8 1.10", verdict["note"])

    def test_bandwidth_may_be_a_little_less(self):
        verdict = self.verdict("write_bw", "write bandwidth", godwit={65536: 98.0}, perftest={65536: 100.0})
        self.assertEqual((verdict["got"], verdict["met"]), ("0.98", True))

    def test_missing(self):
        verdict = self.verdict("send_lat", "tagged latency / UCX", godwit={8: 1.0}, perftest={8: 1.0})
        self.assertFalse(verdict["met"])
        self.assertIn("missing", verdict["note"])


if __name__ == "__main__":
    unittest.main()
