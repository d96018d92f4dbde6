# The event study on lives that are drawn, where what a migration costs is known beforehand.

import numpy as np
import pandas as pd
import pytest

from netcost_analysis.questions.migration.lives import Counts as Occurrences
from netcost_analysis.questions.migration.lives import lives_from, wakes_of
from netcost_analysis.questions.migration.migration_effect import migration_effect_from

MS = 1_000_000
TASK = 100
NOTHING = pd.DataFrame({"cpu": [], "start_ns": [], "end_ns": []}, dtype="int64")


# Every 20 ms it is woken, waits `wait` and runs for 5 ms, of which the last millisecond is a
# softirq. Every fifth wake-up moves it, and then it waits `moved_wait`.
#
#   wake |wait| runs .... |softirq| sleeps ...... | wake
#   0     w    w+4         w+5                      20 ms
def life(
    rounds: int = 200, wait: int = 0, moved_wait: int = 0, cause: str = "wake-up", tid: int = TASK
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
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


def effect(
    told: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
    width_ns: int = 10 * MS,
    gaps: pd.DataFrame = NOTHING,
    forked: pd.DataFrame | None = None,
) -> pd.DataFrame:
    slices, segments, moved = told
    window = (0, int(slices["out_ns"].max()) + 15 * MS)
    lives = lives_from(segments, slices, gaps, window, forked)
    return migration_effect_from(moved, lives, wakes_of(slices), [width_ns], by_cause=False)


def of(rows: pd.DataFrame, measure: str) -> "pd.Series[float]":
    return rows.set_index("measure").loc[measure]


# It runs the same whether moved or not. Before each migration it sleeps and after it runs: a change
# without its controls would call every wake-up a gain.
def test_migrations_that_change_nothing_have_no_effect() -> None:
    row = of(effect(life()), "run")
    assert row["studied"] == row["migrations"] == 40
    assert (row["before"], row["after"]) == (0, pytest.approx(0.4, abs=1e-4))
    assert row["change"] == pytest.approx(0.4, abs=1e-4)
    # A migration comes 100 ns before its wake-up.
    for name in ("effect", "effect_low", "effect_high"):
        assert row[name] == pytest.approx(0, abs=2e-5)


# Moved, it waits for 7 of the 8 ms after.
def test_what_a_migration_costs_is_found() -> None:
    rows = effect(life(moved_wait=7 * MS), 8 * MS)
    assert of(rows, "wait")["effect"] == pytest.approx(7 / 8, abs=1e-4)
    # Of 4 ms of its own 1 fits into the window.
    assert of(rows, "run")["effect"] == pytest.approx(-3 / 8, abs=1e-4)
    # The softirq comes after the window: less of its time on CPU.
    assert of(rows, "softirq")["studied"] == 0
    assert np.isnan(of(rows, "softirq")["effect"])


def test_a_task_s_waits_are_compared_with_waits_as_long() -> None:
    slices, segments, moved = life(wait=2 * MS, moved_wait=3 * MS, cause="balance")
    # Moved half a millisecond into its wait.
    rows = effect((slices, segments, moved.assign(time_ns=moved["time_ns"] + MS // 2)))
    assert of(rows, "wait")["studied"] == 40
    # Waits of at least half a millisecond go on for 1.5 ms; its own for 2.5.
    assert of(rows, "wait")["effect"] == pytest.approx(0.1, abs=1e-3)


def test_noise_is_no_effect_and_a_seed_makes_the_same_bytes() -> None:
    generator = np.random.default_rng(7)
    slices, segments, moved = life()
    late = generator.integers(0, 3 * MS, len(slices))
    slices["in_ns"] += late
    slices["out_ns"] += late
    slices["wait_ns"] += late
    for column in ("start_ns", "end_ns"):
        segments[column] += np.repeat(late, 2)
    told = slices, segments, moved
    row = of(effect(told, 2 * MS), "wait")
    assert row["effect_low"] < 0 < row["effect_high"]
    assert row["effect_high"] - row["effect_low"] < 0.5
    pd.testing.assert_frame_equal(effect(told), effect(told))


# What cannot be measured is left out, and told why: the first reason that fits.
def test_edges_gaps_and_neighbours_are_left_out() -> None:
    slices, segments, moved = life()
    gaps = pd.DataFrame({"cpu": [1], "start_ns": [140 * MS], "end_ns": [141 * MS]})
    close = pd.DataFrame(
        {"time_ns": [245 * MS, 30_000 * MS], "tid": TASK, "cause": ["balance", "wake-up"]}
    )
    told = slices, segments, pd.concat([moved, close], ignore_index=True)
    row = of(effect(told, gaps=gaps), "run")
    # 40 + 2: one beyond the end; that at 140 ms; those at 240 and 245 ms are each other's.
    counts = row[[f"left_out_{name}" for name in ("edge", "gap", "overlap", "unmatched")]]
    assert counts.tolist() == [1, 1, 2, 0]
    assert row["studied"] + counts.sum() == row["migrations"] == 42


def test_a_short_gap_does_not_matter() -> None:
    gaps = pd.DataFrame({"cpu": [1], "start_ns": [140 * MS], "end_ns": [140 * MS + 90_000]})
    assert of(effect(life(), gaps=gaps), "run")["left_out_gap"] == 0


def test_before_its_fork_a_task_had_no_time_to_lose() -> None:
    forked = pd.DataFrame({"time_ns": [35 * MS], "child_pid": [TASK]})
    assert of(effect(life(), forked=forked), "run")["left_out_edge"] == 1
    for ended in (0x10, 0x20, 0x40):
        dead = life()
        dead[0].loc[len(dead[0]) - 1, "prev_state"] = ended
        last = int(dead[0]["out_ns"].iloc[-1])
        dead[2].loc[len(dead[2])] = [last - 1 * MS, TASK, "balance"]
        assert of(effect(dead), "run")["left_out_edge"] == 1


# A number that is given again: what the first task of it had is not what the second lost.
#
#   first: born 0 ... dies 2,045 ms | second: forked 2,055 ms ...
def test_a_number_given_twice_is_two_tasks() -> None:
    slices, segments, moved = life()
    slices.loc[slices["out_ns"] == 2_045 * MS, "prev_state"] = 0x10
    assert (slices["prev_state"] == 0x10).sum() == 1
    again = pd.DataFrame({"time_ns": [0, 2_055 * MS], "child_pid": [TASK, TASK]})
    rows = effect((slices, segments, moved), forked=again)
    # Migrations come 100 ns before 40, 140, ... ms: that at 2,040 has the end after it.
    assert of(rows, "run")["left_out_edge"] == 1


def test_a_task_that_is_always_moved_has_nothing_to_compare_with() -> None:
    slices, segments, _ = life()
    moved = pd.DataFrame(
        {"time_ns": slices["wake_ns"].astype("int64"), "tid": TASK, "cause": "wake-up"}
    )
    row = of(effect((slices, segments, moved), 1 * MS), "run")
    assert row["left_out_unmatched"] == row["migrations"] - row["left_out_edge"]
    assert row["studied"] == 0


def test_below_ten_nothing_is_said() -> None:
    row = of(effect(life(rounds=43)), "run")
    assert row["studied"] == 9
    assert row[["before", "after", "change", "effect", "effect_low"]].isna().all()
    assert of(effect(life(rounds=48)), "run")["effect"] == pytest.approx(0, abs=2e-5)


def test_nobody_was_migrated() -> None:
    slices, segments, moved = life()
    rows = effect((slices, segments, moved[:0]))
    assert rows["migrations"].tolist() == [0, 0, 0]
    assert rows["effect"].isna().all()


def test_causes_add_up() -> None:
    one, other = life(tid=1), life(tid=2, cause="balance", wait=MS, moved_wait=MS)
    slices, segments, moved = (
        pd.concat(both, ignore_index=True) for both in zip(one, other, strict=True)
    )
    moved = moved.sample(frac=1, random_state=1).reset_index(drop=True)
    lives = lives_from(segments, slices, NOTHING, (0, 5_000 * MS))
    rows = migration_effect_from(moved, lives, wakes_of(slices), [MS])
    run = rows[rows["measure"] == "run"].set_index("cause")
    for column in ("migrations", "studied", "left_out_edge"):
        assert run.loc["all", column] == run.loc[["balance", "wake-up"], column].sum()


def test_ipc_in_the_event_study() -> None:
    slices, segments, moved = life()
    lives = lives_from(segments, slices, NOTHING, (0, 4_100 * MS))
    # A sample a tenth of a millisecond while it runs; after a migration half the instructions.
    at = np.concatenate([np.arange(one, one + 5 * MS, MS // 10) for one in slices["in_ns"]])
    is_moved = np.repeat(np.arange(len(slices)) % 5 == 2, 50)
    tids = np.full(len(at), TASK)
    cycles = Occurrences(tids, at, np.full(len(at), 1_000))
    instructions = Occurrences(tids, at, np.where(is_moved, 1_000, 2_000))
    measured = type(lives)(**{**vars(lives), "cycles": cycles, "instructions": instructions})
    rows = migration_effect_from(moved, measured, wakes_of(slices), [20 * MS], by_cause=False)
    row = of(rows, "ipc")
    assert row["before"] == pytest.approx(2, abs=0.01)
    assert row["after"] == pytest.approx(1, abs=0.02)
    assert row["effect"] == pytest.approx(-1, abs=0.03)
