# Promise 5: within a CPU's ring, file order is kept (tests/ledger/test_reference.py, with ties and
# rings that interleave), and what perf wrote twice is counted once.

from pathlib import Path

from support.native_tables import events
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.told import OPENSSL, UDPSINK, answer, raised, softirq


# flush 1: ... entry(100)  exit(130)            <- perf's read of the ring ends here
# flush 2: entry(100)  exit(130)  entry(200) ...  <- and the tail of the first is written once more
def test_a_repeat_at_a_flush_is_counted_once_and_kept_in_events(tmp_path: Path) -> None:
    first = *raised(90, 100, 130), h.Flush(131, repeat=2)
    second = *raised(190, 200, 230), h.Flush(231), h.Waking(300, UDPSINK)
    repeating = cpu(0, *first, *second, task=OPENSSL)
    other = cpu(1, h.Waking(95, UDPSINK), h.Flush(132), h.Waking(250, UDPSINK))
    got = answer(tmp_path, repeating, other)
    assert got.summary["repeats_dropped"] == 2
    rows = [(row["entry_ns"], row["exit_ns"], row["self_ns"]) for row in got.softirqs]
    assert rows == [(100, 130, 30), (200, 230, 30)]
    assert got.summary["disagreements"] == 0
    kept = events(recording(repeating, other).write(tmp_path / "again.data"), "irq:softirq_exit")
    assert [row["time_ns"] for row in kept] == [130, 130, 230]


# Two equal records inside one flush are two events, as a frozen clock makes them.
def test_equal_records_that_are_no_repeat_of_a_flush_stay(tmp_path: Path) -> None:
    polls = (h.NapiPoll(100, "eth0", 64),) * 2
    happenings = *softirq(100, 100, *polls), h.Flush(101), h.Waking(200, UDPSINK)
    got = answer(tmp_path, cpu(0, *happenings, task=OPENSSL))
    assert got.summary["repeats_dropped"] == 0
    assert len(got.polls) == 2
