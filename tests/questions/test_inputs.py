# What questions read of a timeline, and that they read no more than that.

from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.answers.registry import questions
from netcost_analysis.capture.capture import Capture
from netcost_analysis.plots import painting
from netcost_analysis.timeline import reading
from netcost_analysis.timeline.aggregates import IN_BINS, Aggregate
from support.energy_bundles import kept_energy
from support.host import SAMPLES
from support.kept import kept

NIC = "nic-stolen-time"
OWN = {name: one for name, one in questions().items() if "Timeline" in one.sources}


# A timeline of its own: what a question folded before is kept with its timeline.
def fresh(name: str = "") -> netcost.Timeline:
    # No sample has an energy meter.
    is_metered = name in OWN and "Bundle" in OWN[name].sources and OWN[name].topic == "energy"
    is_sampled = name in OWN and OWN[name].topic == "functions"
    sample = "stolen-time-functions.netcost.tar.zst" if is_sampled else NIC
    # No two tasks talk to each other in that one.
    if name == "client_and_server":
        sample = "local-migrations.netcost.tar.zst"
    if name in OWN and OWN[name].topic == "devices":
        # They ask windows between readings of counters, which are kept with their capture.
        return netcost.open_capture(SAMPLES / sample).timeline()
    if is_metered:
        return Capture.timeline(kept(kept_energy()[0]))
    # A window that the victim's run lies in has all that is read, but for counters: these were read
    # at the ends.
    part = sample == NIC and name not in ("", "squeezes")
    return Capture.timeline(kept(sample), *((3.4, 4.7) if part else ()))


# What a question and those it builds on read is declared.
@pytest.mark.parametrize("name", OWN)
def test_what_is_read_is_declared(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    timeline, read, counted = fresh(name), set[str](), set[Aggregate[Any]]()
    whole, count, sums = reading.whole, Aggregate.__call__, netcost.Timeline.sums

    def noted(of: netcost.Timeline, *tables: str) -> tuple[Any, ...]:
        # Windows are parts that it chose.
        if of in (timeline, timeline.excerpt):
            read.update(tables)
        return whole(of, *tables)

    def grouped(of: Aggregate[Any], rows: netcost.Timeline, wanted: Any = None) -> Any:
        # Those of devices are asked of windows of it.
        if rows.capture is timeline.capture:
            counted.add(of)
        return count(of, rows, wanted)

    def summed(of: netcost.Timeline, bin_ns: int | None = None) -> Any:
        if bin_ns is not None and of.capture is timeline.capture:
            counted.add(IN_BINS)
        return sums(of, bin_ns)

    monkeypatch.setattr(netcost.Timeline, "sums", summed)
    monkeypatch.setattr(Aggregate, "__call__", grouped)
    monkeypatch.setattr(reading, "whole", noted)
    monkeypatch.setattr(painting, "painted", lambda figure: b"")
    answer = timeline.ask(name)
    assert read == set(OWN[name].tables)
    # Its pictures and words ask for groups too.
    if answer.refusal is None:
        assert isinstance(answer.words, str)
        list(answer.evidence())
    # It asks what the questions that it names ask.
    if name != "unanswered":
        assert counted == set(OWN[name].grouped)


# What would not fit into memory is read window by window, and never whole.
@pytest.mark.parametrize("name", ["episodes", "handovers", "idle_wakeups", "lifetimes"])
def test_a_large_timeline_is_not_read_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    timeline, read, load = fresh(), set[str](), netcost.Timeline.load

    def noted(of: netcost.Timeline, *tables: str) -> netcost.Timeline:
        # What a pass brought besides is there already.
        if of is timeline:
            read.update(table for table in tables if not of.holds(table))
        return load(of, *tables)

    monkeypatch.setattr(reading, "_MOST_SEGMENTS", 2_000)
    monkeypatch.setattr(netcost.Timeline, "load", noted)
    assert timeline.ask(name).refusal is None
    assert read <= {"displaced"}


class _Source:
    pass


def test_what_is_kept_is_known_with_its_defaults_given_or_left_out() -> None:
    asked = []

    @reading.once
    def answered(source: _Source, by: str = "comm", victim: str | None = None) -> int:
        asked.append((by, victim))
        return len(asked)

    one, other = _Source(), _Source()
    assert answered(one) == answered(one, "comm") == answered(one, victim=None, by="comm") == 1
    assert answered(one, victim="x") == answered(one, "comm", "x") == 2
    assert answered(other) == 3
