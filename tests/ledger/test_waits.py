# A wait runs from the wake-up to the switch-in that ends it, and nobody waits who was running.

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import netcost_analysis
from netcost_analysis.questions.lifetimes import NAMES
from support.asked import lifetimes, waited_for
from support.drawn import ledger_of, recorded
from support.host import Fresh, examples
from support.narrator import recordings
from support.native_tables import Answer
from support.perfdata import Recording
from support.perfdata import tracepoints as t
from support.told import OPENSSL, UDPSINK


@pytest.mark.parametrize(
    ("told", "tid", "wait"),
    [
        (
            "CPU 0 openssl: 100 waking udpsink, 101 migrate udpsink 0 1, 102 wakeup udpsink 1, "
            "300 waking openssl CPU 1: 110 switch udpsink, 300 waking openssl",
            *(UDPSINK.tid, (110, 102, 8)),
        ),
        # The first event of CPU 0 witnesses that openssl ran before it: that ended no wait.
        (
            "CPU 0 openssl: 200 switch idle asleep, 900 waking udpsink "
            "CPU 1: 195 waking openssl, 196 wakeup openssl, 900 waking udpsink",
            *(OPENSSL.tid, (195, None, None)),
        ),
        # Since when it ran is unknown, so its wait has no length.
        (
            "CPU 0 openssl: 100 switch idle asleep, 250 unseen switch udpsink, 300 waking openssl, "
            "900 waking openssl CPU 1: 149 waking udpsink, 150 wakeup udpsink, 900 waking udpsink",
            *(UDPSINK.tid, (300, None, None)),
        ),
    ],
    ids=["woken", "ran already", "nobody saw when"],
)
def test_a_wait_ends_with_a_switch_in_that_was_seen(
    tmp_path: Path, told: str, tid: int, wait: tuple[int, int | None, int | None]
) -> None:
    [first] = [row for row in ledger_of(tmp_path, told).slices if row["tid"] == tid]
    assert (first["in_ns"], first["wake_ns"], first["wait_ns"]) == wait


# What openssl did until 3000, or the end, is known where CPU 1 was recorded.
LEAVES = {
    "there and back": "1000 switch udpsink, 1200 migrate openssl 0 1, 2800 migrate openssl 1 0",
    # Pulled from there: that it went there, only CPU 1 could have told.
    "back": "1000 switch udpsink, 2800 migrate openssl 1 0",
    "moved": "1000 switch udpsink, 1200 migrate openssl 0 1",
    "woken": "1000 switch udpsink asleep, 1200 waking openssl 1, 1200 wakeup openssl 1",
}


def life_of_openssl(folder: Path, told: str, is_recorded: bool) -> tuple[Any, Any]:
    other = "CPU 1: 100 waking udpsink, 4000 waking udpsink" if is_recorded else ""
    formats = tuple(one for one in t.FORMATS if one is not t.SCHED_PROCESS_EXIT)
    path = recorded(f"CPU 0 openssl: {told}, 4000 waking udpsink {other}", formats=formats).write(
        folder / "perf.data"
    )
    timeline = netcost_analysis.open_capture(path).timeline()
    return timeline, lifetimes(timeline).loc["openssl"]


@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("is_recorded", [False, True])
def test_what_a_task_did_on_a_cpu_that_was_not_recorded_is_unknown(
    tmp_path: Path, leaves: str, is_recorded: bool
) -> None:
    told = f"{LEAVES[leaves]}, 3000 switch openssl asleep"
    timeline, life = life_of_openssl(tmp_path, told, is_recorded)
    [wait] = [
        row["wait_ns"] for row in Answer(tmp_path / "perf.data").slices if row["in_ns"] == 3000
    ]
    assert life[list(NAMES)].sum() == life["lifetime_max_ns"]
    holders = waited_for(timeline)
    waited = holders[holders["comm"] == "openssl"]["ns"].sum()
    if is_recorded:
        assert (wait, waited, life["waited_others_ns"]) == (2_000 - life["asleep_ns"],) * 3
    else:
        assert wait is None
        assert (waited, life["waited_others_ns"], life["asleep_ns"]) == (0, 0, 0)
        assert life["unaccounted_ns"] == 2_000


@pytest.mark.parametrize("leaves", ["moved", "woken"])
@pytest.mark.parametrize("is_recorded", [False, True])
def test_who_does_not_come_back_from_there_is_not_said_to_wait(
    tmp_path: Path, leaves: str, is_recorded: bool
) -> None:
    told = f"0 waking udpsink, {LEAVES[leaves]}"
    _, life = life_of_openssl(tmp_path, told, is_recorded)
    row = life[["waited_others_ns", "asleep_ns", "unaccounted_ns"]].tolist()
    assert row == ([3_000 - row[1], row[1], 0] if is_recorded else [0, 0, 3_000])


@examples(40)
@given(recordings())
def test_wake_up_and_wait_end_at_the_switch_in(fresh: Fresh, told: Recording) -> None:
    got = Answer(told.write(fresh() / "perf.data"))
    woken = [row for row in got.slices if row["wake_ns"] is not None]
    assert all(row["wake_ns"] + row["wait_ns"] == row["in_ns"] for row in woken)
    assert all(row["wait_ns"] >= 0 for row in woken)
