# A timeline that does not fit into memory is read in batches, and its answers are those of one that
# does: frame for frame, whatever size a batch has.

from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.capture import Capture
from netcost_analysis.questions import inputs
from netcost_analysis.questions.ask import questions
from support.kept import kept

# One of a NIC's interrupts, one in which ksoftirqd runs, one of two tasks that talk and are moved.
SAMPLES = (
    "nic-stolen-time",
    "stolen-time-top.netcost.tar.zst",
    "local-migrations.netcost.tar.zst",
)
TOPICS = ("stolen_time", "processes", "migration", "remedies", "tracing_overhead")
ASKED = [
    one.name
    for one in questions().values()
    if one.topic in TOPICS and one.inputs and "Timeline" in one.sources
]
ROWS = 3_000


def fresh(sample: str) -> netcost.Timeline:
    # What a question folded before is kept with its timeline.
    return Capture.timeline(kept(sample))


def told(answer: netcost.Answer[Any]) -> dict[str, Any]:
    if answer.refusal is not None:
        return {"refusal": str(answer.refusal)}
    return {**answer.tables, "words": answer.words}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("sample", SAMPLES)
def test_batches_change_no_answer(sample: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = told(fresh(sample).ask(name))
    # Windows, of questions that go through the capture once for each, hold some of it.
    monkeypatch.setattr(inputs, "_MOST_SEGMENTS", 30_000)
    monkeypatch.setattr(inputs, "fits", lambda timeline: timeline.is_whole is False)
    monkeypatch.setattr(inputs, "_ROWS", ROWS)
    parts = told(fresh(sample).ask(name))
    assert whole.keys() == parts.keys()
    for part, one in whole.items():
        if isinstance(one, pd.DataFrame):
            pd.testing.assert_frame_equal(parts[part], one, check_exact=True, obj=part)
        else:
            assert parts[part] == one
