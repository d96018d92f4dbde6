# Promise 2: nothing invented. A loss closes what was open, and the gap is unknown.

from pathlib import Path

from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK, answer, irq


# 100       110            300            301        400       500
# openssl   |softirq_entry  (5 events lost) LOST     |hardirq  |
#           |<------- unknown ------------>|openssl  |         |
#
# The softirq may have ended anywhere in the gap: no later exit is matched to its entry.
def test_a_loss_closes_every_open_start_and_its_gap_is_unknown(tmp_path: Path) -> None:
    lost = h.unrecorded(h.SoftirqExit(200, NET_RX)), h.Lost(300, 5)
    before = h.Waking(100, UDPSINK), h.SoftirqEntry(110, NET_RX)
    after = h.Waking(301, UDPSINK), *irq(400, 500)
    got = answer(tmp_path, cpu(0, *before, *lost, *after, task=OPENSSL))
    assert got.lane(0) == [
        (100, 110, "task"),
        (110, 300, "unknown"),
        (300, 400, "task"),
        (400, 500, "hardirq"),
    ]
    assert got.summary["lost_events"] == 5
    [gap] = [row for row in got.coverage if row["lost"]]
    assert (gap["cpu"], gap["start_ns"], gap["end_ns"], gap["lost"]) == (0, 110, 300, 5)


# CPU 0  |...LOST(5)...|  and at the end of the recording LOST_SAMPLES of those five, or of three
# more, of which nobody knows where they were lost.
def test_a_loss_without_a_place_is_counted_once_and_said(tmp_path: Path) -> None:
    placed = h.Waking(100, UDPSINK), h.Lost(200, 5), h.Waking(201, UDPSINK)
    other = cpu(1, h.Waking(100, UDPSINK), h.Waking(300, UDPSINK))
    for unplaced in (0, 3):
        more = (h.Lost(250, unplaced, placed=False),) if unplaced else ()
        got = answer(tmp_path, cpu(0, *placed, *more, h.Waking(300, UDPSINK), task=OPENSSL), other)
        assert got.scan["lost_events"] == 5 + unplaced
        assert got.scan["lost_unplaced"] == got.summary["lost_unplaced"] == unplaced
        assert bool(got.summary["notes"]) == bool(unplaced)


# CPU 0   openssl |... LOST ... |  (openssl migrated away in the gap, udpsink runs)
# CPU 1   idle         |openssl       |
def test_after_a_loss_the_task_is_the_one_that_the_next_event_names(tmp_path: Path) -> None:
    lost = h.unrecorded(h.Switch(150, UDPSINK)), h.Lost(200, 1)
    after = h.Waking(200, OPENSSL), h.Waking(400, OPENSSL)
    got = answer(
        tmp_path,
        cpu(0, h.Waking(100, UDPSINK), *lost, *after, task=OPENSSL),
        cpu(1, h.Switch(250, OPENSSL), h.Waking(400, UDPSINK)),
    )
    lane = [(100, 200, "unknown", None), (200, 400, "task", UDPSINK.tid)]
    assert got.lane(0, 0, "context", "tid") == lane
    assert got.lane(1, 0, "context", "tid") == [(100, 250, "idle", 0), (250, 400, "task", 500)]
