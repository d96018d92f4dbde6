# Lanes of block characters: what they show is the ledger's, on lines that fit.

import re
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.timeline.owners import kinds_of
from netcost_analysis.units import share
from netcost_analysis.view.text import lanes
from support.kept import kept
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.texts import switches
from support.told import NET_RX, OPENSSL

NIC = "nic-stolen-time"
S = 1_000_000_000
KINDS = {"NAPI polls": "poll", "net softirqs": "softirq", "other softirqs": "softirq_other"}
KINDS |= {"hardirqs": "hardirq", "tasks": "task", "vectors": "vector", "unknown": "unknown"}


@pytest.mark.parametrize("width", [50, 80, 200])
def test_lanes_say_what_the_sums_say(width: int) -> None:
    timeline = kept(NIC).timeline()
    lines = lanes(timeline, width)
    sums = timeline.sums()
    found = {}
    number = None
    for line in lines:
        if line.text.startswith("CPU "):
            number = int(line.text[4:9])
        if number is not None and line.end:
            assert set(line.text[24 : line.end]) <= set(" ▁▂▃▄▅▆▇█")
            assert line.begin == 24
            found[number, KINDS[line.text[9:24].strip()]] = line.text[line.end :].strip()
            assert len(line.text) <= width
    by = sums.groupby([sums["cpu"], kinds_of(sums)])["ns"].sum()
    expected = {
        key: share(ns / timeline.duration_ns) for key, ns in by.items() if ns and key[1] != "idle"
    }
    assert found == expected
    assert re.findall(r"[\d.-]+\d", lines[0].text)[:4] == ["10.7", "0-1", "0.000000", "10.710931"]


# CPU 0   1 ms polls, 1 ms task, ... and 1 ms in which an interrupt has 100 ns
def test_heights_are_shares_rounded_up(tmp_path: Path) -> None:
    at = 2 * S
    told = recording(
        cpu(
            0,
            h.Switch(at, OPENSSL),
            h.SoftirqEntry(at + 1_000_000, NET_RX),
            h.NapiPoll(at + 1_500_000, "eth0", 8),
            h.SoftirqExit(at + 1_500_000, NET_RX),
            h.IrqEntry(at + 3_000_500, 32, "virtio2-input.0"),
            h.IrqExit(at + 3_000_600, 32),
            h.Switch(at + 20_000_000, h.idle(0)),
            task=OPENSSL,
        ),
        known=(OPENSSL,),
    )
    timeline = netcost.open_capture(told.write(tmp_path / "perf.data")).timeline()
    lines = {line.text[9:24].strip(): line.text[24:] for line in lanes(timeline, 40 + 21)}
    assert lines["NAPI polls"][:20] == " ▄" + " " * 18
    assert lines["hardirqs"][:20] == "   ▁" + " " * 16
    assert lines["tasks"][:20] == "█▄" + "█" * 18
    assert lines["packets"][:20] == " █" + " " * 18
    assert lines["packets"].endswith("max 8,000/s")
    assert "NMIs" not in lines


def test_a_window_without_time_and_an_idle_cpu(tmp_path: Path) -> None:
    told = recording(
        cpu(0, h.Switch(S, OPENSSL), h.Switch(S + 5_000, h.idle(0)), task=OPENSSL),
        cpu(1, h.Waking(S + 2_000, OPENSSL, 0), task=h.idle(1)),
        known=(OPENSSL,),
    )
    capture = netcost.open_capture(told.write(tmp_path / "perf.data"))
    assert any(re.match(r"CPU 1 +idle$", line.text) for line in lanes(capture.timeline()))
    single = recording(cpu(0, h.Switch(S, OPENSSL), task=OPENSSL), known=(OPENSSL,))
    capture = netcost.open_capture(single.write(tmp_path / "one.data"))
    assert "no time" in lanes(capture.timeline())[-1].text


# A window that ends a moment after a poll has no more packets a second than one that does not.
def test_a_cut_bin_does_not_say_how_high_the_strips_are() -> None:
    strips = [
        next(
            line.text for line in lanes(kept(NIC).timeline(3.4, end), 80) if "packets" in line.text
        )
        for end in (3.999, 4.0, 4.005)
    ]
    assert {strip.split(" max ")[1] for strip in strips} == {"44,000/s"}
    assert strips[1].split(" max ")[0].endswith("█")


def test_what_was_not_recorded_has_no_strip(tmp_path: Path) -> None:
    found = lanes(netcost.open_capture(switches(tmp_path / "trace.txt")).timeline())
    names = [line.text[9:24].strip() for line in found if line.end]
    assert names == ["tasks"]
