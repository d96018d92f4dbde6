# What a question needs is declared, and a capture without it is told which profile has it.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.requires import (
    PROFILES,
    MissingEventsError,
    few,
    profile_of,
    unrecorded,
)
from netcost_analysis.questions.question import question
from support.host import ROOT
from support.perfdata import recording
from support.perfdata import tracepoints as t
from support.robbed import robbed


@question(topic="batches", needs=("napi:napi_poll", "irq:softirq_entry"))
def polls_of(timeline: netcost.Timeline) -> int:
    return len(timeline.polls)


def without_polls(folder: Path) -> netcost.Capture:
    formats = (t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT, t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT)
    path = recording(robbed(), formats=formats).write(folder / "perf.data")
    return netcost.open_capture(path)


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_is_what_the_kit_records(name: str) -> None:
    text = (ROOT / "capture" / "profiles" / f"{name}.events").read_text()
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    recorded = {word for words in lines for word in words if ":" in word}
    assert set(PROFILES[name]) <= recorded
    # What is not in the table no question may need: vectors of machine errors, packets' side roads.
    rest = recorded - set(PROFILES[name])
    assert all(one.startswith(("irq_vectors:", "xdp:", "sched:sched_")) for one in rest)


def test_the_cheapest_profile_is_named() -> None:
    assert profile_of(("napi:napi_poll",)) == "light"
    assert profile_of(("sched:sched_migrate_task",)) == "migration"
    assert profile_of(("irq_vectors:local_timer_entry",)) == "stolen"
    assert profile_of(("net:netif_receive_skb",)) == "anatomy"
    assert profile_of(("my:event",)) is None


def test_a_capture_without_it_is_told(tmp_path: Path) -> None:
    timeline = without_polls(tmp_path).timeline()
    with pytest.raises(MissingEventsError) as refused:
        polls_of(timeline)
    assert str(refused.value) == (
        "polls_of needs napi:napi_poll: not recorded in this capture; "
        "netcost-record --profile light records them"
    )
    assert refused.value.missing == ("napi:napi_poll",)
    assert isinstance(refused.value, netcost.CaptureError)


# Two or three names that matter: of entry and exit the entry.
def test_many_missing_events_are_not_listed() -> None:
    many = ("irq:softirq_raise", "irq:softirq_entry", "irq:softirq_exit", "sched:sched_switch")
    said = str(MissingEventsError("a question", (*many, "napi:napi_poll")))
    assert said == (
        "a question needs irq:softirq_raise, irq:softirq_entry, sched:sched_switch and 2 more: not "
        "recorded in this capture; netcost-record --profile light records them"
    )
    # Nobody could record by name what is not named.
    assert "my:event" in str(MissingEventsError("a question", (*many, "my:event")))
    assert few(many[:2]) == "irq:softirq_raise and irq:softirq_entry"
    assert few(many[1:]) == "irq:softirq_entry, irq:softirq_exit and sched:sched_switch"


def test_what_it_needs_can_be_asked() -> None:
    assert polls_of.needs == ("napi:napi_poll", "irq:softirq_entry")
    assert polls_of.__name__ == "polls_of"


def test_what_was_recorded_and_never_happened_is_recorded() -> None:
    capture = netcost.open_capture(ROOT / "sample-data" / "veth-stolen-time")
    assert capture.info["events"]["irq_vectors:call_function_entry"] == 0
    assert unrecorded(capture, "irq_vectors:call_function_entry", "napi:napi_poll") == []
