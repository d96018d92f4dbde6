# A large recording is read once for all that several questions fold of it.

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.capture import Capture
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions import inputs, prepare
from support.kept import kept

ASKED = ("softirq_time", "softirq_lengths", "poll_sizes")


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
    return Capture.timeline(kept("nic-stolen-time"))


def test_questions_share_a_pass(passes: list[set[str]]) -> None:
    alone = {name: fresh().ask(name).frame for name in ASKED}
    assert len(passes) > 1
    passes.clear()
    timeline = fresh()
    timeline.ask.prepare(*ASKED)
    assert passes == [{"softirqs", "polls"}]
    for name, frame in alone.items():
        pd.testing.assert_frame_equal(timeline.ask(name).frame, frame)
    assert len(passes) == 1


def test_what_fits_into_memory_is_not_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "together", pytest.fail)
    fresh().ask.prepare("processes")


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(ArgumentError, match="softirq_tim"):
        fresh().ask.prepare("softirq_tim")
