# What each packet cost, of described samples between two readings of an interface's counters.

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis import CaptureError, open_capture
from netcost_analysis.capture.capture import Capture
from netcost_analysis.errors import ArgumentError
from support.device_bundles import bundle, net_dev
from support.host import SAMPLES
from support.kept import kept_experiment
from support.stacks import CLOCK, CYCLES, Stack, capture_of, stack

S = 1_000_000_000
MS = 1_000_000
TIMED = replace(CLOCK, clock="monotonic")
BEFORE, AFTER = (1 * S, 1 * S + MS), (3 * S, 3 * S + MS)


def told(step: int = 10) -> list[Stack]:
    # CPU 0 copies for a quarter, receives for a half, and idles for a quarter; CPU 1 is in a
    # program. Of 4 s only those between 1 s and 3 s count.
    paths = ["_copy_to_iter", "tcp_v4_rcv", "tcp_v4_rcv", "default_idle"]
    own = [
        stack(paths[number % 4], time_ns=number * step * MS, period=step * MS)
        for number in range(4000 // step)
    ]
    return own + [replace(one, frames=(), cpu=1) for one in own]


def recorded(folder: Path, *stacks: Stack, attr: Any = TIMED, **files: str) -> Capture:
    capture_of(folder / "made", *(stacks or told()), attrs=(attr,))
    counters = {
        "before/net_dev": net_dev(eth0=(0, 10, 0, 0), lo=(0, 0, 0, 0)),
        "after/net_dev": net_dev(eth0=(2_500_000, 1_010, 500, 5), lo=(9, 9_000, 9, 9_000)),
    }
    stamps = {"before/stamp": BEFORE, "after/stamp": AFTER}
    manifest = json.dumps({"netcost_bundle": 1, "trace": "functions.perf.data"})
    texts = {name: f"net_dev {first} {last}\n" for name, (first, last) in stamps.items()}
    path = folder / "b"
    bundle(path, {"manifest.json": manifest} | counters | texts | files)
    (folder / "made").rename(path / "functions.perf.data")
    return open_capture(path)


def test_the_samples_between_two_readings_over_the_packets_between_them(tmp_path: Path) -> None:
    found = recorded(tmp_path).ask.functions.packet_components()
    assert (found["device"], found["direction"], found["packets"]) == ("eth0", "rx", 1_000)
    assert found["packet_bytes"] == 2_500
    rows = found["packet_components"].set_index("component")
    # 200 samples a CPU lie there, a quarter of them copy: 50 of 10 ms over 1,000 packets.
    assert rows.loc["copy", "samples"] == 50
    assert rows.loc["copy", "weight_per_packet"] == 50 * 10 * MS / 1_000
    assert rows.loc["TCP", "weight_per_packet"] == 100 * 10 * MS / 1_000
    assert rows.loc["copy", "weight_per_kib"] == pytest.approx(50 * 10 * MS / (2_500_000 / 1024))
    low, high = rows.loc["copy", ["weight_per_packet_low", "weight_per_packet_high"]]
    # Poisson of 50: 37.9 to 65.9 by the score.
    assert low / 10_000 == pytest.approx(37.9, abs=0.1)
    assert high / 10_000 == pytest.approx(65.9, abs=0.1)
    assert "idle" not in rows.index
    # CPU 0 for three quarters, CPU 1 throughout; 20 Mbit in 2 s.
    assert found["busy_cores"] == pytest.approx(1.75)
    assert found["gbit_per_s"] == pytest.approx(0.01, rel=1e-3)
    assert found["cores_per_gbit"] == pytest.approx(175, rel=1e-3)


def test_a_device_a_direction_and_a_cpu(tmp_path: Path) -> None:
    ask = recorded(tmp_path).ask.functions
    assert ask.packet_components(device="eth0", direction="tx")["packets"] == 5
    assert ask.packet_components(device="lo")["packets"] == 9_000
    assert ask.packet_components(cpu=0)["busy_cores"] == pytest.approx(0.75)
    assert set(ask.packet_components(cpu=1).frame["component"]) == {"application"}
    for given in ({"device": "eth7"}, {"direction": "up"}, {"cpu": 7}):
        with pytest.raises(ArgumentError):
            ask.packet_components(**given)


# eth0 received 9 packets and lo nearly all: a host that talks to itself.
@pytest.mark.parametrize(
    ("eth0", "lo", "device", "share"),
    [(9, 59_615, "lo", 59_615 / 59_624), (500, 59_500, "lo", 119 / 120), (610, 59_390, "eth0", 0)],
)
def test_the_device_is_lo_where_the_others_carried_hardly_any(
    tmp_path: Path, eth0: int, lo: int, device: str, share: float
) -> None:
    counts = net_dev(eth0=(100 * eth0, 10 + eth0, 0, 0), lo=(100 * lo, lo, 0, 0))
    capture, again = (recorded(tmp_path / at, **{"after/net_dev": counts}) for at in ("a", "b"))
    answer = capture.ask.functions.packet_components()
    other = {"lo": "eth0", "eth0": "lo"}[device]
    assert (answer["device"], answer["other_devices"]) == (device, other)
    assert answer["device_share"] == pytest.approx(share or 610 / 60_000)
    assert not answer["device_given"]
    given = capture.ask.functions.packet_components(device=other)
    assert given["device"] == other
    assert given["device_given"]
    # A comparison takes the same.
    changes = netcost.compare(capture, again).ask.functions.component_changes
    assert (changes()["base_device"], changes()["new_device"]) == (device, device)
    assert changes(device=other)["new_device"] == other


def test_sides_of_different_devices(tmp_path: Path) -> None:
    base = recorded(tmp_path / "base")
    after = net_dev(eth0=(900, 19, 0, 0), lo=(9_000_000, 90_000, 0, 0))
    new = recorded(tmp_path / "new", **{"after/net_dev": after})
    answer = netcost.compare(base, new).ask.functions.component_changes()
    assert (answer["base_device"], answer["new_device"]) == ("eth0", "lo")
    # What differs in size differs in cost.
    assert (answer["base_packet_bytes"], answer["new_packet_bytes"]) == (2_500, 100)


# A host that sends: the way that carried more, not the one packet that came.
def test_a_sender_is_answered_by_what_it_sent(tmp_path: Path) -> None:
    counts = net_dev(eth0=(60, 11, 9_000_000, 1_000), lo=(0, 0, 0, 0))
    base, new = (recorded(tmp_path / at, **{"after/net_dev": counts}) for at in ("a", "b"))
    found = base.ask.functions.packet_components()
    assert (found["direction"], found["packets"]) == ("tx", 1_000)
    received = base.ask.functions.packet_components(direction="rx")
    assert (received["direction"], received["packets"]) == ("rx", 1)
    # Where the counters of one way went backwards, the other is answered.
    back = net_dev(eth0=(0, 0, 9_000_000, 1_000), lo=(0, 0, 0, 0))
    reset = recorded(tmp_path / "c", **{"after/net_dev": back}).ask.functions.packet_components()
    assert (reset["direction"], reset["packets"]) == ("tx", 1_000)
    changes = netcost.compare(base, new).ask.functions.component_changes()
    assert changes["direction"] == "tx"


def test_without_packets_nothing_costs_anything(tmp_path: Path) -> None:
    idle = {"after/net_dev": net_dev(eth0=(0, 10, 0, 0), lo=(0, 0, 0, 0))}
    answer = recorded(tmp_path, **idle).ask.functions.packet_components()
    assert answer.frame["weight_per_packet"].isna().all()
    assert answer["packets"] == 0


def test_another_clock_is_refused(tmp_path: Path) -> None:
    capture = recorded(tmp_path, attr=CLOCK)
    assert "clock" in str(capture.ask.functions.packet_components().refusal)
    assert capture.ask.functions.components().refusal is None


def test_a_bare_recording_says_what_it_lacks(tmp_path: Path) -> None:
    capture = capture_of(tmp_path / "bare", *told(), attrs=(TIMED,))
    assert "netcost-record" in str(capture.ask.functions.packet_components().refusal)


# Beside a trace, in the same bundle: asked like the trace's own.
@pytest.mark.parametrize("name", ["functions.perf.data", "../made", "/etc", ".", ""])
def test_samples_beside_a_trace(tmp_path: Path, name: str) -> None:
    said = {"netcost_bundle": 1, "trace": "trace.txt"}
    trace = "# tracer: nop\n#\n a-1 [000] d.h1. 1.000000: irq_handler_entry: irq=1 name=x\n"
    manifest = said | {"samples_of_functions": {"output": name}}
    files = {"manifest.json": json.dumps(manifest), "trace.txt": trace}
    answer = recorded(tmp_path, **files).ask.functions.packet_components()
    if name == "functions.perf.data":
        assert answer["packets"] == 1_000
    else:
        # A name that leads out of the bundle is none.
        assert "samples of functions" in str(answer.refusal)


def test_counted_cycles_are_in_their_own_unit(tmp_path: Path) -> None:
    cycles = replace(CYCLES, clock="monotonic")
    rows = [replace(one, period=1_000) for one in told()]
    answer = recorded(tmp_path, *rows, attr=cycles).ask.functions.packet_components()
    assert not answer["is_timed"]
    assert set(answer.frame["weight_unit"]) == {"cycles"}
    row = answer.frame.set_index("component").loc["copy"]
    assert row["weight_per_packet"] == 50 * 1_000 / 1_000
    assert "`cycles`" in answer.words


# Of the sample: what is on a packet's way adds up, and the two sides have the same packets.
def test_sizes_of_the_sample() -> None:
    found = kept_experiment("io-sizes").ask.functions.components_by_size()
    keys = ["protocol", "io_bytes", "io_side"]
    by = found["by_size"].groupby(keys, dropna=False)["path_share"].sum()
    assert by.to_list() == pytest.approx([1.0] * len(by))
    packets = found["sides"].groupby(keys[:2], dropna=False)["packets"].nunique()
    assert set(packets) == {1}
    assert found["sides"]["cores_per_gbit"].gt(0).all()
    # What every packet of a size costs falls with more bytes in a write.
    per_kib = found["sides"].assign(cost=found["sides"]["cores_per_gbit"]).sort_values("io_bytes")
    for _, side in per_kib.groupby(["protocol", "io_side"], dropna=False):
        assert side["cost"].iloc[0] > side["cost"].iloc[-1]


# The lab's first step, for the floor of the energy.
def test_a_step_without_a_stream_has_no_sides(tmp_path: Path) -> None:
    folder = tmp_path / "sizes"
    shutil.copytree(SAMPLES / "io-sizes", folder)
    shutil.copy(folder / "tcp-64.netcost.tar.zst", folder / "idle.netcost.tar.zst")
    lines = (folder / "steps.tsv").read_text().splitlines()
    row = "idle\tnone\t0\t0\t1\t3.1\t0\t0\t0"
    (folder / "steps.tsv").write_text("\n".join([lines[0], row, lines[1]]) + "\n")
    found = netcost.open_experiment(folder).ask.functions
    sides = found.components_by_size()["sides"]
    assert set(sides["io_bytes"]) == {64}
    assert set(found.findings().frame["protocol"].dropna()) == {"tcp"}


# Twice as much copying in the new recording, and nothing else.
def test_what_changed_is_told_from_what_did_not(tmp_path: Path) -> None:
    base = recorded(tmp_path / "base")
    paths = ["_copy_to_iter", "tcp_v4_rcv", "tcp_v4_rcv", "_copy_to_iter"]
    more = [
        stack(paths[number % 4], time_ns=number * 10 * MS, period=10 * MS) for number in range(400)
    ]
    new = recorded(tmp_path / "new", *more)
    comparison = netcost.compare(base, new)
    answer = comparison.ask.functions.component_changes()
    rows = answer.frame.set_index("component")
    assert rows.loc["copy", "differs"] == "yes"
    assert rows.loc["copy", "change"] == pytest.approx(50 * 10 * MS / 1_000)
    assert rows.loc["TCP", "differs"] == "no"
    assert rows.loc["TCP", "change"] == pytest.approx(0)
    assert set(rows.index) == {"copy", "TCP"}
    assert answer["observed_in"] == "blocks"
    assert answer["changed"]["component"].to_list() == ["copy"]


def test_what_no_samples_have_cannot_be_compared() -> None:
    both = SAMPLES / "veth-stolen-time", SAMPLES / "stolen-time-top.netcost.tar.zst"
    refusal = netcost.compare(*both).ask.functions.component_changes().refusal
    assert isinstance(refusal, CaptureError)
