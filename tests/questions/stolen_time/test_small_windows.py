# Windows of some microseconds: what is said of them lies in them, and nothing is warned of.

import warnings

import matplotlib.pyplot as plt
import pytest

from netcost_analysis import Capture
from support.kept import kept

STARTS = (0.1, 0.3, 0.51234, 0.7001)


@pytest.mark.parametrize("start_s", STARTS)
def test_an_example_lies_in_its_window(start_s: float) -> None:
    for width_s in (5e-6, 10e-6, 40e-6):
        window = Capture.timeline(kept("nic-stolen-time"), start_s, start_s + width_s)
        answer = window.ask.stolen_time.example()
        if answer["cpu"] is None:
            continue
        start_ns, end_ns = (int(window.summary[name]) for name in ("start_ns", "end_ns"))
        assert start_ns <= answer["first_ns"] <= answer["last_ns"] <= end_ns
        assert answer["in_all"]["span_ns"] <= window.duration_ns
        assert ("reaches out" in answer.words) == answer["cut"]
        assert answer["cut"] or len(answer["kinds"])


# Every picture of every question that draws a moment.
@pytest.mark.parametrize(
    ("start_s", "name"),
    list(zip(STARTS, ("example", "episodes", "over_time", "example"), strict=True)),
)
def test_no_picture_of_it_warns(start_s: float, name: str) -> None:
    window = Capture.timeline(kept("nic-stolen-time"), start_s, start_s + 10e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = list(window.ask(name).evidence())
    plt.close("all")
    assert isinstance(shown, list)


# What was counted is of the whole capture, and its notes say so in a window alone.
def test_notes_of_counts_are_of_the_whole_capture() -> None:
    capture = kept("nic-stolen-time")
    window = capture.timeline(0.3, 0.3 + 10e-6)
    counted = [note for note in window.notes if note.startswith("of the whole")]
    assert counted
    assert not [note for note in window.notes if note[0].isdigit()]
    whole = capture.timeline().notes
    assert {note.partition(": ")[2] for note in counted} <= set(whole)
    assert not [note for note in whole if note.startswith("of the whole")]
