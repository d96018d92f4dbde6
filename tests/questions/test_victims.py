# A victim means the same in every question that takes one: all tasks of a name, or one by tid; and
# a task that did not run is refused by its name, with those that are near.

from itertools import cycle
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.answers.registry import questions
from netcost_analysis.errors import AbsentError, ArgumentError
from support.kept import kept

NAMES = ("victim", "client", "server")
ASKED = [
    (name, parameter)
    for name, one in questions().items()
    for parameter in one.parameters
    if parameter in NAMES
]
OTHER = {"client": "server", "server": "client"}


# From when on openssl's task is called that; before, it was the shell that became it.
WINDOW = (3.6, 4.4)


@pytest.fixture(scope="module")
def timeline() -> netcost.Timeline:
    return kept("nic-stolen-time").timeline(*WINDOW)


def tid_of(timeline: netcost.Timeline, comm: str) -> Any:
    rows = timeline.sums()[["tid", "comm"]].dropna()
    (tid,) = rows.loc[rows["comm"].astype(object) == comm, "tid"].unique()
    return tid


def asked(timeline: netcost.Timeline, name: str, parameter: str, task: int | str) -> netcost.Answer:
    given = {parameter: task}
    if parameter in OTHER:
        given[OTHER[parameter]] = "ksoftirqd/0"
    return timeline.ask(name, **given)


@pytest.mark.parametrize(("name", "parameter"), ASKED)
def test_by_tid_is_as_by_name_and_who_did_not_run_is_refused(
    timeline: netcost.Timeline, name: str, parameter: str
) -> None:
    tid = tid_of(timeline, "openssl")
    by_name, by_tid, by_int = (
        asked(timeline, name, parameter, task) for task in ("openssl", tid, int(tid))
    )
    assert set(by_name.tables) == set(by_tid.tables)
    for key, frame in by_name.tables.items():
        got, same = by_tid.tables[key], by_int.tables[key]
        pd.testing.assert_frame_equal(got, same)
        # Whether a column of tids is there, or filled, is what was asked for.
        shared = [column for column in frame.columns if column not in ("tid", "comm")]
        assert shared == [column for column in got.columns if column not in ("tid", "comm")]
        pd.testing.assert_frame_equal(frame[shared], got[shared])
    assert by_tid.words.replace(f"openssl ({tid})", "openssl") == by_name.words
    with pytest.raises(AbsentError, match=r"'opensl'.*openssl"):
        asked(timeline, name, parameter, "opensl")
    with pytest.raises(AbsentError, match=rf"{tid}0.*\b{tid}\b"):
        asked(timeline, name, parameter, int(tid) * 10)
    # Whom nobody knows is no task.
    with pytest.raises(AbsentError, match=r"'\(unknown\)'"):
        asked(timeline, name, parameter, "(unknown)")


OF_A_VICTIM = [name for name, parameter in ASKED if parameter == "victim"]
# About one task, and no others.
TASKS = ("openssl", "udp-load")
OF_ONE = ("headline", "example", "remedies")


def same(answer: netcost.Answer, other: netcost.Answer) -> None:
    assert answer.words == other.words
    assert set(answer.tables) == set(other.tables)
    for name, frame in answer.tables.items():
        pd.testing.assert_frame_equal(frame, other.tables[name])


# It is the question's, or else the timeline's: of the task that lost most, and of another.
@pytest.mark.parametrize(("name", "task"), [*zip(OF_A_VICTIM, cycle(TASKS))])
def test_the_timelines_victim_is_the_questions(
    timeline: netcost.Timeline, name: str, task: str
) -> None:
    asked_for = timeline.ask(name, victim=task)
    same(timeline.capture.timeline(*WINDOW, victim=task).ask(name), asked_for)
    # The question's own goes before it.
    [other] = {*TASKS} - {task}
    same(timeline.capture.timeline(*WINDOW, victim=other).ask(name, victim=task), asked_for)


# Words and tables are of one and the same victim, or of every task. By CPU there is no victim: what
# a CPU lost is all of its tasks'.
@pytest.mark.parametrize("name", OF_A_VICTIM)
def test_tables_are_of_the_victim_or_of_all(timeline: netcost.Timeline, name: str) -> None:
    given = timeline.capture.timeline(*WINDOW, victim="udp-load")
    one = given.ask(name)
    # What is around an example is of others too.
    if name != "example":
        assert one.refusal is None
        assert "openssl" not in one.words
        for frame in one.tables.values():
            frame = frame.reset_index()
            if "comm" in frame:
                assert set(frame["comm"]) == {"udp-load"}
    if name in OF_ONE:
        with pytest.raises(ArgumentError, match="about one task"):
            given.ask(name, victim=netcost.ALL)
        return
    every = given.ask(name, victim=netcost.ALL)
    same(timeline.ask(name, victim=netcost.ALL), every)
    assert any(not frame.equals(one.tables[key]) for key, frame in every.tables.items())
    frame = every.frame.reset_index()
    if "comm" in frame and not frame["comm"].isna().all():
        assert {"openssl"} < set(frame["comm"])
    if "by" in questions()[name].parameters:
        same(given.ask(name, by="cpu"), timeline.ask(name, by="cpu", victim=netcost.ALL))


# The words about who a report is of, whatever question they are of.
def test_a_timelines_victim_may_be_a_tid(timeline: netcost.Timeline) -> None:
    tid = int(tid_of(timeline, "openssl"))
    by_name, by_tid = (timeline.capture.timeline(*WINDOW, victim=task) for task in ("openssl", tid))
    assert by_tid.victim == tid
    for name, one in questions().items():
        if one.topic == "stolen_time":
            words = by_tid.ask(name).words.replace(f"openssl ({tid})", "openssl")
            assert words == by_name.ask(name).words, name
    for wrong in ("opensl", tid * 10):
        with pytest.raises(AbsentError, match="no task"):
            _ = timeline.capture.timeline(*WINDOW, victim=wrong).victim
