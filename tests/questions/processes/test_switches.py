# Switches, waits and their rates, on timelines that are drawn and can be added up on paper.

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.requires import MissingEventsError
from support.asked import client_and_server, context_switches, run_queue
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.talking import Talk
from support.told import OPENSSL, RCU, UDPSINK, timeline

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


@pytest.fixture
def drawn(tmp_path: Path) -> netcost.Timeline:
    return timeline(tmp_path, cpu(0, *SWITCHES, task=OPENSSL))


def test_switches(drawn: netcost.Timeline) -> None:
    answer = drawn.ask.processes.context_switches()
    counts = answer.frame.set_index("comm")[["switches", "voluntary", "involuntary", "undecided"]]
    assert counts.loc["openssl"].tolist() == [2, 0, 2, 0]
    assert counts.loc["udpsink"].tolist() == [2, 2, 0, 0]
    # The window is 50 to 1,000 ns.
    assert answer.frame["switches_per_s"].tolist() == pytest.approx([2 / 950e-9] * 2)
    # Nobody talks: told are those that switched most.
    assert set(answer["tasks"]["comm"]) == {"openssl", "udpsink"}
    assert drawn.ask.processes.context_switches(by="cpu").words.strip() == ""


def test_waits(drawn: netcost.Timeline) -> None:
    answer = drawn.ask.processes.run_queue()
    columns = ["comm", "waited_after", "waits", "ns", "median_ns", "longest_ns"]
    known = answer.frame[answer.frame["waited_after"] != "unknown"]
    assert known[columns].to_numpy().tolist() == [
        ["openssl", "runnable", 2, 400, 200.0, 200],
        # From the wake-up at 60 and 410.
        ["udpsink", "wake-up", 2, 130, 65.0, 90],
    ]
    assert answer["tasks"][columns].equals(known[columns])
    [first] = answer.frame[answer.frame["waited_after"] == "unknown"].to_dict("records")
    assert first["comm"] == "openssl"
    assert pd.isna([first["ns"], first["median_ns"], first["longest_ns"]]).all()
    assert drawn.ask.processes.run_queue(by="cpu").words.strip() == ""


# The same switch-outs with the bit that older kernels had for "preempted": who waits next decides.
@pytest.mark.parametrize("bit", [0x200, 0x1000])
def test_the_preempted_bit_of_older_kernels(tmp_path: Path, bit: int) -> None:
    text = t.SCHED_SWITCH.print_fmt
    mask = text.partition("REC->prev_state & (")[2].partition(" - 1))")[0]
    old = replace(t.SCHED_SWITCH, print_fmt=text.replace(mask, hex(bit)))
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
    waits = rows.set_index(["comm", "waited_after"])["waits"].to_dict()
    assert ("udpsink", "wake-up") not in waits
    assert waits[("udpsink", "unknown")] == 1


# At 250 after the start there is a switch: it is the second part's.
def test_windows_add_up(drawn: netcost.Timeline) -> None:
    for cut in (4e-7, 2.5e-7):
        parts = [drawn.capture.timeline(0, cut), drawn.capture.timeline(cut, None)]
        for question, column in ((context_switches, "switches"), (run_queue, "ns")):
            added = sum(question(one)[column].sum() for one in parts)
            assert added == question(drawn)[column].sum()


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


def test_rates_of_client_server_and_others(tmp_path: Path) -> None:
    talk = Talk(packets=1_000, hog_every=10, hog_ns=10_000, sleep_every=50, asleep_ns=4_000)
    answer = netcost.open_capture(talk.write(tmp_path / "a.data")).ask.processes.scheduler_rates()
    rows = answer.frame.set_index("side")
    seconds = (1_000 * 10_000 + 100 * 10_000 + 20 * 4_000) / 1e9
    rates = ["voluntary_per_s", "involuntary_per_s", "wake_ups_per_s"]
    assert rows.index.to_list() == ["client", "server", "other"]
    for side, counts in (("client", (20, 100, 20)), ("server", (1_000, 0, 1_000))):
        expected = [count / seconds for count in counts]
        assert rows.loc[side, rates].astype(float).to_list() == pytest.approx(expected, rel=1e-3)
    assert rows.loc["client", "runnable_wait_ns"] == 100 * 10_000
    assert rows.loc["client", "woken_wait_ns"] == 20 * 200
    assert rows.loc["server", "woken_wait_ns"] == 1_000 * 20
    assert rows["tasks"].to_list() == [1, 1, 1]
