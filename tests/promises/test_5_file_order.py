# Promise 5: within a CPU's ring, file order is kept, and what perf wrote twice is counted once.

from pathlib import Path

from support.native_tables import events
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK, answer


# Measured: an unstable guest clock froze for 31 consecutive events. All of these stand at 200:
#
# |irq entry, raise, irq exit, softirq entry, poll, exit| x 4, then 31 events with one timestamp.
#
# A sort that reorders ties would see exits before entries, and a context left open.
def test_ties_keep_their_order(tmp_path: Path) -> None:
    frozen = [
        one
        for _ in range(5)
        for one in (
            h.IrqEntry(200, 32),
            h.SoftirqRaise(200, NET_RX),
            h.IrqExit(200, 32),
            h.SoftirqEntry(200, NET_RX),
            h.NapiPoll(200, "eth0", 1),
            h.SoftirqExit(200, NET_RX),
        )
    ]
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Waking(100, UDPSINK),
            *frozen,
            h.Switch(200, UDPSINK),
            h.Switch(300, OPENSSL),
            task=OPENSSL,
        ),
        cpu(1, h.Waking(150, UDPSINK)),
    )
    assert got.lane(0, 0, "context", "tid") == [(100, 200, "task", 500), (200, 300, "task", 600)]
    assert len(got.softirqs) == len(got.polls) == len(got.hardirqs) == 5
    assert got.summary["disagreements"] == 0
    assert {row["origin"] for row in got.softirqs} == {"irq"}


# flush 1: ... entry(100)  exit(130)            <- perf's read of the ring ends here
# flush 2: entry(100)  exit(130)  entry(200) ...  <- and the tail of the first is written once more
def test_a_repeat_at_a_flush_is_counted_once_and_kept_in_events(tmp_path: Path) -> None:
    told = cpu(
        0,
        h.SoftirqRaise(90, NET_RX),
        h.SoftirqEntry(100, NET_RX),
        h.SoftirqExit(130, NET_RX),
        h.Flush(131, repeat=2),
        h.SoftirqRaise(190, NET_RX),
        h.SoftirqEntry(200, NET_RX),
        h.SoftirqExit(230, NET_RX),
        h.Flush(231),
        h.Waking(300, UDPSINK),
        task=OPENSSL,
    )
    other = cpu(1, h.Waking(95, UDPSINK), h.Flush(132), h.Waking(250, UDPSINK))
    got = answer(tmp_path, told, other)
    assert got.summary["repeats_dropped"] == 2
    assert [(row["entry_ns"], row["exit_ns"], row["self_ns"]) for row in got.softirqs] == [
        (100, 130, 30),
        (200, 230, 30),
    ]
    assert got.summary["disagreements"] == 0
    kept = events(recording(told, other).write(tmp_path / "again.data"), "irq:softirq_exit")
    assert [row["time_ns"] for row in kept] == [130, 130, 230]


# flush 1: raise(100)  raise(100)      two equal records inside one flush are two events,
# flush 2: raise(200)                  as a frozen clock makes them
def test_equal_records_that_are_no_repeat_of_a_flush_stay(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.SoftirqEntry(100, NET_RX),
            h.NapiPoll(100, "eth0", 64),
            h.NapiPoll(100, "eth0", 64),
            h.SoftirqExit(100, NET_RX),
            h.Flush(101),
            h.Waking(200, UDPSINK),
            task=OPENSSL,
        ),
    )
    assert got.summary["repeats_dropped"] == 0
    assert len(got.polls) == 2


# Two rings, one file: perf writes CPU 0's share of a round and then CPU 1's, so times jump back
# between CPUs; only the order within a CPU means anything.
def test_rings_interleave_without_disturbing_each_other(tmp_path: Path) -> None:
    lanes = []
    for order in (0, 1):
        cpus = [
            cpu(
                0,
                h.SoftirqEntry(100, NET_RX),
                h.Flush(150),
                h.SoftirqExit(300, NET_RX),
                task=OPENSSL,
            ),
            cpu(
                1,
                h.SoftirqEntry(120, 1),
                h.SoftirqExit(140, 1),
                h.Flush(150),
                h.Waking(310, UDPSINK),
            ),
        ]
        (tmp_path / str(order)).mkdir()
        got = answer(tmp_path / str(order), *(cpus if order == 0 else reversed(cpus)))
        lanes.append((got.lane(0), got.lane(1)))
    assert lanes[0] == lanes[1]
    assert lanes[0][0] == [(100, 300, "softirq"), (300, 310, "task")]
