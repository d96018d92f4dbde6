# Promise 1: each recorded CPU's window is the whole capture, and its segments partition it. That
# well-formed timelines have the right segments: tests/ledger/test_reference.py.

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.host import Fresh, examples
from support.native_tables import Answer, assert_conserved, by
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.told import IDLE, OPENSSL, UDPSINK, answer, irq, raised


# Nothing recorded means that nothing changed: CPU 1 was idle from the first event of any CPU on.
def test_every_window_is_the_captures_and_other_cpus_have_no_rows(tmp_path: Path) -> None:
    recorded = cpu(0, *irq(100, 130), h.Switch(200, UDPSINK), task=OPENSSL)
    got = answer(tmp_path, recorded, cpu(1, h.VectorEntry(120), h.VectorExit(900)))
    assert got.window == (100, 900)
    assert got.lane(0, 0, "context", "comm")[-1] == (200, 900, "task", "udpsink")
    assert got.lane(1) == [(100, 120, "idle"), (120, 900, "vector")]
    got = answer(tmp_path, cpu(0, h.Switch(10, OPENSSL), h.Switch(20, IDLE)))
    assert got.summary["cpus"] == [0]
    assert {row["cpu"] for row in (*got.segments, *got.sums)} == {0}


# CPU 0  openssl |hardirq|softirq NET_RX: poll, poll   |openssl
#        100     150     160      ^200  ^260            300   400
# A window clips, with the state from before it.
@examples(40)
@given(st.lists(st.integers(101, 399), min_size=1, max_size=4))
def test_adjacent_windows_add_up_to_the_whole(fresh: Fresh, cuts: list[int]) -> None:
    path = fresh() / "perf.data"
    polls = h.NapiPoll(200, "eth0", 3), h.NapiPoll(260, "eth1", 5, 64, 77)
    happenings = (*irq(150, 160), *raised(160, 160, 300, *polls), h.Switch(330, UDPSINK))
    ends = h.Waking(100, UDPSINK), h.Switch(400, OPENSSL)
    recording(cpu(0, ends[0], *happenings, ends[1], task=OPENSSL)).write(path)
    key = ("cpu", "tid", "context", "id", "napi", "cost_class")
    summed = Counter[tuple[Any, ...]]()
    for start, end in itertools.pairwise(sorted({100, 400, *cuts})):
        part = Answer(path, start_ns=start, end_ns=end)
        assert_conserved(part)
        summed += by(part.sums, key, lambda row: row["ns"])
    assert summed == by(Answer(path).sums, key, lambda row: row["ns"])
