# The event study on tasks that are drawn, where what a migration costs is known beforehand, and how
# sure it is: tasks whose migrations are drawn by lot explain nothing.

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from netcost_analysis.questions.migration.event_study import Compared, interval
from netcost_analysis.questions.migration.lifetimes import (
    RunningTotal,
    lifetimes_from,
    lifetimes_of,
    own_and_softirq,
)
from netcost_analysis.questions.migration.migration_effect import effects
from netcost_analysis.questions.migration.migration_verdict import judged
from netcost_analysis.spans import Flags, spans_of
from support.asked import migrations
from support.kept import kept

MS = 1_000_000
TASK = 100
NOTHING = pd.DataFrame({"cpu": [], "start_ns": [], "end_ns": []}, dtype="int64")
SECONDS = 4
WINDOW = (0, 1_000 * SECONDS * MS)
Drawn = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]


# Every 20 ms it is woken, waits `wait` and runs for 5 ms, of which the last millisecond is a
# softirq. Every fifth wake-up moves it, and then it waits `moved_wait`.
#
#   wake |wait| runs .... |softirq| sleeps ...... | wake
#   0     w    w+4         w+5                      20 ms
def drawn(
    rounds: int = 200, wait: int = 0, moved_wait: int = 0, cause: str = "wake-up", tid: int = TASK
) -> Drawn:
    slices, segments, moved = [], [], []
    for number in range(rounds):
        wake = number * 20 * MS
        is_moved = number % 5 == 2
        begin = wake + (moved_wait if is_moved else wait)
        slices.append((0, tid, begin, begin + 5 * MS, wake, begin - wake, 1))
        segments.append((tid, "task", begin, begin + 4 * MS))
        segments.append((tid, "softirq", begin + 4 * MS, begin + 5 * MS))
        if is_moved:
            moved.append((wake - 100 if cause == "wake-up" else wake, tid, cause))
    names = ["cpu", "tid", "in_ns", "out_ns", "wake_ns", "wait_ns", "prev_state"]
    return (
        pd.DataFrame(slices, columns=names).astype({"wake_ns": "Int64", "wait_ns": "Int64"}),
        pd.DataFrame(segments, columns=["tid", "context", "start_ns", "end_ns"]),
        pd.DataFrame(moved, columns=["time_ns", "tid", "cause"]),
    )


# effects() of all causes at one width, by measure.
def study(
    told: Drawn,
    width_ns: int = 10 * MS,
    gaps: pd.DataFrame = NOTHING,
    window: tuple[int, int] | None = None,
    forked: pd.DataFrame | None = None,
    by_cause: bool = False,
    **counters: RunningTotal,
) -> pd.DataFrame:
    slices, segments, moved = told
    window = window or (0, int(slices["out_ns"].max()) + 15 * MS)
    lifetimes = lifetimes_from(slices, gaps, window, forked)
    of = {
        name: spans_of(segments[(segments["context"] == context).to_numpy()])
        for name, context in (("own", "task"), ("softirq", "softirq"))
    }
    migrated = spans_of(moved, "time_ns", "time_ns")
    amounts = {**of, **counters}
    of_all = {None: moved}
    rows = effects(of_all, migrated, lifetimes, lambda *_: amounts, [width_ns], by_cause)[None]
    return rows if by_cause else rows.set_index("measure")


# It runs the same whether moved or not. Before each migration it sleeps and after it runs: a change
# without its controls would call every wake-up a gain.
def test_migrations_that_change_nothing_have_no_effect() -> None:
    row = study(drawn()).loc["run"]
    assert row["studied"] == row["migrations"] == 40
    assert (row["before"], row["after"]) == (0, pytest.approx(0.4, abs=1e-4))
    assert row["change"] == pytest.approx(0.4, abs=1e-4)
    # A migration comes 100 ns before its wake-up.
    for name in ("effect", "effect_low", "effect_high"):
        assert row[name] == pytest.approx(0, abs=2e-5)


# Moved, it waits for 7 of the 8 ms after.
def test_what_a_migration_costs_is_found() -> None:
    rows = study(drawn(moved_wait=7 * MS), 8 * MS)
    assert rows.loc["wait"]["effect"] == pytest.approx(7 / 8, abs=1e-4)
    # Of 4 ms of its own 1 fits into the window.
    assert rows.loc["run"]["effect"] == pytest.approx(-3 / 8, abs=1e-4)
    # The softirq comes after the window: less of its time on CPU.
    assert rows.loc["softirq"]["studied"] == 0
    assert np.isnan(rows.loc["softirq"]["effect"])


def test_a_task_s_waits_are_compared_with_waits_as_long() -> None:
    slices, segments, moved = drawn(wait=2 * MS, moved_wait=3 * MS, cause="balance")
    # Moved half a millisecond into its wait.
    rows = study((slices, segments, moved.assign(time_ns=moved["time_ns"] + MS // 2)))
    assert rows.loc["wait"]["studied"] == 40
    # Waits of at least half a millisecond go on for 1.5 ms; its own for 2.5.
    assert rows.loc["wait"]["effect"] == pytest.approx(0.1, abs=1e-3)


def test_noise_is_no_effect_and_a_seed_makes_the_same_bytes() -> None:
    generator = np.random.default_rng(7)
    slices, segments, moved = drawn()
    late = generator.integers(0, 3 * MS, len(slices))
    slices["in_ns"] += late
    slices["out_ns"] += late
    slices["wait_ns"] += late
    for column in ("start_ns", "end_ns"):
        segments[column] += np.repeat(late, 2)
    told = slices, segments, moved
    row = study(told, 2 * MS).loc["wait"]
    assert row["effect_low"] < 0 < row["effect_high"]
    assert row["effect_high"] - row["effect_low"] < 0.5
    pd.testing.assert_frame_equal(study(told), study(told))


# What cannot be measured is left out, and told why: the first reason that fits.
def test_edges_gaps_and_neighbours_are_left_out() -> None:
    slices, segments, moved = drawn()
    gaps = pd.DataFrame({"cpu": [1], "start_ns": [140 * MS], "end_ns": [141 * MS]})
    close = pd.DataFrame(
        {"time_ns": [245 * MS, 30_000 * MS], "tid": TASK, "cause": ["balance", "wake-up"]}
    )
    told = slices, segments, pd.concat([moved, close], ignore_index=True)
    row = study(told, gaps=gaps).loc["run"]
    # 40 + 2: one beyond the end; that at 140 ms; those at 240 and 245 ms are each other's.
    counts = row[[f"left_out_{name}" for name in ("edge", "gap", "overlap", "unmatched")]]
    assert counts.tolist() == [1, 1, 2, 0]
    assert row["studied"] + counts.sum() == row["migrations"] == 42
    # A short gap does not matter.
    short = gaps.assign(end_ns=140 * MS + 90_000)
    assert study(told, gaps=short).loc["run"]["left_out_gap"] == 0


def test_before_its_fork_and_after_its_end_a_task_had_no_time_to_lose() -> None:
    forked = pd.DataFrame({"time_ns": [35 * MS], "child_pid": [TASK]})
    assert study(drawn(), forked=forked).loc["run"]["left_out_edge"] == 1
    for ended in (0x10, 0x20, 0x40):
        dead = drawn()
        dead[0].loc[len(dead[0]) - 1, "prev_state"] = ended
        last = int(dead[0]["out_ns"].iloc[-1])
        dead[2].loc[len(dead[2])] = [last - 1 * MS, TASK, "balance"]
        assert study(dead).loc["run"]["left_out_edge"] == 1


# A number that is given again: what the first task of it had is not what the second lost.
#
#   first: born 0 ... dies 2,045 ms | second: forked 2,055 ms ...
def test_a_number_given_twice_is_two_tasks() -> None:
    slices, segments, moved = drawn()
    slices.loc[slices["out_ns"] == 2_045 * MS, "prev_state"] = 0x10
    again = pd.DataFrame({"time_ns": [0, 2_055 * MS], "child_pid": [TASK, TASK]})
    rows = study((slices, segments, moved), forked=again)
    # Migrations come 100 ns before 40, 140, ... ms: that at 2,040 has the end after it.
    assert rows.loc["run"]["left_out_edge"] == 1


def test_a_task_that_is_always_moved_has_nothing_to_compare_with() -> None:
    slices, segments, _ = drawn()
    moved = pd.DataFrame(
        {"time_ns": slices["wake_ns"].astype("int64"), "tid": TASK, "cause": "wake-up"}
    )
    row = study((slices, segments, moved), 1 * MS).loc["run"]
    assert row["left_out_unmatched"] == row["migrations"] - row["left_out_edge"]
    assert row["studied"] == 0


def test_below_ten_nothing_is_said() -> None:
    row = study(drawn(rounds=43)).loc["run"]
    assert row["studied"] == 9
    assert row[["before", "after", "change", "effect", "effect_low"]].isna().all()
    assert study(drawn(rounds=48)).loc["run"]["effect"] == pytest.approx(0, abs=2e-5)


def test_nobody_was_migrated() -> None:
    slices, segments, moved = drawn()
    rows = study((slices, segments, moved[:0]))
    assert rows["migrations"].tolist() == [0, 0, 0]
    assert rows["effect"].isna().all()


def test_causes_add_up() -> None:
    one, other = drawn(tid=1), drawn(tid=2, cause="balance", wait=MS, moved_wait=MS)
    slices, segments, moved = (
        pd.concat(both, ignore_index=True) for both in zip(one, other, strict=True)
    )
    moved = moved.sample(frac=1, random_state=1).reset_index(drop=True)
    rows = study((slices, segments, moved), MS, window=(0, 5_000 * MS), by_cause=True)
    run = rows[rows["measure"] == "run"].set_index("cause")
    for column in ("migrations", "studied", "left_out_edge"):
        assert run.loc["all", column] == run.loc[["balance", "wake-up"], column].sum()


def test_ipc_in_the_event_study() -> None:
    told = drawn()
    # A sample a tenth of a millisecond while it runs; after a migration half the instructions.
    at = np.concatenate([np.arange(one, one + 5 * MS, MS // 10) for one in told[0]["in_ns"]])
    is_moved = np.repeat(np.arange(200) % 5 == 2, 50)
    tids = np.full(len(at), TASK)
    cycles = RunningTotal(tids, at, 1_000 * np.arange(1, len(at) + 1))
    instructions = RunningTotal(tids, at, np.where(is_moved, 1_000, 2_000).cumsum())
    rows = study(told, 20 * MS, cycles=cycles, instructions=instructions)
    row = rows.loc["ipc"]
    assert row["before"] == pytest.approx(2, abs=0.01)
    assert row["after"] == pytest.approx(1, abs=0.02)
    assert row["effect"] == pytest.approx(-1, abs=0.03)


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
    assert (low, high) == pytest.approx((values.mean() - 0.051, values.mean() + 0.051), abs=0.012)
    assert (low, high) == interval(compared(values), MS, WINDOW)
    assert interval(compared(np.full(40, 0.25)), MS, WINDOW) == pytest.approx((0.25, 0.25))


NOISE = np.random.default_rng(4).normal(0, 1, 400)
BY_TASK = np.tile(np.arange(20), 20)
CLUSTERS: dict[str, tuple[Compared, float]] = {
    # What is the same throughout a block of time is one observation, and so is what a task has in
    # common; the moments they are compared with are drawn again too.
    "of a block": (compared(np.repeat(NOISE[:40], 10)), 2.02 / np.sqrt(40)),
    "of a task": (compared(NOISE[BY_TASK], BY_TASK), 2.09 / np.sqrt(20)),
    "of the moments": (compared(np.zeros(400), controls=NOISE), 2.02 / 20),
}


@pytest.mark.parametrize(("changes", "reach"), CLUSTERS.values(), ids=CLUSTERS)
def test_what_changes_have_in_common_counts_once(changes: Compared, reach: float) -> None:
    low, high = interval(changes, MS, WINDOW)
    assert high - low == pytest.approx(2 * reach, rel=0.25)


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
def drifting(generator: np.random.Generator, likeness: float) -> tuple[pd.DataFrame, pd.DataFrame]:
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
            "tid": TASK,
            "in_ns": begins,
            "out_ns": ends,
            "prev_state": 1,
            "wake_ns": pd.array(wakes, dtype="Int64"),
            "wait_ns": pd.array(begins - wakes, dtype="Int64"),
        }
    )[inside]
    segments = pd.DataFrame({"tid": TASK, "context": "task", "start_ns": begins, "end_ns": ends})
    return slices, segments[inside]


# By lot: each wake-up for itself, or in phases with many and phases with few.
def lot(generator: np.random.Generator, count: int, in_phases: bool) -> Flags:
    if not in_phases:
        return generator.random(count) < 0.15
    phase = np.cumsum(generator.random(count) < 0.08) % 2
    return generator.random(count) < np.where(phase == 0, 0.4, 0.03)


# The effect on its own time, of the wake-ups that were drawn. cost: of their running.
def by_lot(
    seed: int, likeness: float, in_phases: bool, width_ns: int, cost: float = 0
) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    slices, segments = drifting(generator, likeness)
    is_moved = lot(generator, len(slices), in_phases)
    length = segments["end_ns"] - segments["start_ns"]
    segments["end_ns"] -= (cost * length).astype("int64").where(is_moved, 0)
    slices["out_ns"] = segments["end_ns"]
    times = slices["wake_ns"].to_numpy(dtype="int64")[is_moved]
    moved = pd.DataFrame({"time_ns": times, "tid": TASK, "cause": "wake-up"})
    row = study((slices, segments, moved), width_ns, window=WINDOW).loc["run"]
    own_ns = int((segments["end_ns"] - segments["start_ns"]).sum())
    wanted_ns = own_ns + int(slices["wait_ns"].sum())
    return judged(len(moved), WINDOW[1], width_ns, wanted_ns, own_ns, row)


@pytest.mark.parametrize(
    ("likeness", "in_phases", "width_ns"),
    [(0.9, False, 5 * MS), (0.98, True, 2 * MS), (0.99, True, 10 * MS)],
)
def test_migrations_by_lot_explain_nothing(likeness: float, in_phases: bool, width_ns: int) -> None:
    found = [by_lot(seed, likeness, in_phases, width_ns) for seed in range(15)]
    said = [one["explains"] for one in found]
    assert said.count("yes") <= 1
    # Which is not for want of an interval.
    known = [one for one in found if not np.isnan(one["effect"])]
    assert len(known) >= 10
    missed = [one for one in known if not one["effect_low"] <= 0 <= one["effect_high"]]
    assert len(missed) <= 0.1 * len(known)


# The same tasks, with a cost: every moved wake-up runs for only half as long.
def test_what_costs_is_found_all_the_same() -> None:
    found = [by_lot(seed, 0.9, False, 3 * MS, cost=0.5) for seed in range(10)]
    assert all(one["effect"] < 0 for one in found)
    assert sum(one["effect_high"] < 0 for one in found) >= 9


# The same with recorded tasks: wake-ups that moved nobody are called migrations by lot.
def test_wake_ups_called_migrations_by_lot_explain_nothing() -> None:
    timeline = kept("local-migrations.netcost.tar.zst").timeline()
    moved, sums = migrations(timeline), timeline.sums()
    slices = timeline.slices
    woken = slices.loc[slices["wake_ns"].notna() & slices["tid"].ne(0), ["tid", "wake_ns"]].dropna()
    counts = woken["tid"].astype("int64").value_counts()
    tids = counts[counts >= 200].sort_index().index.to_series()
    lifetimes = lifetimes_of(timeline, tids)
    said = []
    for tid in tids:
        real = moved[(moved["tid"] == tid).to_numpy()]
        stayed = woken.loc[(woken["tid"] == tid).to_numpy(dtype=bool), "wake_ns"].to_numpy("int64")
        near = np.abs(stayed[:, None] - real["time_ns"].to_numpy("int64")[None, :]) < MS
        stayed = stayed[~near.any(axis=1)]
        own = sums[((sums["tid"] == tid) & (sums["context"] == "task")).to_numpy(dtype=bool)]
        own_ns = int(own["ns"].sum())
        for seed in range(5):
            chosen = np.random.default_rng(seed).choice(stayed, 40, replace=False)
            called = pd.DataFrame({"time_ns": np.sort(chosen), "tid": tid, "cause": "wake-up"})
            migrated = spans_of(pd.concat([called, real]), "time_ns", "time_ns")
            amounts = partial(own_and_softirq, timeline)
            of_tid = {tid: called}
            rows = effects(of_tid, migrated, lifetimes, amounts, [2 * MS], by_cause=False)[tid]
            row = rows.set_index("measure").loc["run"]
            given = (len(called), timeline.duration_ns, 2 * MS, own_ns, own_ns, row)
            said.append(judged(*given)["explains"])
    assert len(said) >= 20
    assert said.count("yes") <= 0.05 * len(said)
