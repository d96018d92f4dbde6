# What a question needs is declared, and a capture without it is told which profile has it.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.answers.answer import Answer
from netcost_analysis.answers.question import question
from netcost_analysis.capture.requires import (
    PROFILES,
    MissingEventsError,
    few,
    profile_of,
    unrecorded,
)
from netcost_analysis.timeline.facts import tracepoint_groups
from support.host import ROOT
from support.perfdata import recording
from support.perfdata import tracepoints as t
from support.told import robbed


@question(topic="batches", needs=("napi:napi_poll", "irq:softirq_entry"))
def polls_of(timeline: netcost.Timeline) -> int:
    return len(timeline.polls)


def without_polls(folder: Path) -> netcost.Capture:
    formats = (t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT, t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT)
    path = recording(robbed(), formats=formats).write(folder / "perf.data")
    return netcost.open_capture(path)


def test_a_profile_is_what_the_kit_records() -> None:
    for name, events in PROFILES.items():
        text = (ROOT / "capture" / "profiles" / f"{name}.events").read_text()
        lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
        recorded = {word for words in lines for word in words if ":" in word}
        assert set(events) <= recorded
        # What is not in the table no question may need: vectors of machine errors, packets' side
        # roads.
        rest = recorded - set(events)
        assert all(one.startswith(("irq_vectors:", "xdp:", "sched:sched_")) for one in rest)


def test_the_cheapest_profile_is_named() -> None:
    assert profile_of(tracepoint_groups(("napi:napi_poll",))) == "light"
    assert profile_of(tracepoint_groups(("sched:sched_migrate_task",))) == "migration"
    assert profile_of(tracepoint_groups(("irq_vectors:local_timer_entry",))) == "stolen"
    assert profile_of(tracepoint_groups(("net:netif_receive_skb",))) == "anatomy"
    assert profile_of(tracepoint_groups(("my:event",))) is None


def test_a_capture_without_it_is_told(tmp_path: Path) -> None:
    timeline = without_polls(tmp_path).timeline()
    with pytest.raises(MissingEventsError) as refused:
        polls_of(timeline)
    assert "polls_of needs napi:napi_poll" in str(refused.value)
    assert (refused.value.missing, refused.value.profile) == (("napi:napi_poll",), "light")
    assert isinstance(refused.value, netcost.CaptureError)


# Two or three names that matter: of entry and exit the entry.
def test_many_missing_events_are_not_listed() -> None:
    many = ("irq:softirq_raise", "irq:softirq_entry", "irq:softirq_exit", "sched:sched_switch")
    told = MissingEventsError("a question", tracepoint_groups((*many, "napi:napi_poll")))
    for fact in ("irq:softirq_raise, irq:softirq_entry, sched:sched_switch", "and 2 more"):
        assert fact in str(told)
    assert told.profile == "light"
    # Nobody could record by name what is not named.
    assert "my:event" in str(
        MissingEventsError("a question", tracepoint_groups((*many, "my:event")))
    )
    assert few(many[:2]) == "irq:softirq_raise and irq:softirq_entry"
    assert few(many[1:]).replace(" and ", ", ").split(", ") == [*many[1:]]


def test_what_was_recorded_and_never_happened_is_recorded() -> None:
    capture = netcost.open_capture(ROOT / "sample-data" / "veth-stolen-time")
    assert capture.info["events"]["irq_vectors:call_function_entry"] == 0
    assert unrecorded(capture, "irq_vectors:call_function_entry", "napi:napi_poll") == []


def test_any_of_some_events_is_enough(tmp_path: Path) -> None:
    @question(topic="batches", needs=("napi:napi_poll", ("interrupts", "softirqs", "my:event")))
    def some(timeline: netcost.Timeline) -> Answer:
        return Answer(number=1)

    def line(*formats: object) -> netcost.Timeline:
        path = recording(robbed(), formats=formats).write(tmp_path / "perf.data")
        return netcost.open_capture(path).timeline()

    assert some(line(t.NAPI_POLL, t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT))["number"] == 1
    assert some(line(t.NAPI_POLL, t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT))["number"] == 1
    with pytest.raises(MissingEventsError) as refused:
        some(line(t.SOFTIRQ_EXIT))
    assert refused.value.profile == "light"
    for fact in (
        "some needs napi:napi_poll",
        "or my:event",
        "irq:softirq_entry and irq:softirq_exit",
    ):
        assert fact in str(refused.value)


def test_why_a_fact_is_not_known(tmp_path: Path) -> None:
    missing = without_polls(tmp_path).timeline().missing
    assert missing["softirqs"] == missing["interrupted"] == missing["clocks"] == ""
    assert missing["polls"].startswith("napi:napi_poll: not recorded")
    assert missing["on_cpu"] == missing["waits"] == missing["displaced"]
    assert missing["on_cpu"].startswith("sched:sched_switch: not recorded")
    # A fact that a question names is asked of the timeline, whatever its headers say.
    doubtful = netcost.open_capture(ROOT / "sample-data" / "veth-stolen-time").timeline()
    why = doubtful.missing._reasons["clocks"] = "their clocks disagree"

    @question(topic="batches", needs=("waits",))
    def waiting(timeline: netcost.Timeline) -> int:
        return 1

    assert doubtful.missing["displaced"] == why
    with pytest.raises(netcost.CaptureError, match=f"waiting: {why}"):
        waiting(doubtful)
