"""The figures to reach, held against the results. Pure. A target whose tests were not asked for is left out; one whose
figures are missing is not met, and says so."""

from math import exp, log

from plan import KiB, MACHINE, MiB, REFERENCE, size_text
from text import SCALE, between, figure


class Missing(Exception):
    """A figure that a target needs was not measured."""


def geometric_mean(values):
    values = list(values)
    return exp(sum(map(log, values)) / len(values))


def need(value, what):
    if value is None:
        raise Missing(what)
    return value


def own(results, test, x):
    return need(results.median(test, REFERENCE, x), f"godwit's {test} at {x}")


def best(results, test, x, better, prefix=""):
    """(name, median) of the best peer, of those whose names begin so."""
    found = [(name, results.median(test, name, x)) for name in results.peers(test) if name.startswith(prefix)]
    found = [pair for pair in found if pair[1] is not None]
    if not found:
        raise Missing(f"a peer's {test} at {x}")
    return (min if better == "lower" else max)(found, key=lambda pair: pair[1])


def steps(times, growth):
    """The worst of times[m] / times[n] over the pairs (n, m = growth(n)) that were measured: (ratio, n, m) or None."""
    pairs = [(times[growth(n)] / times[n], n, growth(n)) for n in times if growth(n) in times and n > 0]
    return max(pairs) if pairs else None


def power_of_two(n):
    return n > 0 and n & (n - 1) == 0


def worst_doubling(times):
    return steps({n: time for n, time in times.items() if power_of_two(n)}, lambda n: 2 * n)


def worst_next_byte(times):
    """From a power of two to the byte after it."""
    return steps({n: time for n, time in times.items() if power_of_two(n) or power_of_two(n - 1)},
                 lambda n: n + 1 if power_of_two(n) else -1)


def medians(results, test, runtime):
    return {x: results.median(test, runtime, x) for x in results.xs(test, runtime)}


def copy_times(results):
    """Size -> microseconds of a bare memcpy."""
    return {x: x / rate for x, rate in medians(results, "put_bandwidth", MACHINE).items()}


# Each returns (want, got, met, note).


def latency_mean(results):
    ratios = results.ratios("latency", "lower")
    mean = geometric_mean(need(ratios or None, "latency of godwit and a peer").values())
    return "at most 0.8", f"{mean:.2f}", mean <= 0.8, f"over {len(ratios)} sizes"


def latency_worst(results):
    ratios = need(results.ratios("latency", "lower") or None, "latency of godwit and a peer")
    size, ratio = max(ratios.items(), key=lambda pair: pair[1])
    above = [size_text(x) for x, value in ratios.items() if value > 1.05]
    name, _ = best(results, "latency", size, "lower")
    own_rounds, peer_rounds = (results.rounds("latency", runtime, size) for runtime in (REFERENCE, name))
    note = f"worst at {size_text(size)}: godwit {between(own_rounds, 'us')}, {name} {between(peer_rounds, 'us')} us" + \
        (f"; above 1.05 at {', '.join(above)}" if above else "")
    return "at most 1.05", f"{ratio:.2f}", ratio <= 1.05, note


def latency_small(results):
    time, (name, ucx) = own(results, "latency", 8), best(results, "latency", 8, "lower", "UCX")
    kinds = [results.median("line", MACHINE, kind) for kind in results.xs("line", MACHINE)]
    line = min(need(kinds or None, "the bare cache line"))
    limit = max(0.8 * ucx, 1.3 * line)
    note = f"{name} {ucx:.3f}, bare cache line {line:.3f} us"
    return f"at most {limit:.3f} us", f"{time:.3f} us", time <= limit, note


def cliff(worst, limit):
    def target(results):
        ratio, n, m = need(worst(medians(results, "steps", REFERENCE)), "godwit's latency at these sizes")
        peers = [(worst(medians(results, "latency", name)), name) for name in results.peers("latency")]
        peers.append((worst(copy_times(results)), "memcpy"))  # caches end somewhere, for everybody
        peers = [f"{name} {found[0]:.1f} at {size_text(found[1])}" for found, name in peers if found]
        note = f"from {size_text(n)} to {size_text(m)}" + (f"; others: {', '.join(peers)}" if peers else "")
        return f"at most {limit}", f"{ratio:.2f}", ratio <= limit, note
    return target


def against_best(test, x, unit, limit, prefix=""):
    """Godwit by the best peer whose name begins with `prefix`: at most `limit`, or at least where more is better."""
    def target(results):
        more = unit != "us"
        name, peer = best(results, test, x, "higher" if more else "lower", prefix)
        value = own(results, test, x)
        ratio = value / peer
        met = ratio >= limit if more else ratio <= limit
        note = f"godwit {figure(value, unit)}, {name} {figure(peer, unit)} {SCALE[unit][1]}"
        return f"at {'least' if more else 'most'} {limit}", f"{ratio:.2f}", met, note
    return target


def put_bandwidth(results):
    sizes = [x for x in results.xs("put_bandwidth", REFERENCE) if x >= 64 * KiB]
    pairs = [(own(results, "put_bandwidth", x) / need(results.median("put_bandwidth", MACHINE, x), f"memcpy at {x}"), x)
             for x in sizes]
    ratio, size = min(need(pairs or None, "godwit's put bandwidth from 64K on"))
    listed = ", ".join(f"{size_text(x)} {value:.2f}" for value, x in pairs)
    return "at least 0.95", f"{ratio:.2f}", ratio >= 0.95, f"worst at {size_text(size)}; {listed}"


def idle_peers(results):
    one, many = (own(results, "idle_peers", peers) for peers in ("1", "64"))
    return "at most 1.3", f"{many / one:.2f}", many <= 1.3 * one, f"{one:.3f} us with 1, {many:.3f} us with 64"


def thread_modes(results):
    def ratio(name):
        single, multiple = (results.median("threads", name, mode) for mode in ("single", "multiple"))
        return need(multiple, f"{name}'s latency with threads") / need(single, f"{name}'s latency")
    value = ratio(REFERENCE)
    peers = ", ".join(f"{name} {ratio(name):.2f}" for name in results.peers("threads"))
    return "at most 1.25", f"{value:.2f}", value <= 1.25, f"peers: {peers}" if peers else ""


def waiting_cpu(results):
    value = own(results, "wake", "waiting CPU (%)")
    return "below 5 %", f"{value:.1f} %", value < 5, "of a core, over the second before the wake-up, 4 ranks on 2 CPUs"


def wake_up(results):
    value = own(results, "wake", "round trip (us)")
    return "at most 60 us", f"{value:.0f} us", value <= 60, "ping to the sleeping rank until its answer is there"


TARGETS = (  # name, tests that it needs, how it is held against them
    ("latency / best peer, geometric mean", ["latency"], latency_mean),
    ("latency / best peer, worst size", ["latency"], latency_worst),
    ("latency at 8 B, by UCX and the bare cache line", ["latency", "line"], latency_small),
    ("no cliff: latency at 2n / at n", ["steps"], cliff(worst_doubling, 2.5)),
    ("no cliff: latency at n + 1 / at n", ["steps"], cliff(worst_next_byte, 1.5)),
    ("bandwidth at 1M / best peer", ["bandwidth"], against_best("bandwidth", MiB, "MB/s", 1.4)),
    ("message rate at 8 B / best peer", ["rate"], against_best("rate", 8, "1/s", 1.5)),
    ("put latency at 8 B / UCX", ["put_latency"], against_best("put_latency", 8, "us", 1.0, "UCX")),
    ("put bandwidth / memcpy, from 64K on", ["put_bandwidth"], put_bandwidth),
    ("allreduce of 8 B, 2 ranks / best MPI", ["allreduce"], against_best("allreduce", 8, "us", 0.5)),
    ("allreduce of 8 B, 8 ranks on 2 CPUs / best MPI", ["oversubscribed"],
     against_best("oversubscribed", "8", "us", 0.5)),
    ("latency with 64 idle peers / with one", ["idle_peers"], idle_peers),
    ("latency in thread mode multiple / single", ["threads"], thread_modes),
    ("CPU use of a waiting rank, more ranks than CPUs", ["wake"], waiting_cpu),
    ("wake-up of a waiting rank", ["wake"], wake_up),
)


def over_sizes(test, unit, limit, prefix, sizes=None):
    """The worst size of those that both have."""
    def target(results):
        more = unit != "us"
        ratios = {}
        for x in sizes or results.xs(test, REFERENCE):
            name, peer = best(results, test, x, "higher" if more else "lower", prefix)
            ratios[x] = own(results, test, x) / peer
        worst = (min if more else max)(need(ratios or None, f"godwit's {test}").values())
        listed = ", ".join(f"{size_text(x)} {ratio:.2f}" for x, ratio in ratios.items())
        return (f"at {'least' if more else 'most'} {limit}", f"{worst:.2f}",
                worst >= limit if more else worst <= limit, f"by {name}: {listed}")
    return target


ADAPTER_TARGETS = (
    ("write latency / perftest, worst size", ["write_lat"], over_sizes("write_lat", "us", 1.05, "perftest")),
    ("send latency / perftest, worst size", ["send_lat"], over_sizes("send_lat", "us", 1.05, "perftest")),
    ("read latency / perftest, worst size", ["read_lat"], over_sizes("read_lat", "us", 1.05, "perftest")),
    ("atomic latency / perftest", ["atomic_lat"], over_sizes("atomic_lat", "us", 1.05, "perftest")),
    ("write bandwidth / perftest, worst size", ["write_bw"], over_sizes("write_bw", "MB/s", 0.97, "perftest")),
    ("tagged latency / UCX, worst size", ["send_lat"], over_sizes("send_lat", "us", 1.0, "UCX")),
    ("tagged latency / Open MPI, worst size", ["send_lat"], over_sizes("send_lat", "us", 1.0, "Open MPI")),
    ("tagged bandwidth / UCX, worst size", ["send_bw"], over_sizes("send_bw", "MB/s", 1.0, "UCX")),
    ("tagged bandwidth / Open MPI, worst size", ["send_bw"], over_sizes("send_bw", "MB/s", 1.0, "Open MPI")),
)


def judge(results, tests, figures=TARGETS):
    """The list of bench.json; `tests`: the ids that were asked for."""
    verdicts = []
    for name, needed, target in figures:
        if not set(needed) <= set(tests):
            continue
        try:
            want, got, met, note = target(results)
        except Missing as missing:
            want, got, met, note = "-", "not measured", False, f"missing: {missing}"
        verdicts.append({"name": name, "want": want, "got": got, "met": bool(met), "note": note})
    return verdicts
