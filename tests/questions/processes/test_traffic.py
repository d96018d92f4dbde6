# Whose traffic softirqs were, in batches of any size, against all events and softirqs at once.

from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture import capture as captures
from netcost_analysis.questions.processes import evidence as e
from netcost_analysis.questions.processes import recorded as r
from netcost_analysis.questions.processes import traffic as t
from netcost_analysis.questions.processes.packets import ENDS, Packets, packets_in
from netcost_analysis.questions.processes.traffic_parts import (
    longest_names,
    parts_of,
    renamed,
    softirq_rows,
)
from netcost_analysis.questions.processes.witnesses import Sources, Witnesses
from netcost_analysis.timeline import reading
from support.host import SAMPLES

# The last packets of the one are at addresses that nobody used again; the other's are copied.
CAPTURES = (
    SAMPLES / "local-regression-traced" / "loopback-udp-defer0-rpson-twocpu-1.netcost.tar.zst",
    SAMPLES / "flows" / "tcp-flows2-1.netcost.tar.zst",
)
WINDOWS = ((0.1, None, None), (0.1, 0.18, [1]))


def at_once(timeline: netcost.Timeline) -> t.Traffic:
    found: dict[r.Event, pd.DataFrame] = {}
    for events in r.stream(timeline.capture, r.told(timeline.capture)):
        for event, rows in events.items():
            found[event] = pd.concat([found.get(event, rows[:0]), rows], ignore_index=True)

    def of(event: r.Event) -> pd.DataFrame:
        return found.get(event, r.empty())

    packets, taken = Packets(), pd.concat([of(event) for event in r.TAKEN], ignore_index=True)
    told = packets.add(of(r.RECEIVED), of(r.QUEUED), taken, of(r.FREED))
    receipts = pd.concat([told, packets.rest()], ignore_index=True)
    softirqs = timeline.softirqs.reset_index(drop=True)
    inside = {
        event: of(event)[of(event)["cpu"].isin(timeline.summary["cpus"])]
        for event in (r.RECEIVED, r.WOKEN, r.READY)
    }
    frame = e.units(softirqs, inside[r.RECEIVED])
    woken = e.woken_in(frame, softirqs, e.of_clients(inside[r.WOKEN]))
    sockets = e.sockets_in(frame, softirqs, inside[r.READY])
    owners = e.owners_of(e.announced(sockets, woken))
    rows = softirq_rows(softirqs, timeline.polls)
    ends = packets_in(frame, receipts)[[*ENDS]]
    parts = parts_of(rows, frame, ends, e.with_sockets(woken, sockets, owners))
    return t.summed(renamed(parts, longest_names(timeline.sums())), rows)


def assert_same(found: t.Traffic, expected: t.Traffic) -> None:
    for one, other in zip(found, expected, strict=True):
        pd.testing.assert_frame_equal(one, other, check_dtype=False)


@pytest.mark.parametrize(
    ("place", "window", "are_small"),
    [(0, WINDOWS[0], True), (1, WINDOWS[1], False), (1, WINDOWS[1], True)],
    ids=["its end", "part", "copied"],
)
def test_batches_are_all_of_it(
    place: int, window: tuple[Any, ...], are_small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = netcost.open_capture(CAPTURES[place])
    expected = at_once(capture.timeline(*window))
    if are_small:
        monkeypatch.setattr(captures, "EVENTS_AT_ONCE", 2_000)
        monkeypatch.setattr(r, "_SMALL", 0)
        monkeypatch.setattr(reading, "_MOST_SEGMENTS", 1_000)
        monkeypatch.setattr(reading, "_ROWS", 5_000)
        monkeypatch.setattr(t, "_AT_ONCE", 700)
    assert_same(t.traffic(capture.timeline(*window)), expected)


def test_who_was_interrupted_may_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    capture = netcost.open_capture(CAPTURES[0])
    expected = at_once(capture.timeline(0, 0.02))
    monkeypatch.setattr(captures, "EVENTS_AT_ONCE", 5_000)
    monkeypatch.setattr(r, "_SMALL", 0)
    timeline, shown, over = capture.timeline(0, 0.02), r.in_columns, t._Summed.over

    def interrupted(*_: Any) -> pd.DataFrame:
        monkeypatch.setattr(r, "in_columns", shown)
        raise KeyboardInterrupt

    def last_part(summed: Any) -> t.Traffic:
        monkeypatch.setattr(t._Summed, "over", over)
        monkeypatch.setattr(r, "in_columns", interrupted)
        return over(summed)

    monkeypatch.setattr(t._Summed, "over", last_part)
    with pytest.raises(KeyboardInterrupt):
        t.traffic(timeline)
    assert_same(t.traffic(timeline), expected)


def test_times_are_compared_to_the_nanosecond() -> None:
    at_ns = 1_700_000_000_000_000_001
    capture = netcost.open_capture(CAPTURES[0])
    near = Witnesses(Sources(capture, [], r.WOKEN, False, [0, 1], 0))
    near._exits = pd.Series([at_ns], index=[0])
    rows = pd.DataFrame({"time_ns": [at_ns, at_ns + 1, at_ns], "cpu": [0, 0, 1]})
    # Of a CPU without any exit all is open.
    assert near._open(rows).index.tolist() == [1, 2]
