# A large recording is read once for all that native makes of it for several questions.

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.capture import Capture
from netcost_analysis.errors import ArgumentError
from netcost_analysis.timeline import aggregates as of_aggregates
from netcost_analysis.timeline.group import aggregates
from support.kept import kept
from support.subjects import RECORDINGS

ASKED = ("softirq_time", "softirq_lengths", "poll_sizes", "idle_wakeups", "lifetimes")
LATER = ("handovers",)


def fresh() -> netcost.Timeline:
    return Capture.timeline(kept("nic-stolen-time"), 3.5, 4.0)


# What hangs on others is a pass of its own, for all of them.
def test_aggregates_of_several_questions_share_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = {name: fresh().ask(name).frame for name in (*ASKED, *LATER)}
    asked: list[int] = []

    def noted(of: netcost.Timeline, wanted: Sequence[Any]) -> list[dict[str, Any]]:
        asked.extend([len(wanted)] if wanted else [])
        return aggregates(of, wanted)

    monkeypatch.setattr(of_aggregates, "aggregates", noted)
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


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(ArgumentError, match="softirq_tim"):
        fresh().ask.prepare("softirq_tim")
