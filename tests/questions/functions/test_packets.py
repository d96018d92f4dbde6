# What each packet cost, of described samples between two readings of an interface's counters.

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis import open_capture
from netcost_analysis.capture.capture import Capture
from netcost_analysis.errors import ArgumentError
from support.counter_captures import MS, bundle_of
from support.device_bundles import bundle, net_dev
from support.perfdata import Attr, cpu
from support.perfdata import happenings as h
from support.stacks import CLOCK, CYCLES, Stack, capture_of, stack
from support.told import NET_RX, OPENSSL

TIMED = replace(CLOCK, clock="monotonic")
COUNTED = net_dev(eth0=(2_500_000, 1_010, 500, 5), lo=(9, 9_000, 9, 9_000))


# CPU 0 copies for a quarter, receives for a half, and does another thing for a quarter; CPU 1 is in
# a program. Of 4 s only those between 1 s and 3 s count.
def told(other: str = "default_idle") -> list[Stack]:
    paths = ["_copy_to_iter", "tcp_v4_rcv", "tcp_v4_rcv", other]
    samples = [
        stack(paths[number % 4], time_ns=number * 10 * MS, period=10 * MS) for number in range(400)
    ]
    return samples + [replace(one, frames=(), cpu=1) for one in samples]


def recorded(
    folder: Path, *stacks: Stack, attr: Attr = TIMED, after: str = COUNTED, **files: str
) -> Capture:
    texts = {"after/net_dev": after, **files}
    return bundle_of(folder, *(stacks or told()), attrs_=[attr], **texts)


def test_the_samples_between_two_readings_over_the_packets_between_them(tmp_path: Path) -> None:
    answer = recorded(tmp_path).ask.functions.packet_components()
    assert (answer["device"], answer["direction"], answer["packets"]) == ("eth0", "rx", 1_000)
    assert answer["packet_bytes"] == 2_500
    rows = answer.frame.set_index("component")
    assert "idle" not in rows.index
    # 200 samples a CPU lie there, a quarter of them copy: 50 of 10 ms over 1,000 packets.
    assert rows.loc[["copy", "TCP"], "weight_per_packet"].tolist() == [500_000, 1_000_000]
    copy = rows.loc["copy"]
    assert copy["samples"] == 50
    assert copy["weight_per_kib"] == pytest.approx(50 * 10 * MS / (2_500_000 / 1024))
    # Poisson of 50: 37.9 to 65.9 by the score.
    ends = copy[["weight_per_packet_low", "weight_per_packet_high"]] / 10_000
    assert ends.tolist() == pytest.approx([37.9, 65.9], abs=0.1)
    # CPU 0 for three quarters, CPU 1 throughout; 20 Mbit in 2 s.
    assert answer["busy_cores"] == pytest.approx(1.75)
    assert answer["gbit_per_s"] == pytest.approx(0.01, rel=1e-3)
    assert answer["cores_per_gbit"] == pytest.approx(175, rel=1e-3)


def test_a_device_a_direction_and_a_cpu(tmp_path: Path) -> None:
    ask = recorded(tmp_path).ask.functions
    assert ask.packet_components(device="eth0", direction="tx")["packets"] == 5
    assert ask.packet_components(device="lo")["packets"] == 9_000
    assert ask.packet_components(cpu=0)["busy_cores"] == pytest.approx(0.75)
    assert set(ask.packet_components(cpu=1).frame["component"]) == {"application"}
    for given in ({"device": "eth7"}, {"direction": "up"}, {"cpu": 7}):
        with pytest.raises(ArgumentError):
            ask.packet_components(**given)


# A host that talks to itself, and hardly to others.
@pytest.mark.parametrize(
    ("eth0", "lo", "device", "share"),
    [
        (9, 59_615, "lo", 59_615 / 59_624),
        (500, 59_500, "lo", 119 / 120),
        (610, 59_390, "eth0", 610 / 60_000),
    ],
)
def test_the_device_is_lo_where_the_others_carried_hardly_any(
    tmp_path: Path, eth0: int, lo: int, device: str, share: float
) -> None:
    after = net_dev(eth0=(100 * eth0, 10 + eth0, 0, 0), lo=(100 * lo, lo, 0, 0))
    capture = recorded(tmp_path, after=after)
    answer = capture.ask.functions.packet_components()
    other = {"lo": "eth0", "eth0": "lo"}[device]
    assert (answer["device"], answer["other_devices"]) == (device, other)
    assert answer["device_share"] == pytest.approx(share)
    assert not answer["device_given"]
    given = capture.ask.functions.packet_components(device=other)
    assert (given["device"], given["device_given"]) == (other, True)


# The way that carried more, not the one packet that came; where the counters of one way went
# backwards, the other is answered.
def test_a_sender_is_answered_by_what_it_sent(tmp_path: Path) -> None:
    sent, back = (net_dev(eth0=(60, rx, 9_000_000, 1_000), lo=(0, 0, 0, 0)) for rx in (11, 0))
    base, new, reset = (
        recorded(tmp_path / at, after=after)
        for at, after in zip("abc", (sent, sent, back), strict=True)
    )
    for capture in (base, reset):
        answer = capture.ask.functions.packet_components()
        assert (answer["direction"], answer["packets"]) == ("tx", 1_000)
    assert base.ask.functions.packet_components(direction="rx")["packets"] == 1
    changes = netcost.compare(base, new).ask.functions.component_changes()
    assert changes["direction"] == "tx"


def test_without_packets_nothing_costs_anything(tmp_path: Path) -> None:
    after = net_dev(eth0=(0, 10, 0, 0), lo=(0, 0, 0, 0))
    answer = recorded(tmp_path, after=after).ask.functions.packet_components()
    assert answer.frame["weight_per_packet"].isna().all()
    assert answer["packets"] == 0


def test_another_clock_and_a_bare_recording_are_refused(tmp_path: Path) -> None:
    capture = recorded(tmp_path / "a", attr=CLOCK)
    assert "clock" in str(capture.ask.functions.packet_components().refusal)
    assert capture.ask.functions.components().refusal is None
    bare = capture_of(tmp_path / "b", *told(), attrs=(TIMED,))
    assert "netcost-record" in str(bare.ask.functions.packet_components().refusal)


# Beside a trace, in the same bundle: asked like the trace's own. A name that leads out of the
# bundle is none.
@pytest.mark.parametrize("name", ["functions.perf.data", "../made", "/etc", ".", ""])
def test_samples_beside_a_trace(tmp_path: Path, name: str) -> None:
    manifest = {"netcost_bundle": 1, "trace": "trace.txt", "samples_of_functions": {"output": name}}
    trace = "# tracer: nop\n#\n a-1 [000] d.h1. 1.000000: irq_handler_entry: irq=1 name=x\n"
    files = {"manifest.json": json.dumps(manifest), "trace.txt": trace}
    answer = recorded(tmp_path, **files).ask.functions.packet_components()
    if name == "functions.perf.data":
        assert answer["packets"] == 1_000
    else:
        assert "samples of functions" in str(answer.refusal)


def test_counted_cycles_are_in_their_own_unit(tmp_path: Path) -> None:
    rows = [replace(one, period=1_000) for one in told()]
    cycles = replace(CYCLES, clock="monotonic")
    answer = recorded(tmp_path, *rows, attr=cycles).ask.functions.packet_components()
    assert not answer["is_timed"]
    assert set(answer.frame["weight_unit"]) == {"cycles"}
    assert answer.frame.set_index("component").loc["copy", "weight_per_packet"] == 50
    assert "`cycles`" in answer.words


# Twice as much copying in the new recording, by a device of another name.
def test_what_changed_is_told_from_what_did_not(tmp_path: Path) -> None:
    after = net_dev(eth0=(900, 19, 0, 0), lo=(100_000, 1_000, 0, 0))
    captures = (
        recorded(tmp_path / "a"),
        recorded(tmp_path / "b", *told("_copy_to_iter"), after=after),
    )
    changes = netcost.compare(*captures).ask.functions.component_changes
    answer = changes()
    rows = answer.frame.set_index("component")
    assert rows.loc[["copy", "TCP"], "differs"].tolist() == ["yes", "no"]
    assert rows.loc[["copy", "TCP"], "change"].tolist() == pytest.approx([500_000, 0])
    assert len(rows) == 2
    assert answer["observed_in"] == "blocks"
    assert answer["changed"]["component"].to_list() == ["copy"]
    assert (answer["base_device"], answer["new_device"]) == ("eth0", "lo")
    # What differs in size differs in cost.
    assert (answer["base_packet_bytes"], answer["new_packet_bytes"]) == (2_500, 100)
    assert changes(device="eth0")["new_device"] == "eth0"


# Samples in the ledger: whose interrupt they hit, and on top of whom.

S = 1_000_000_000
MANIFEST = {
    "netcost_bundle": 1,
    "trace": "trace.perf.data",
    "samples_of_functions": {"output": "functions.perf.data"},
}
# A softirq with a poll from 1,000 to 9,000, in which the timer's own vector takes a sample twice:
# once of the poll, once of what the softirq did behind it.
TRACE = [
    h.IrqEntry(S + 200, 32, "eth0"),
    h.SoftirqRaise(S + 300, NET_RX),
    h.IrqExit(S + 500, 32),
    h.SoftirqEntry(S + 1_000, NET_RX),
    h.VectorEntry(S + 3_000),
    h.VectorExit(S + 3_200),
    h.NapiPoll(S + 6_000, "eth0", 3, 64, 0x8000_0000),
    h.VectorEntry(S + 7_000),
    h.VectorExit(S + 7_200),
    h.SoftirqExit(S + 9_000, NET_RX),
    h.VectorEntry(S + 20_000),
    h.VectorExit(S + 20_200),
    h.SoftirqRaise(S + 30_000, 1),
]


def asked(folder: Path, *stacks: Stack, timed: bool = True) -> Any:
    attr = replace(CLOCK if timed else CYCLES, clock="monotonic")
    capture_of(folder / "made", *stacks, attrs=(attr,))
    traced = cpu(0, *TRACE, task=OPENSSL)
    bundle(folder / "b", {"manifest.json": json.dumps(MANIFEST)}, traced, clock="monotonic")
    (folder / "made").rename(folder / "b" / "functions.perf.data")
    return open_capture(folder / "b").ask.functions.interrupt_components()


def rows(answer: Any) -> list[list[str | int | None]]:
    frame = answer.frame[["context", "device", "component", "samples"]].astype(object)
    return frame.where(frame.notna(), None).values.tolist()


# What the timer interrupted, not its own vector.
def test_a_timers_samples_are_of_what_it_interrupted(tmp_path: Path) -> None:
    answer = asked(
        tmp_path,
        stack("veth_poll < __napi_poll < handle_softirqs", time_ns=S + 3_100),
        stack("net_rx_action < handle_softirqs", time_ns=S + 7_100),
        # On top of openssl alone: no interrupt context.
        stack("", time_ns=S + 20_100),
    )
    assert rows(answer) == [
        ["poll", "eth0", "driver rx", 1],
        ["softirq", None, "NAPI and softirq", 1],
    ]
    assert set(answer.frame["comm"]) == {"openssl"}
    assert set(answer.frame["cost_class"]) == {"stolen"}
    assert (answer["interrupt_samples"], answer["window_samples"]) == (2, 3)
    assert answer.frame["hit_share"].sum() == pytest.approx(1)


# A counter's interrupt is an NMI, or ends within a vector that it is of.
def test_a_counters_samples_are_of_their_own_time(tmp_path: Path) -> None:
    answer = asked(tmp_path, stack("veth_poll", time_ns=S + 3_100), timed=False)
    assert rows(answer) == [["vector", None, "driver rx", 1]]


def test_samples_outside_a_trace_hit_nothing(tmp_path: Path) -> None:
    answer = asked(tmp_path, stack("veth_poll", time_ns=1), stack("veth_poll", time_ns=9 * S))
    assert (answer["interrupt_samples"], answer["window_samples"]) == (0, 0)
    assert answer.words
    capture = capture_of(tmp_path / "bare", stack("veth_poll"))
    assert "no ledger" in str(capture.ask.functions.interrupt_components().refusal)
