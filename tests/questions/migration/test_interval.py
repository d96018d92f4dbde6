# How sure the event study is: intervals of known spread, and tasks whose migrations are drawn by
# lot, so do nothing.

from typing import Any

import numpy as np
import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.migration.interval import Compared, interval
from netcost_analysis.questions.migration.lives import Lives, lives_from, lives_of, wakes_of
from netcost_analysis.questions.migration.migration_effect import migration_effect_from
from netcost_analysis.questions.migration.migration_verdict import judged
from netcost_analysis.spans import Flags
from support.asked import migrations
from support.host import ROOT

LOCAL = ROOT / "sample-data" / "local-migrations.netcost.tar.zst"
MS = 1_000_000
SECONDS = 4
WINDOW = (0, 1_000 * SECONDS * MS)
NOTHING = pd.DataFrame({"cpu": [], "start_ns": [], "end_ns": []}, dtype="int64")


# Migrations evenly over the window, each compared with one moment half a block later.
def compared(change: object, tids: object = 7, controls: object = 0.0) -> Compared:
    values = np.asarray(change, dtype="float64")
    count = len(values)
    times = (np.arange(count) * (WINDOW[1] // count)).astype("int64")
    named = np.broadcast_to(np.asarray(tids), (count,)).astype("int64")
    beside = np.broadcast_to(np.asarray(controls, dtype="float64"), (count,))
    return Compared(named, times, values, times[:, None] + 1, beside[:, None])


def test_the_interval_of_independent_changes_is_that_of_their_mean() -> None:
    values = np.random.default_rng(3).normal(0.5, 0.5, 400)
    low, high = interval(compared(values), MS, WINDOW)
    # A standard error of 0.025, and Student's t of 39 degrees of freedom: 2.02 of them.
    assert low == pytest.approx(values.mean() - 0.051, abs=0.012)
    assert high == pytest.approx(values.mean() + 0.051, abs=0.012)
    assert (low, high) == interval(compared(values), MS, WINDOW)
    assert interval(compared(np.full(40, 0.25)), MS, WINDOW) == pytest.approx((0.25, 0.25))


# What is the same throughout a block of time is one observation, however many migrations it has.
def test_changes_that_last_count_once() -> None:
    of_block = np.random.default_rng(4).normal(0, 1, 40)
    low, high = interval(compared(np.repeat(of_block, 10)), MS, WINDOW)
    once = interval(compared(of_block), MS, WINDOW)
    assert (low, high) == pytest.approx(once, abs=0.02)
    assert high - low == pytest.approx(2 * 2.02 / np.sqrt(40), rel=0.2)


# So is what a task has in common.
def test_a_task_counts_once() -> None:
    of_task = np.random.default_rng(5).normal(0, 1, 20)
    tids = np.tile(np.arange(20), 20)
    low, high = interval(compared(of_task[tids], tids), MS, WINDOW)
    assert high - low == pytest.approx(2 * 2.09 / np.sqrt(20), rel=0.25)


# The moments they are compared with are drawn again too: of noisy ones the mean is not sure either.
def test_noise_of_the_moments_counts() -> None:
    noise = np.random.default_rng(6).normal(0, 1, 400)
    low, high = interval(compared(np.zeros(400), controls=noise), MS, WINDOW)
    assert high - low == pytest.approx(2 * 2.02 / 20, rel=0.25)


def test_too_few_blocks_tell_nothing() -> None:
    burst = compared(np.random.default_rng(7).normal(0, 1, 100))
    close = burst._replace(times=burst.times // 10)
    assert np.isnan(interval(close, MS, WINDOW)).all()
    assert np.isnan(interval(burst._replace(moments=burst.moments // 10), MS, WINDOW)).all()
    # Stretches are four windows long, where that is more than a fortieth: 0.4 s of 4 s make ten.
    assert np.isfinite(interval(burst, 100 * MS, WINDOW)).all()
    assert np.isnan(interval(burst, 120 * MS, WINDOW)).all()


# A task that is woken again and again. How long it waits and runs drifts (an autoregression), so
# that what is close in time is alike.
def drifting(
    generator: np.random.Generator, tid: int, likeness: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    count = 100 * SECONDS
    drift = np.empty(count)
    state = generator.normal()
    for number, shock in enumerate(generator.normal(size=count)):
        drift[number] = state
        state = likeness * state + np.sqrt(1 - likeness**2) * shock
    runs = np.clip(2.5 * MS * np.exp(0.7 * drift), 1_000, 8 * MS)
    waits = np.clip(0.3 * MS * np.exp(generator.normal(size=count) + 0.7 * drift), 100, 5 * MS)
    sleeps = np.clip(generator.exponential(6 * MS, count), 1_000, None)
    rounds = (runs + waits + sleeps).astype("int64")
    wakes = np.cumsum(rounds) - rounds
    begins = wakes + waits.astype("int64")
    ends = begins + runs.astype("int64")
    inside = ends < WINDOW[1]
    slices = pd.DataFrame(
        {
            "cpu": 0,
            "tid": tid,
            "in_ns": begins,
            "out_ns": ends,
            "prev_state": 1,
            "wake_ns": pd.array(wakes, dtype="Int64"),
            "wait_ns": pd.array(begins - wakes, dtype="Int64"),
        }
    )[inside]
    segments = pd.DataFrame({"tid": tid, "context": "task", "start_ns": begins, "end_ns": ends})
    return slices, segments[inside]


# By lot: each wake-up for itself, or in phases with many and phases with few.
def lot(generator: np.random.Generator, count: int, in_phases: bool) -> Flags:
    if not in_phases:
        return generator.random(count) < 0.15
    phase = np.cumsum(generator.random(count) < 0.08) % 2
    return generator.random(count) < np.where(phase == 0, 0.4, 0.03)


def verdict(seed: int, likeness: float, in_phases: bool, width_ns: int) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    slices, segments = drifting(generator, 7, likeness)
    wakes = slices["wake_ns"].to_numpy(dtype="int64")
    times = wakes[lot(generator, len(wakes), in_phases)]
    moved = pd.DataFrame({"time_ns": times, "tid": 7, "cause": "wake-up"})
    lives: Lives = lives_from(segments, slices, NOTHING, WINDOW)
    rows = migration_effect_from(moved, lives, wakes_of(slices), [width_ns], by_cause=False)
    row = rows.set_index("measure").loc["run"]
    own_ns = int((segments["end_ns"] - segments["start_ns"]).sum())
    wanted_ns = own_ns + int(slices["wait_ns"].sum())
    return judged(len(moved), WINDOW[1], width_ns, wanted_ns, own_ns, row)


@pytest.mark.parametrize(
    ("likeness", "in_phases", "width_ns"),
    [(0.9, False, 5 * MS), (0.98, True, 2 * MS), (0.99, True, 10 * MS)],
)
def test_migrations_by_lot_explain_nothing(likeness: float, in_phases: bool, width_ns: int) -> None:
    found = [verdict(seed, likeness, in_phases, width_ns) for seed in range(15)]
    said = [one["explains"] for one in found]
    assert said.count("yes") <= 1
    # Which is not for want of an interval.
    known = [one for one in found if not np.isnan(one["effect"])]
    assert len(known) >= 10
    missed = [one for one in known if not one["effect_low"] <= 0 <= one["effect_high"]]
    assert len(missed) <= 0.1 * len(known)


# The same tasks, with a cost: every moved wake-up runs for only half as long.
def test_what_costs_is_found_all_the_same() -> None:
    said = []
    for seed in range(10):
        generator = np.random.default_rng(seed)
        slices, segments = drifting(generator, 7, 0.9)
        is_moved = lot(generator, len(slices), in_phases=False)
        length = segments["end_ns"] - segments["start_ns"]
        segments["end_ns"] -= (length // 2).where(is_moved, 0)
        slices["out_ns"] = segments["end_ns"]
        times = slices["wake_ns"].to_numpy(dtype="int64")[is_moved]
        moved = pd.DataFrame({"time_ns": times, "tid": 7, "cause": "wake-up"})
        lives = lives_from(segments, slices, NOTHING, WINDOW)
        rows = migration_effect_from(moved, lives, wakes_of(slices), [3 * MS], by_cause=False)
        row = rows.set_index("measure").loc["run"]
        assert row["effect"] < 0
        said.append(row["effect_high"] < 0)
    assert sum(said) >= 9


# The same with recorded tasks: wake-ups that moved nobody are called migrations by lot.
def test_wake_ups_called_migrations_by_lot_explain_nothing() -> None:
    timeline = netcost.open_capture(LOCAL).timeline()
    moved = migrations(timeline)
    lives, wakes = lives_of(timeline), wakes_of(timeline.slices)
    sums = timeline.sums()
    said = []
    for tid, count in zip(*np.unique(wakes.groups, return_counts=True), strict=True):
        real = moved[(moved["tid"] == tid).to_numpy()]
        stayed = wakes.starts[wakes.groups == tid]
        near = np.abs(stayed[:, None] - real["time_ns"].to_numpy("int64")[None, :]) < MS
        stayed = stayed[~near.any(axis=1)]
        if count < 200:
            continue
        own = sums[((sums["tid"] == tid) & (sums["context"] == "task")).to_numpy(dtype=bool)]
        own_ns = int(own["ns"].sum())
        for seed in range(5):
            chosen = np.random.default_rng(seed).choice(stayed, 40, replace=False)
            called = pd.DataFrame({"time_ns": np.sort(chosen), "tid": tid, "cause": "wake-up"})
            everyone = pd.concat([called, real[["time_ns", "tid", "cause"]]])
            rows = migration_effect_from(called, lives, wakes, [2 * MS], False, everyone, timeline)
            row = rows.set_index("measure").loc["run"]
            given = (len(called), timeline.duration_ns, 2 * MS, own_ns, own_ns, row)
            said.append(judged(*given)["explains"])
    assert len(said) >= 20
    assert said.count("yes") <= 0.05 * len(said)
