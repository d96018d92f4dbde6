# A large recording is read once for all that several questions fold of it.

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.capture import Capture
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions import groups, inputs, prepare
from netcost_analysis.questions.folds import Asked, at_once, fold
from netcost_analysis.timeline.group import Grouping, aggregates
from support.kept import kept

ASKED = ("traffic_owners", "network_overhead")
GROUPED = ("softirq_time", "softirq_lengths", "poll_sizes")


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    # The tables of each pass over a timeline that does not fit into memory.
    found: list[set[str]] = []
    batches = netcost.Timeline.arrow_batches

    def noted(of: netcost.Timeline, *tables: str, **more: Any) -> Iterator[dict[str, Any]]:
        found.append(set(tables))
        return batches(of, *tables, **more)

    monkeypatch.setattr(inputs, "_MOST_SEGMENTS", 1)
    monkeypatch.setattr(inputs, "_ROWS", 1_000)
    monkeypatch.setattr(netcost.Timeline, "arrow_batches", noted)
    return found


def fresh() -> netcost.Timeline:
    return Capture.timeline(kept("nic-stolen-time"), 3.5, 4.0)


def test_questions_share_a_pass(passes: list[set[str]]) -> None:
    alone = {name: fresh().ask(name).frame for name in ASKED}
    assert len(passes) > 1
    passes.clear()
    timeline = fresh()
    timeline.ask.prepare(*ASKED)
    assert passes == [{"segments", "softirqs", "polls"}]
    for name, frame in alone.items():
        pd.testing.assert_frame_equal(timeline.ask(name).frame, frame)
    assert len(passes) == 1


def test_groups_of_several_questions_are_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = {name: fresh().ask(name).frame for name in GROUPED}
    asked: list[int] = []

    def noted(of: netcost.Timeline, wanted: Sequence[Grouping]) -> list[dict[str, Any]]:
        asked.extend([len(wanted)] if wanted else [])
        return aggregates(of, wanted)

    monkeypatch.setattr(groups, "aggregates", noted)
    timeline = fresh()
    timeline.ask.prepare(*GROUPED)
    for name, frame in alone.items():
        pd.testing.assert_frame_equal(timeline.ask(name).frame, frame)
    assert len(asked) == 1


def test_a_fold_that_is_asked_for_otherwise_each_time_is_left_to_its_question(
    passes: list[set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[object] = []

    @fold("polls")
    def counted(before: int | None, polls: pd.DataFrame, mark: object) -> int:
        return (before or 0) + len(polls)

    timeline = fresh()
    ask = timeline.ask

    def asks(name: str) -> Any:
        counts.append(name)
        return counted(timeline, mark=object())

    monkeypatch.setattr(type(ask), "__call__", lambda _, name: asks(name))
    ask.prepare("irq_gaps")
    assert len(counts) == 2


# What native folds takes tables as they are, others take frames; of the same table too.
def test_folds_of_both_kinds_share_a_pass(passes: list[set[str]]) -> None:
    @fold("polls", columns={"polls": ["work"]})
    def framed(before: list[pd.DataFrame] | None, polls: pd.DataFrame) -> list[pd.DataFrame]:
        return [*(before or []), polls]

    @fold("softirqs", "polls", is_native=True)
    def rows(before: tuple[int, int] | None, softirqs: Any, polls: Any) -> tuple[int, int]:
        sizes = [
            len(pa.table(one)) + count
            for one, count in zip((softirqs, polls), before or (0, 0), strict=True)
        ]
        return sizes[0], sizes[1]

    timeline, whole = fresh(), fresh()
    at_once(timeline, Asked(framed, {}), Asked(rows, {}))
    assert passes == [{"softirqs", "polls"}]
    frames = framed(timeline)
    assert len(frames) > 1
    assert rows(timeline) == (len(whole.softirqs), len(whole.polls))
    works = pd.concat(frames)
    assert works.columns.tolist() == ["work"]
    assert works["work"].sum() == whole.polls["work"].sum()


def test_what_fits_into_memory_is_not_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "together", pytest.fail)
    fresh().ask.prepare("processes")


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(ArgumentError, match="softirq_tim"):
        fresh().ask.prepare("softirq_tim")
