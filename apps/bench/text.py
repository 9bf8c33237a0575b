"""Tables for people. Pure."""

from statistics import median

from plan import REFERENCE, size_text

SCALE = {"us": (1, "us", 3), "MB/s": (1e-3, "GB/s", 2), "1/s": (1e-6, "million/s", 2), "mixed": (1, "", 2)}


def figure(value, unit):
    """In the unit that people read, SCALE[unit][1]: "0.354", "16.26"."""
    scale, _, digits = SCALE[unit]
    value *= scale
    return f"{value:.{digits if value < 100 else 1}f}"


def between(rounds, unit):
    return f"{figure(min(rounds), unit)}-{figure(max(rounds), unit)}"


def cell(rounds, unit):
    """"0.354 (0.350-0.361)": the median, and what the rounds were between."""
    return f"{figure(median(rounds), unit)} ({between(rounds, unit)})" if rounds else "-"


def aligned(rows):
    """The first row is the heading; numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(word.rjust(width) for word, width in zip(row, widths)).rstrip() for row in rows)


def table(test, results):
    """All runtimes of one test: a line for each size or word, with godwit's ratio to the best peer."""
    runtimes = results.runtimes(test.id)
    xs = list(dict.fromkeys(x for runtime in runtimes for x in results.xs(test.id, runtime)))
    if test.by_size:
        xs.sort()
    compares = REFERENCE in runtimes and bool(results.peers(test.id))
    rows = [[test.x_label, *runtimes, *([f"{REFERENCE} / best peer"] if compares else [])]]
    for x in xs:
        row = [size_text(x) if isinstance(x, int) else x]
        row += [cell(results.rounds(test.id, runtime, x), test.unit) for runtime in runtimes]
        if compares:
            ratio, peer = results.ratio(test.id, x, test.better), results.best_peer(test.id, x, test.better)
            row.append(f"{ratio:.2f} ({peer[0]})" if ratio is not None else "-")
        rows.append(row)
    unit = f"{SCALE[test.unit][1]}; " if test.unit != "mixed" else ""
    return f"{test.title} ({unit}{test.better} is better)\n{aligned(rows)}\n"


def target_table(verdicts):
    rows = [["target", "want", "got", "met"]]
    rows += [[v["name"], v["want"], v["got"], "yes" if v["met"] else "NO"] for v in verdicts]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    notes = [""] + [verdict["note"] for verdict in verdicts]
    lines = ["  ".join(word.ljust(width) for word, width in zip(row, widths)) + ("  " + note if note else "")
             for row, note in zip(rows, notes)]
    met = sum(verdict["met"] for verdict in verdicts)
    return "\n".join(line.rstrip() for line in lines) + f"\n{met} of {len(verdicts)} met\n"


def runtime_lines(runtimes):
    return "".join(f"# {runtime.name}: {' '.join(filter(None, [runtime.version, f'({runtime.about})']))}\n"
                   for runtime in runtimes)
