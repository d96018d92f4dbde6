# How often a comparison's verdict errs, and what it finds: simulated experiments, and some made of
# recorded figures and of stretches of one recording. `python -m benchmarks.verdicts`: the tables of
# docs/definitions.md, the same on every machine.

import argparse
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from netcost_analysis import open_capture
from netcost_analysis.questions.comparison.counted import network
from netcost_analysis.stats.change import Change, Counts, blocks, change_from, holm, repeats
from netcost_analysis.stats.resampling import CHANCE, Floats, of_sides

SAMPLES = Path(__file__).resolve().parent.parent / "sample-data"
# Repeats on each side, changes in standard deviations between repeats, and how many metrics are
# corrected together.
REPEATS = (6, 7, 8, 10, 12, 16, 20, 30)
CHANGES = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
METRICS = 16
# By default three metrics count as named beforehand: the first figure of the work done, the
# network's cost and the victim's share.
NAMED = 3
# Recordings that are long beside their blocks.
RECORDINGS = (
    "nic-stolen-time",
    "veth-stolen-time",
    "local-regression-traced/loopback-udp-defer0-rpsoff-twocpu-1.netcost.tar.zst",
)
# A recording is cut into so many parts; blocks and stretches are made of these.
_FINE = 384
# Experiments whose orders are in memory together.
_AT_ONCE = 100

Draw = np.random.Generator
# Makes a side of so many observations, which has changed so many times.
Make = Callable[[Draw, int, float], Floats]


def normal(draw: Draw, count: int, times: float = 1.0) -> Floats:
    return times * draw.normal(100, 5, count)


def skewed(draw: Draw, count: int, times: float = 1.0) -> Floats:
    return times * np.exp(draw.normal(0, 1, count))


def tied(draw: Draw, count: int, times: float = 1.0) -> Floats:
    return times * draw.integers(1, 4, count).astype("float64")


def constant(_: Draw, count: int, times: float = 1.0) -> Floats:
    return np.full(count, times)


def mostly_zero(draw: Draw, count: int, times: float = 1.0) -> Floats:
    return times * draw.poisson(0.3, count).astype("float64")


def recorded(draw: Draw, count: int, times: float = 1.0) -> Floats:
    return times * draw.choice(_throughputs(), count)


@cache
def _throughputs() -> Floats:
    # Of each step of a sample its throughput over the mean of its condition.
    steps = pd.read_csv(SAMPLES / "local-regression" / "steps.tsv", sep="\t")
    labels = ["network", "protocol", "skb_defer_max", "rps", "cpus", "program"]
    figures = steps.groupby(labels)["received_bits_per_second"]
    return figures.transform(lambda one: one / one.mean()).to_numpy("float64")


REPEATED: dict[str, Make] = {
    "normal, scatter 5 %": normal,
    "log-normal, sigma 1": skewed,
    "1, 2 or 3: ties": tied,
    "constant": constant,
    "counts, most of them 0": mostly_zero,
    "throughputs of local-regression over their condition's mean": recorded,
}


def block_side(draw: Draw, count: int, likeness: float, times: float = 1.0) -> Counts:
    """Blocks that each take after the one before, as ns and packets."""
    noise = draw.normal(0, 1, count)
    for place in range(1, count):
        noise[place] = likeness * noise[place - 1] + np.sqrt(1 - likeness**2) * noise[place]
    work = draw.poisson(1_000, count).astype("float64")
    return times * 100 * work * np.exp(0.2 * noise), work


def stretches(draw: Draw, whole: Counts, count: int = 64) -> tuple[Counts, Counts]:
    """Two stretches of one recording that do not overlap, each in so many blocks."""
    above, below = whole
    long = len(above) // 3 // count * count
    first = int(draw.integers(0, len(above) - 2 * long + 1))
    second = int(draw.integers(first + long, len(above) - long + 1))

    def cut(part: Floats, at: int) -> Floats:
        return np.asarray(part[at : at + long].reshape(count, -1).sum(axis=1))

    base, new = draw.permutation([first, second]).tolist()
    return (cut(above, base), cut(below, base)), (cut(above, new), cut(below, new))


def of_two(base: Counts, new: Counts) -> Change:
    """The change between blocks of time of two sides."""
    first, second = blocks(base, new)
    return change_from(first, second, relative=True)


def alike(changes: Iterator[Change]) -> tuple[int, int]:
    """Of experiments in which nothing changed: false alarms, and intervals that exclude none."""
    alarms = excluded = 0
    for one in changes:
        alarms += one.p < CHANCE
        excluded += one.low > 0 or one.high < 0
    return alarms, excluded


def of_repeats(make: Make, count: int, experiments: int, times: float = 1.0) -> Iterator[Change]:
    for seed in range(experiments):
        draw = np.random.default_rng(seed)
        sides = repeats(make(draw, count, 1.0)), repeats(make(draw, count, times))
        yield change_from(*sides, relative=True)


def of_blocks(likeness: float, experiments: int, count: int = 64) -> Iterator[Change]:
    for seed in range(experiments):
        draw = np.random.default_rng(seed)
        yield of_two(block_side(draw, count, likeness), block_side(draw, count, likeness))


def of_recording(path: Path, experiments: int) -> Iterator[Change]:
    whole = _fine(path)
    for seed in range(experiments):
        yield of_two(*stretches(np.random.default_rng(seed), whole))


def _fine(path: Path) -> Counts:
    capture = open_capture(path)
    timeline = capture.timeline()
    width = max((timeline.summary["end_ns"] - timeline.summary["start_ns"]) // _FINE, 1)
    sums = timeline.sums(int(width))
    polls = timeline.group("polls", (), block=("end_ns", int(width)), sums=("work",)).frame
    first = int(sums["bin_ns"].min()) // width
    number = int(sums["bin_ns"].max()) // width - first + 1
    of_network = sums[network(sums)]
    above = np.bincount(of_network["bin_ns"] // width - first, of_network["ns"], number)
    place = (polls["block"] - first).clip(0, number - 1)
    below = np.bincount(place, polls["packets"], number)
    return above.astype("float64"), below.astype("float64")


def of_dealt_blocks(path: Path, experiments: int) -> Iterator[Change]:
    """Blocks of one recording, each dealt to either side: nothing that lasts is on one alone."""
    above, below = _fine(path)
    count = len(above) // 2
    for seed in range(experiments):
        order = np.random.default_rng(seed).permutation(len(above))
        base, new = np.sort(order[:count]), np.sort(order[count : 2 * count])
        yield of_two((above[base], below[base]), (above[new], below[new]))


def chances(base: Floats, new: Floats) -> Floats:
    """The p of each row of two arrays of repeats, as two_sides has it."""
    found: list[Floats] = []
    count, other = base.shape[1], new.shape[1]
    # The difference of means, and where nothing is new its negative share of all.
    orders = of_sides(count, other) * (1 / count + 1 / other)
    for start in range(0, len(base), _AT_ONCE):
        both = np.hstack([base[start : start + _AT_ONCE], new[start : start + _AT_ONCE]])
        apart = np.abs(orders @ both.T - both.sum(axis=1) / count)
        found.append((apart >= apart[0] * (1 - 1e-9)).mean(axis=0))
    return np.concatenate(found)


def power(count: int, deviations: float, experiments: int) -> tuple[float, float]:
    """How often a change is found: as a named metric, and as one of METRICS, the others unchanged.

    deviations: the change in standard deviations between repeats.
    """
    draw = np.random.default_rng(count)
    base, new = draw.normal(0, 1, (2, experiments, METRICS, count))
    new[:, 0] += deviations
    shape = experiments * METRICS, count
    p = chances(base.reshape(shape), new.reshape(shape)).reshape(experiments, METRICS)
    corrected = np.array([holm(row) for row in p])
    return float((p[:, 0] < CHANCE).mean()), float((corrected[:, 0] < CHANCE).mean())


def of_family(
    count: int, experiments: int, metrics: int, corrected: Callable[[Floats], Floats]
) -> int:
    """In how many experiments any of so many metrics differs, where none has changed."""
    draw = np.random.default_rng(count)
    base, new = draw.normal(0, 1, (2, experiments * metrics, count))
    found = chances(base, new).reshape(experiments, metrics)
    return sum(bool((corrected(one) < CHANCE).any()) for one in found)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def alike_table(experiments: int) -> Iterator[str]:
    """False alarms by data and observations."""
    yield _row(["data of both sides", "observations a side", f"different, of {experiments:,}"])
    yield _row(["---"] * 3)

    def row(what: str, many: str, changes: Iterator[Change]) -> str:
        alarms, excluded = alike(changes)
        if alarms != excluded:
            raise AssertionError(f"{what}: {alarms} p and {excluded} intervals")
        return _row([what, many, str(alarms)])

    for what, make in REPEATED.items():
        for count in (6, 12):
            yield row(what, f"{count} repeats", of_repeats(make, count, experiments))
    for count in (6, 12):
        what = f"any of {METRICS} metrics, corrected"
        yield _row([what, f"{count} repeats", str(of_family(count, experiments, METRICS, holm))])
    for count in (6, 12):
        what = f"any of {NAMED} metrics named beforehand"
        found = of_family(count, experiments, NAMED, lambda as_it_is: as_it_is)
        yield _row([what, f"{count} repeats", str(found)])
    for likeness in (0.0, 0.3, 0.5):
        what = f"blocks of time, neighbours correlated by {likeness:g}"
        yield row(what, "64 blocks", of_blocks(likeness, experiments))
    for name in RECORDINGS:
        path = SAMPLES / name
        yield row(
            f"blocks of {name}, dealt", f"{_FINE // 2} blocks", of_dealt_blocks(path, experiments)
        )
        yield row(f"two stretches of {name}", "64 blocks", of_recording(path, experiments))


def power_tables(experiments: int) -> Iterator[str]:
    """How often a change is found, by its size and the repeats."""
    found = {(d, n): power(n, d, experiments) for d in CHANGES for n in REPEATS}
    for at, what in enumerate(("named beforehand", f"one of {METRICS}, corrected")):
        head = [f"change / deviation, {what}", *(f"{count} repeats" for count in REPEATS)]
        yield from ["", _row(head), _row(["---"] * len(head))]
        for one in CHANGES:
            cells = [f"{100 * found[one, count][at]:.0f} %" for count in REPEATS]
            yield _row([f"{one:g}", *cells])


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.verdicts")
    parser.add_argument("--experiments", type=int, default=1_000)
    experiments = parser.parse_args().experiments
    for line in chain(power_tables(experiments), [""], alike_table(experiments)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
