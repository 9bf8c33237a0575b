"""Figures by test, runtime, and x (a size or a word): one of each round. Pure."""

from statistics import median

from plan import MACHINE, REFERENCE


class Results:
    def __init__(self):
        self._rounds = {}  # test -> runtime -> x -> list

    def add(self, test, runtime, figures):
        of_runtime = self._rounds.setdefault(test, {}).setdefault(runtime, {})
        for x, value in figures.items():
            of_runtime.setdefault(x, []).append(value)

    def drop(self, test, runtime):
        self._rounds.get(test, {}).pop(runtime, None)

    def runtimes(self, test):
        return list(self._rounds.get(test, {}))

    def xs(self, test, runtime):
        return list(self._rounds.get(test, {}).get(runtime, {}))

    def rounds(self, test, runtime, x):
        return self._rounds.get(test, {}).get(runtime, {}).get(x, [])

    def median(self, test, runtime, x):
        """None where nothing was measured."""
        values = self.rounds(test, runtime, x)
        return median(values) if values else None

    def peers(self, test):
        return [name for name in self.runtimes(test) if name not in (REFERENCE, MACHINE)]

    def best_peer(self, test, x, better):
        """(name, median) of the best peer, or None."""
        measured = [(name, self.median(test, name, x)) for name in self.peers(test)]
        measured = [(name, value) for name, value in measured if value is not None]
        if not measured:
            return None
        return (min if better == "lower" else max)(measured, key=lambda pair: pair[1])

    def ratio(self, test, x, better):
        """Godwit by the best peer, or None."""
        own, best = self.median(test, REFERENCE, x), self.best_peer(test, x, better)
        return own / best[1] if own is not None and best and best[1] > 0 else None

    def ratios(self, test, better):
        """x -> ratio, where there is one."""
        found = {x: self.ratio(test, x, better) for x in self.xs(test, REFERENCE)}
        return {x: ratio for x, ratio in found.items() if ratio is not None}

    def series(self, test):
        """As bench.json wants it."""
        return [{"runtime": runtime,
                 "points": [{"x": x, "median": median(values), "min": min(values), "max": max(values), "rounds": values}
                            for x, values in points.items()]}
                for runtime, points in self._rounds.get(test, {}).items() if points]
