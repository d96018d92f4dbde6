# Whether migrations explain anything, by how many there were and what their effect comes to.

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.migration.lifetimes import instructions_and_cycles
from netcost_analysis.questions.migration.migration_verdict import judged
from support.perfdata import Attr, Counts, FinishedRound, Sample, SampleType, Where, write_file
from support.perfdata.attr import READ_GROUP, READ_ID, TYPE_HARDWARE

MS = 1_000_000
NAN = float("nan")


# The horizon is 10 ms; own_ms: of its own, in seconds that it wanted a CPU for.
def verdict(
    count: int, low: float, high: float, studied: int = 40, wanted_s: float = 1, **given: Any
) -> dict[str, Any]:
    row = pd.Series({"studied": studied, "effect": (low + high) / 2,
                     "effect_low": low, "effect_high": high})  # fmt: skip
    wanted_ns = int(wanted_s * 1_000 * MS)
    return judged(count, 10_000 * MS, 10 * MS, wanted_ns, 500 * MS, row, **given)


# 40 times 10 ms in 500 ms of its own: an effect of 0.1 is 8 %.
@pytest.mark.parametrize(
    ("count", "low", "high", "given", "explains", "reason"),
    [
        (0, NAN, NAN, {"studied": 0}, "no", "not migrated"),
        (0, NAN, NAN, {"studied": 0, "problem": "clocks disagree"}, "no", "not migrated"),
        # Too seldom to matter, whatever each does.
        (5, NAN, NAN, {"studied": 0, "wanted_s": 10}, "no", "too seldom"),
        (40, NAN, NAN, {"studied": 0, "problem": "clocks disagree"}, "cannot tell", "incomparable"),
        (40, -0.2, -0.05, {"studied": 9}, "cannot tell", "too few studied"),
        (40, NAN, NAN, {}, "cannot tell", "too close in time"),
        # What less than half of them did need not be what the others did.
        (81, -0.2, -0.05, {}, "cannot tell", "under half studied"),
        (81, -0.001, 0.001, {}, "cannot tell", "under half studied"),
        (80, -0.2, -0.05, {}, "yes", "effect"),
        (40, -0.2, -0.05, {}, "yes", "effect"),
        (40, 0.05, 0.2, {}, "yes", "effect"),
        (40, -0.2, 0.01, {}, "cannot tell", "uncertain"),
        (40, -0.2, -0.001, {}, "cannot tell", "uncertain"),
        (40, -0.01, 0.01, {}, "no", "too small"),
        # What one gained another may have lost. That nobody's changed is a "no" all the same.
        (40, -0.2, -0.05, {"several": True}, "cannot tell", "others' time"),
        (40, 0.05, 0.2, {"several": True}, "cannot tell", "others' time"),
        (40, -0.01, 0.01, {"several": True}, "no", "too small"),
    ],
)
def test_the_verdict(
    count: int, low: float, high: float, given: dict[str, Any], explains: str, reason: str
) -> None:
    judgement = verdict(count, low, high, **given)
    assert (judgement["explains"], judgement["reason"]) == (explains, reason)


# A share is not rounded up to the limit that it is below.
@pytest.mark.parametrize(
    ("count", "reach", "words"),
    [(5, 0.00005, "<0.01 %"), (50, 0.0005, "0.05 %"), (997, 0.00997, "0.99 %")],
)
def test_what_is_too_seldom_says_how_seldom(count: int, reach: float, words: str) -> None:
    judgement = verdict(count, NAN, NAN, studied=0, wanted_s=1_000)
    assert judgement["reach_share"] == pytest.approx(reach)
    for fact in (f"{count} migrations", "10.0 s", "10.0 ms", f"{words} of"):
        assert fact in judgement["why"]


def test_what_is_at_stake_is_frequency_times_effect() -> None:
    judgement = verdict(40, -0.2, -0.05)
    assert judgement["migrations_per_s"] == 4
    assert judgement["reach_share"] == pytest.approx(0.4)
    assert judgement["at_stake_low_share"] == pytest.approx(40 * 10 * -0.2 / 500)
    assert judgement["at_stake_high_share"] == pytest.approx(40 * 10 * -0.05 / 500)
    assert re.findall(r"-[\d.]+", judgement["why"]) == ["-16.0", "-4.0"]


# Instructions per cycle of sampled tasks, by periods and by groups of counters.

# Two hardware events of which each sample stands for so many: before the migration at 1,000 it does
# 2 instructions per cycle, after it 1.
T = SampleType
SAMPLED = T.IDENTIFIER | T.IP | T.TID | T.TIME | T.CPU | T.PERIOD


# As perf names them, with a PMU or modifiers.
NAMES = ("cpu_core/cpu-cycles/u", "instructions:u")


def hardware(path: Path, *samples: Sample, group: bool = False) -> netcost.Capture:
    kinds = SAMPLED | (T.READ if group else T(0))
    attrs = [
        Attr(
            name,
            config,
            (100 * config + 100, 100 * config + 101),
            type=TYPE_HARDWARE,
            sample_type=kinds,
            read_format=READ_ID | (READ_GROUP if group else 0),
        )
        for config, name in enumerate(NAMES)
    ]
    (path / "perf.data").write_bytes(write_file(attrs, [], [*samples, FinishedRound()]))
    return netcost.open_capture(path / "perf.data")


def within(capture: netcost.Capture, *stretches: tuple[int, int, int]) -> dict[str, list[int]]:
    # How many there were: of tid, from when, until when.
    tids, starts, ends = (np.array(column) for column in zip(*stretches, strict=True))
    counts = instructions_and_cycles(capture)
    return {name: count.within(tids, starts, ends).tolist() for name, count in counts.items()}


def test_instructions_per_cycle_from_periods(tmp_path: Path) -> None:
    samples = [
        Sample(Where(0, at, 7, 7, event), period=period)
        for at in range(100, 2_000, 100)
        for event, period in ((0, 50), (1, 100 if at < 1_000 else 50))
    ]
    capture = hardware(tmp_path, *samples)
    assert within(capture, (7, 500, 1_000), (7, 1_000, 1_500), (8, 0, 5_000)) == {
        "instructions": [500, 250, 0],
        "cycles": [250, 250, 0],
    }


# What the CPU's counters grew by since its sample before is the sampled task's.
def test_instructions_per_cycle_from_a_group(tmp_path: Path) -> None:
    samples = [
        Sample(Where(0, at, tid, tid, 0), counts=Counts(((0, cycles, 0), (1, done, 0))))
        for at, tid, cycles, done in (
            (100, 7, 1_000, 500),
            (200, 7, 1_100, 700),
            (300, 8, 1_400, 800),
        )
    ]
    capture = hardware(tmp_path, *samples, group=True)
    assert within(capture, (7, 0, 999), (8, 0, 999)) == {
        "instructions": [200, 100],
        "cycles": [100, 300],
    }


def test_one_event_alone_makes_no_ipc(tmp_path: Path) -> None:
    capture = hardware(tmp_path, Sample(Where(0, 100, 7, 7, 0), period=5))
    assert instructions_and_cycles(capture) == {}
