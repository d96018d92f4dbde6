# How often a comparison's verdict errs, and what it finds: simulated experiments, and some made of
# recorded figures and of stretches of one recording. `python -m benchmarks.verdicts`: the tables of
# docs/definitions.md, the same on every machine.

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from netcost_analysis import open_capture
from netcost_analysis.questions.comparison.counted import network
from netcost_analysis.stats.change import Change, Side, blocks, change_of, holm, repeats
from netcost_analysis.stats.permutation import CHANCE, two_sides
from netcost_analysis.stats.resampling import Floats

SAMPLES = Path(__file__).resolve().parent.parent / "sample-data"
# Repeats on each side, changes in standard deviations between repeats, and metrics beside the one.
REPEATS = (6, 8, 10, 12, 16, 20, 30)
CHANGES = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
OTHERS = 16
# The relative standard deviation of simulated repeats.
SCATTER = 0.05

Draw = np.random.Generator
# Makes a side of so many observations, which has changed so many times.
Make = Callable[[Draw, int, float], Floats]


def normal(draw: Draw, count: int, times: float = 1.0) -> Floats:
    return times * draw.normal(100, 100 * SCATTER, count)


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


_known: list[Floats] = []


def _throughputs() -> Floats:
    # Of each step of a sample its throughput over the mean of its condition.
    if not _known:
        steps = pd.read_csv(SAMPLES / "local-regression" / "steps.tsv", sep="\t")
        labels = ["network", "protocol", "skb_defer_max", "rps", "cpus"]
        figures = steps.groupby(labels)["received_bits_per_second"]
        _known.append((figures.transform(lambda one: one / one.mean())).to_numpy("float64"))
    return _known[0]


def block_side(
    draw: Draw, count: int, likeness: float, times: float = 1.0
) -> tuple[Floats, Floats]:
    """Blocks that each take after the one before, as ns and packets."""
    noise = draw.normal(0, 1, count)
    for place in range(1, count):
        noise[place] = likeness * noise[place - 1] + np.sqrt(1 - likeness**2) * noise[place]
    work = draw.poisson(1_000, count).astype("float64")
    return times * 100 * work * np.exp(0.2 * noise), work


def stretches(draw: Draw, whole: tuple[Floats, Floats], count: int = 64) -> tuple[Side, ...]:
    """Two sides: stretches of one recording that do not overlap, each in so many blocks."""
    above, below = whole
    long = len(above) // 3 // count * count
    first = int(draw.integers(0, len(above) - 2 * long + 1))
    second = int(draw.integers(first + long, len(above) - long + 1))
    starts = draw.permutation([first, second])
    return blocks(
        *(
            tuple(part[at : at + long].reshape(count, -1).sum(axis=1) for part in (above, below))  # type: ignore[misc]
            for at in starts
        )
    )


def alike(changes: Iterator[Change]) -> tuple[int, int]:
    """Of experiments in which nothing changed: false alarms, and intervals that exclude none."""
    alarms = excluded = 0
    for one in changes:
        alarms += one.p < CHANCE
        excluded += not one.low <= 0 <= one.high
    return alarms, excluded


def of_repeats(make: Make, count: int, experiments: int, times: float = 1.0) -> Iterator[Change]:
    for seed in range(experiments):
        draw = np.random.default_rng(seed)
        sides = repeats(make(draw, count, 1.0)), repeats(make(draw, count, times))
        yield change_of(*sides, relative=True)


def of_blocks(likeness: float, experiments: int, count: int = 64) -> Iterator[Change]:
    for seed in range(experiments):
        draw = np.random.default_rng(seed)
        sides = blocks(*(block_side(draw, count, likeness) for _ in range(2)))
        yield change_of(*sides, relative=True)


def of_recording(path: Path, experiments: int) -> Iterator[Change]:
    whole = _fine(path)
    for seed in range(experiments):
        yield change_of(*stretches(np.random.default_rng(seed), whole), relative=True)


def _fine(path: Path) -> tuple[Floats, Floats]:
    capture = open_capture(path)
    timeline = capture.timeline()
    width = max((timeline.summary["end_ns"] - timeline.summary["start_ns"]) // 1_024, 1)
    sums = timeline.sums(int(width))
    polls = timeline.group("polls", (), block=("end_ns", int(width)), sums=("work",)).frame
    first = int(sums["bin_ns"].min()) // width
    number = int(sums["bin_ns"].max()) // width - first + 1
    of_network = sums[network(sums)]
    above = np.bincount(of_network["bin_ns"] // width - first, of_network["ns"], number)
    place = (polls["block"] - first).clip(0, number - 1)
    return above, np.bincount(place, polls["packets"], number).astype("float64")


def family(count: int, experiments: int, times: float = 1.0) -> tuple[float, float]:
    """Of OTHERS metrics of which one changed: how often it is found, and any other one."""
    found = others = 0
    for seed in range(experiments):
        draw = np.random.default_rng(seed)
        chances = [
            p_of(normal(draw, count), normal(draw, count, times if at == 0 else 1.0))
            for at in range(OTHERS)
        ]
        differs = holm(np.array(chances)) < CHANCE
        found += bool(differs[0])
        others += bool(differs[1:].any())
    return found / experiments, others / experiments


def p_of(base: Floats, new: Floats) -> float:
    ones = np.ones(len(base))
    return two_sides((base, ones), (new, ones), False).p


def power(count: int, deviations: float, experiments: int, least: float = CHANCE) -> float:
    """How often a change by so many standard deviations is found by a p below least."""
    times, found = 1 + deviations * SCATTER, 0
    for seed in range(experiments):
        draw = np.random.default_rng(seed)
        found += p_of(normal(draw, count), normal(draw, count, times)) < least
    return found / experiments
