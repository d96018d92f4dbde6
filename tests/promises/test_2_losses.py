# Promise 2: nothing invented. A loss closes what was open, and the gap is unknown.

from pathlib import Path

from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK, answer


# 100       110            300            301        400       500
# openssl   |softirq_entry  (5 events lost) LOST     |hardirq  |
#           |<------- unknown ------------>|openssl  |         |
#
# The softirq that was open may have ended anywhere in the gap: its start is thrown away, and no
# later exit is matched to it.
def test_a_loss_closes_every_open_start_and_its_gap_is_unknown(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Waking(100, UDPSINK),
            h.SoftirqEntry(110, NET_RX),
            h.unrecorded(h.SoftirqExit(200, NET_RX)),
            h.Lost(300, 5),
            h.Waking(301, UDPSINK),
            h.IrqEntry(400, 32),
            h.IrqExit(500, 32),
            task=OPENSSL,
        ),
    )
    assert got.lane(0) == [
        (100, 110, "task"),
        (110, 300, "unknown"),
        (300, 400, "task"),
        (400, 500, "hardirq"),
    ]
    assert got.summary["lost_events"] == 5
    [gap] = [row for row in got.coverage if row["lost"]]
    assert (gap["cpu"], gap["start_ns"], gap["end_ns"], gap["lost"]) == (0, 110, 300, 5)


# CPU 0  |...LOST(5)...|      and at the end of the recording LOST_SAMPLES(5): the same five.
def test_lost_and_lost_samples_are_not_counted_twice(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(0, h.Waking(100, UDPSINK), h.Lost(200, 5), h.Waking(201, UDPSINK), task=OPENSSL),
        cpu(1, h.Waking(100, UDPSINK), h.Waking(300, UDPSINK)),
    )
    assert got.scan["lost_events"] == 5
    assert (got.scan["lost_unplaced"], got.summary["lost_unplaced"]) == (0, 0)


# CPU 0  |...LOST(5)...|  and LOST_SAMPLES(8): three more were lost, nobody knows where.
def test_a_remainder_without_a_place_is_counted_and_said(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Waking(100, UDPSINK),
            h.Lost(200, 5),
            h.Waking(201, UDPSINK),
            h.Lost(250, 3, placed=False),
            h.Waking(300, UDPSINK),
            task=OPENSSL,
        ),
    )
    assert got.scan["lost_events"] == 8
    assert (got.scan["lost_unplaced"], got.summary["lost_unplaced"]) == (3, 3)
    assert got.summary["notes"], "figures without a known error deserve a word"


# CPU 0   openssl |... LOST ... |  (openssl migrated away in the gap, udpsink runs)
# CPU 1   idle         |openssl       |
#
# After a loss the running task is whoever the next event names, not whoever ran before it.
def test_after_a_loss_the_task_is_the_one_that_the_next_event_names(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Waking(100, UDPSINK),
            h.unrecorded(h.Switch(150, UDPSINK)),
            h.Lost(200, 1),
            h.Waking(200, OPENSSL),
            h.Waking(400, OPENSSL),
            task=OPENSSL,
        ),
        cpu(1, h.Switch(250, OPENSSL), h.Waking(400, UDPSINK)),
    )
    assert got.lane(0, 0, "context", "tid") == [
        (100, 200, "unknown", None),
        (200, 400, "task", UDPSINK.tid),
    ]
    assert got.lane(1, 0, "context", "tid") == [(100, 250, "idle", 0), (250, 400, "task", 500)]
