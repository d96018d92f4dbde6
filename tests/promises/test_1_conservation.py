# Promise 1: each recorded CPU's window is the whole capture, and its segments partition it.

import itertools
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from support.host import Fresh
from support.native_tables import Answer, assert_conserved, by, duration
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.told import IDLE, NET_RX, OPENSSL, UDPSINK, answer


# CPU 0   openssl      |hardirq|  openssl   |        udpsink
#         ^0      ^100         ^130         ^200             (until the capture's end at 900)
# CPU 1   idle             |local_timer|          idle
#                     ^120             ^900
#
# CPU 0's last event is at 200 and CPU 1's first at 120, yet both windows are 100..900: nothing
# recorded means nothing changed.
def test_head_and_tail_carry_what_the_first_and_last_events_witness(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.IrqEntry(100, 32, "virtio2-input.0"),
            h.IrqExit(130, 32),
            h.Switch(200, UDPSINK),
            task=OPENSSL,
        ),
        cpu(1, h.VectorEntry(120), h.VectorExit(900)),
    )
    assert got.window == (100, 900)
    assert got.lane(0, 0, "context", "comm") == [
        (100, 130, "hardirq", "openssl"),
        (130, 200, "task", "openssl"),
        (200, 900, "task", "udpsink"),
    ]
    assert got.lane(1) == [(100, 120, "idle"), (120, 900, "vector")]


# CPU 0   recorded; CPU 1 exists (nr_cpus is 2) but nothing was recorded on it: no rows.
def test_a_cpu_that_was_not_recorded_has_no_rows(tmp_path: Path) -> None:
    got = answer(tmp_path, cpu(0, h.Switch(10, OPENSSL), h.Switch(20, IDLE)))
    assert got.summary["cpus"] == [0]
    assert {row["cpu"] for row in got.segments} == {0}
    assert {row["cpu"] for row in got.sums} == {0}


# 0     10        20  22       30      40        60     70
# |idle |softirq           poll|softirq|
#       |         |hardirq|                                    openssl never runs
def test_softirqs_and_polls_add_up_to_the_segments(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.SoftirqRaise(5, NET_RX),
            h.SoftirqEntry(10, NET_RX),
            h.IrqEntry(20, 32),
            h.IrqExit(22, 32),
            h.NapiPoll(30, "eth0", 8),
            h.SoftirqExit(40, NET_RX),
            h.VectorEntry(60),
            h.VectorExit(70),
        ),
    )
    [softirq], [poll], [hardirq, _] = (
        got.softirqs,
        got.polls,
        sorted(got.hardirqs, key=lambda row: row["entry_ns"]),
    )
    assert (poll["start_ns"], poll["end_ns"], poll["self_ns"]) == (10, 30, 18)
    assert (softirq["self_ns"], softirq["outside_polls_ns"]) == (28, 10)
    assert hardirq["self_ns"] == 2
    contexts = by(got.segments, ("context",), duration)
    assert contexts == {
        ("idle",): 25,
        ("poll",): 18,
        ("softirq",): 10,
        ("hardirq",): 2,
        ("vector",): 10,
    }


# CPU 0  openssl |hardirq|softirq NET_RX: poll, poll   |openssl
#        100     150     160      ^200  ^260            300   400
# A window clips, with the state carried from before it.
@examples(40)
@given(st.lists(st.integers(90, 410), min_size=1, max_size=4))
def test_adjacent_windows_add_up_to_the_whole(fresh: Fresh, cuts: list[int]) -> None:
    path = fresh() / "perf.data"
    recording(
        cpu(
            0,
            h.Waking(100, UDPSINK),
            h.IrqEntry(150, 32),
            h.SoftirqRaise(155, NET_RX),
            h.IrqExit(160, 32),
            h.SoftirqEntry(160, NET_RX),
            h.NapiPoll(200, "eth0", 3),
            h.NapiPoll(260, "eth1", 5, 64, 77),
            h.SoftirqExit(300, NET_RX),
            h.Switch(330, UDPSINK),
            h.Switch(400, OPENSSL),
            task=OPENSSL,
        )
    ).write(path)
    whole = Answer(path)
    edges = sorted({100, 400, *(cut for cut in cuts if 100 < cut < 400)})
    parts = [Answer(path, start_ns=start, end_ns=end) for start, end in itertools.pairwise(edges)]
    for part in parts:
        assert_conserved(part)
    key = ("cpu", "tid", "context", "id", "napi", "cost_class")
    summed = sum(
        (by(part.sums, key, lambda row: row["ns"]) for part in parts), start=by([], key, duration)
    )
    assert summed == by(whole.sums, key, lambda row: row["ns"])
