# Switches and waits, on timelines that are drawn and can be added up on paper.

from dataclasses import replace
from pathlib import Path

import pytest

from netcost_analysis.capture.requires import MissingEventsError
from support.asked import client_and_server, context_switches, run_queue
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.timelines import timeline
from support.told import OPENSSL, RCU, UDPSINK

# Preempted, in the recorded format of the written captures.
PREEMPTED = 256


# CPU 0  openssl |preempted: udpsink |sleeps: openssl |its time is up: udpsink |dies: openssl
#                100                 300              500                      700          1000
SWITCHES = (
    h.Waking(50, UDPSINK),
    h.Wakeup(60, UDPSINK),
    h.Switch(100, UDPSINK, PREEMPTED),
    h.Switch(300, OPENSSL, 1),
    h.Waking(400, UDPSINK),
    h.Wakeup(410, UDPSINK),
    h.Switch(500, UDPSINK, 0),
    h.Switch(700, OPENSSL, 32),
    h.SoftirqRaise(1_000, RCU),
)


def test_switches(tmp_path: Path) -> None:
    rows = context_switches(timeline(tmp_path, cpu(0, *SWITCHES, task=OPENSSL)))
    counts = rows.set_index("comm")[["switches", "voluntary", "involuntary", "undecided"]]
    assert counts.loc["openssl"].tolist() == [2, 0, 2, 0]
    assert counts.loc["udpsink"].tolist() == [2, 2, 0, 0]
    # The window is 50 to 1,000 ns.
    assert rows["switches_per_s"].tolist() == pytest.approx([2 / 950e-9] * 2)


def test_waits(tmp_path: Path) -> None:
    rows = run_queue(timeline(tmp_path, cpu(0, *SWITCHES, task=OPENSSL)))
    found = {
        (row.comm, row.waited_after): (row.waits, row.ns, row.median_ns, row.longest_ns)
        for row in rows.itertuples()
        if row.waited_after != "unknown"
    }
    assert found == {
        # From the wake-up at 60 and 410.
        ("udpsink", "wake-up"): (2, 130, 65.0, 90),
        ("openssl", "runnable"): (2, 400, 200.0, 200),
    }
    first = rows[rows["waited_after"] == "unknown"]
    assert first["comm"].tolist() == ["openssl"]
    assert first["ns"].isna().all()
    assert first["median_ns"].isna().all()


# The same switch-outs with the bit that older kernels had for "preempted": who waits next decides.
@pytest.mark.parametrize("bit", [0x200, 0x1000])
def test_the_preempted_bit_of_older_kernels(tmp_path: Path, bit: int) -> None:
    text = t.SCHED_SWITCH.print_fmt
    mask = text[
        text.index("REC->prev_state & (") + len("REC->prev_state & ") : text.index(" - 1))")
    ]
    old = replace(t.SCHED_SWITCH, print_fmt=text.replace(mask.removeprefix("("), hex(bit)))
    formats = tuple(old if one is t.SCHED_SWITCH else one for one in t.FORMATS)
    told = [
        replace(one, prev_state=bit) if isinstance(one, h.Switch) and one.at == 100 else one
        for one in SWITCHES
    ]
    made = timeline(tmp_path, cpu(0, *told, task=OPENSSL), formats=formats)
    rows = context_switches(made).set_index("comm")
    assert rows.loc["openssl", ["voluntary", "involuntary", "undecided"]].tolist() == [0, 2, 0]


# Who does not run again in the recording: nothing says what its state was.
def test_a_state_that_nothing_decides(tmp_path: Path) -> None:
    told = [h.Waking(50, UDPSINK), h.Switch(100, UDPSINK, PREEMPTED), h.SoftirqRaise(900, RCU)]
    rows = context_switches(timeline(tmp_path, cpu(0, *told, task=OPENSSL)))
    assert rows[["comm", "undecided"]].to_numpy().tolist() == [["openssl", 1]]


# After a loss nobody knows who waited since when.
def test_waits_across_a_loss_are_unknown(tmp_path: Path) -> None:
    told = [
        h.Wakeup(60, UDPSINK),
        h.Lost(200, 7),
        h.Switch(300, UDPSINK, PREEMPTED),
        h.Switch(400, OPENSSL, 1),
        h.SoftirqRaise(900, RCU),
    ]
    rows = run_queue(timeline(tmp_path, cpu(0, *told, task=OPENSSL)))
    found = rows.set_index(["comm", "waited_after"])["waits"].to_dict()
    assert ("udpsink", "wake-up") not in found
    assert found[("udpsink", "unknown")] == 1


# Nobody talks: those are told of who switched most, and waited longest.
def test_figures_of_switches_and_waits(tmp_path: Path) -> None:
    ask = timeline(tmp_path, cpu(0, *SWITCHES, task=OPENSSL)).ask.processes
    switched = ask.context_switches()["tasks"].set_index("comm")
    assert switched.loc["openssl", "involuntary"] == switched.loc["udpsink", "voluntary"] == 2
    waited = ask.run_queue()["tasks"][["comm", "waited_after", "ns"]]
    assert waited.to_numpy().tolist() == [["openssl", "runnable", 400], ["udpsink", "wake-up", 130]]
    assert ask.context_switches(by="cpu").words.strip() == ""
    assert ask.run_queue(by="cpu").words.strip() == ""


# At 250 after the start there is a switch: it is the second part's.
def test_windows_add_up(tmp_path: Path) -> None:
    whole = timeline(tmp_path, cpu(0, *SWITCHES, task=OPENSSL))
    for cut in (4e-7, 2.5e-7):
        parts = [whole.capture.timeline(0, cut), whole.capture.timeline(cut, None)]
        for question, column in ((context_switches, "switches"), (run_queue, "ns")):
            added = sum(question(one)[column].sum() for one in parts)
            assert added == question(whole)[column].sum()


def test_what_was_not_recorded_is_named(tmp_path: Path) -> None:
    made = timeline(tmp_path, cpu(0, *SWITCHES, task=OPENSSL), formats=t.IRQ_FORMATS)
    for question in (context_switches, run_queue, client_and_server):
        with pytest.raises(MissingEventsError, match="sched:sched_switch"):
            question(made)


def test_nothing_happened(tmp_path: Path) -> None:
    ask = timeline(tmp_path, cpu(0, h.SoftirqRaise(5, RCU), task=OPENSSL)).ask
    names = ("softirq_time", "context_switches", "traffic_owners", "traffic_pairs", "migrations")
    for name in names:
        assert ask(name).frame.empty
        assert ask(name).words
    assert ask("run_queue").frame["ns"].isna().all()
    assert ask.migration.migration_verdict()["at_horizon"].empty
