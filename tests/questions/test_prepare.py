# A large recording is read once for all that native makes of it for several questions.

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture import recording
from netcost_analysis.capture.capture import Capture
from netcost_analysis.errors import ArgumentError
from netcost_analysis.timeline import group
from netcost_analysis.timeline.tables import Tables
from support.host import SAMPLES
from support.kept import kept
from support.subjects import RECORDINGS

ASKED = ("softirq_time", "softirq_lengths", "poll_sizes", "idle_wakeups", "lifetimes")
LATER = ("handovers",)


def fresh() -> netcost.Timeline:
    # Timelines of one capture share what they have read.
    return netcost.open_capture(SAMPLES / "nic-stolen-time").timeline(3.5, 4.0)


# What hangs on others is a pass of its own, for all of them.
def test_aggregates_of_several_questions_share_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = {name: fresh().ask(name).frame for name in (*ASKED, *LATER)}
    asked: list[int] = []
    aggregates = group.aggregates

    def noted(of: netcost.Timeline, wanted: Sequence[Any]) -> list[dict[str, Any]]:
        asked.extend([len(wanted)] if wanted else [])
        return aggregates(of, wanted)

    monkeypatch.setattr(group, "aggregates", noted)
    timeline = fresh()
    timeline.ask.prepare(*ASKED)
    assert len(asked) == 1
    timeline.ask.prepare(*ASKED, *LATER)
    assert len(asked) == 3
    for name, frame in alone.items():
        pd.testing.assert_frame_equal(timeline.ask(name).frame, frame)
    assert len(asked) == 3


def test_a_question_that_is_refused_keeps_none_from_the_pass() -> None:
    timeline = Capture.timeline(kept(RECORDINGS["nic-guest-6.12"]))
    timeline.ask.prepare("migration", *ASKED)
    assert timeline.ask(ASKED[0]).refusal is None


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The tables of each of the ledger's passes, over captures none of which is small."""
    found: list[list[str]] = []
    read = Tables._pass

    def noted(of: Tables, tables: list[str], **options: Any) -> dict[str, Any]:
        found.append(tables)
        return read(of, tables, **options)

    monkeypatch.setattr(recording, "SMALL", 0)
    monkeypatch.setattr(Tables, "_pass", noted)
    return found


def test_tables_with_few_rows_come_with_the_first_pass(passes: list[list[str]]) -> None:
    timeline = netcost.open_capture(SAMPLES / "local-migrations.netcost.tar.zst").timeline()
    timeline.ask.prepare("migrations", "migration_effect")
    assert len(timeline.ask("migrations").frame)
    assert timeline.holds("coverage")
    assert len(passes) == 1


def test_timelines_of_one_part_share_a_pass(passes: list[list[str]]) -> None:
    capture = netcost.open_capture(SAMPLES / "local-migrations.netcost.tar.zst")
    timeline = capture.timeline()
    # Whoever has counted the events is about to ask for more.
    assert timeline.duration_ns
    assert capture.event_count
    assert capture.whole.duration_ns == timeline.duration_ns
    assert len(passes) == 1


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(ArgumentError, match="softirq_tim"):
        fresh().ask.prepare("softirq_tim")
