# device_lines: which line is whose, on drawn timelines, by hand and beside /proc/interrupts.

from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.devices.device_lines import mapped
from support.asked import device_lines, device_time, device_time_series
from support.device_bundles import bundle, link, net_dev, opened
from support.device_timelines import drawn, rows_of
from support.host import SAMPLES
from support.line_evidence import evidence_of
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.timelines import timeline
from support.told import NET_RX, OPENSSL, UDPSINK

LINES = pd.DataFrame(
    {
        "irq": [32, 33, 34, 35, 36],
        "name": ["virtio2-input.0", "i40e-eth1-TxRx-3", "eth01", None, "comp0@pci:0000:01:00.0"],
        "device": ["eth0", None, None, None, None],
        "is_network": ["yes", "no", "no", "no", "no"],
        "known_by": None,
    }
)


def test_a_line_is_mapped_by_polls_then_by_name_then_by_bus() -> None:
    led = pd.DataFrame({"irq": [32], "device": ["eth0"], "raised": [3], "polled": [2]})
    lines = mapped(
        LINES,
        led,
        ["eth0", "eth1"],
        {"35": "PCI-MSIX-0000:00:03.0 1-edge virtio7-output.0"},
        {"virtio7": "eth7", "0000:01:00.0": "eth2"},
    )
    assert lines["device"].tolist() == ["eth0", "eth1", None, "eth7", "eth2"]
    assert lines["known_by"].tolist() == ["polls", "name", None, "bus", "bus"]
    assert lines["is_network"].tolist() == ["yes", "yes", "no", "yes", "yes"]
    assert lines[["raised", "polled"]].iloc[0].tolist() == [3, 2]
    assert LINES["device"].isna().tolist() == [False, True, True, True, True]


# The handler ran on CPU 0 from 100 to 110: it raised at 105 and not at 120, nor on CPU 1.
def test_evidence_is_of_raises_while_the_handler_ran(tmp_path: Path) -> None:
    def polled(at: int, device: str) -> tuple[h.Happening, ...]:
        softirq = (h.SoftirqEntry(at, NET_RX), h.NapiPoll(at + 10, device))
        return (*softirq, h.SoftirqExit(at + 20, NET_RX))

    first = cpu(
        0,
        h.IrqEntry(100, 32, "virtio0-input.0"),
        h.SoftirqRaise(105, NET_RX),
        h.IrqExit(110, 32),
        *polled(130, "eth0"),
        h.SoftirqRaise(160, NET_RX),
        *polled(170, "eth1"),
        h.Waking(300, UDPSINK),
        task=OPENSSL,
    )
    second = cpu(1, h.SoftirqRaise(105, NET_RX), *polled(130, "eth2"), task=UDPSINK)
    assert evidence_of(timeline(tmp_path, first, second)).to_dict("records") == [
        {"irq": 32, "raised": 1, "device": "eth0", "polled": 1}
    ]


def test_a_line_of_the_same_bus_belongs_to_the_device(tmp_path: Path) -> None:
    first, second = drawn()
    told = bundle(
        tmp_path / "b",
        {
            "before/ip_link.json": [link("eth0", parentdev="virtio9")],
            "before/net_dev": net_dev(eth0=(0, 0, 0, 0)),
            "before/interrupts": "     CPU0 CPU1\n 40:  1  0  PCI-MSIX 1-edge virtio9-output.0\n",
        },
        first,
        second,
    )
    lines = device_lines(netcost.open_capture(told.path).timeline()).set_index("irq")
    assert lines["device"].to_dict() == {32: "eth0", 40: "eth0"}
    assert lines["known_by"].to_dict() == {32: "polls", 40: "bus"}
    assert lines.loc[32, ["raised", "polled", "interrupts"]].tolist() == [1, 1, 1]
    assert lines.loc[40, "interrupts"] == 1


# irq 11 is eth0's, eth1's and a disk's: 10 and 10 ns, 30 and 20 ns, and 5 ns.
def test_handlers_that_share_a_line_are_told_apart(tmp_path: Path) -> None:
    drawing = cpu(
        0,
        h.IrqEntry(100, 11, "eth0"),
        h.SoftirqRaise(105, NET_RX),
        h.IrqExit(110, 11),
        h.IrqEntry(112, 11, "eth1"),
        h.IrqExit(142, 11),
        h.IrqEntry(143, 11, "ahci"),
        h.IrqExit(148, 11),
        h.SoftirqEntry(150, NET_RX),
        h.NapiPoll(190, "eth0", 4),
        h.SoftirqExit(200, NET_RX),
        h.IrqEntry(300, 11, "eth0"),
        h.IrqExit(310, 11),
        h.IrqEntry(311, 11, "eth1"),
        h.SoftirqRaise(320, NET_RX),
        h.IrqExit(331, 11),
        h.SoftirqEntry(350, NET_RX),
        h.NapiPoll(390, "eth1", 4),
        h.SoftirqExit(400, NET_RX),
        h.Waking(500, UDPSINK),
        task=OPENSSL,
    )
    made = timeline(tmp_path, drawing)
    rows = rows_of(device_time(made))
    assert (rows["eth0", 0]["hardirq_ns"], rows["eth0", 0]["interrupts"]) == (20, 2)
    assert (rows["eth1", 0]["hardirq_ns"], rows["eth1", 0]["interrupts"]) == (50, 2)
    assert (rows["irq 11 ahci", 0]["ns"], rows["irq 11 ahci", 0]["kind"]) == (5, "line")
    lines = device_lines(made)
    assert lines["irq"].tolist() == [11, 11, 11]
    told = lines.set_index("name")
    assert told["device"].dropna().to_dict() == {"eth0": "eth0", "eth1": "eth1"}
    assert told["interrupts"].to_dict() == {"ahci": 1, "eth0": 2, "eth1": 2}
    assert told.loc["eth1", ["raised", "polled"]].tolist() == [1, 1]
    bins = device_time_series(made, bin_ns=1000).set_index("device")
    assert bins.loc["eth1", ["hardirq_ns", "poll_ns", "ns"]].tolist() == [50, 40, 90]
    assert bins.loc["eth0", ["hardirq_ns", "poll_ns", "ns"]].tolist() == [20, 40, 60]


@pytest.mark.parametrize(
    "sample",
    [
        "quiet-interface.netcost.tar.zst",
        "veth-stolen-time",
        "nic-guest/6.12-nic-2-flows.netcost.tar.zst",
    ],
)
def test_interrupts_are_those_that_proc_counted(sample: str) -> None:
    # A snapshot takes a while to read: what the trace has between the readings, and with them.
    capture = opened(SAMPLES / sample).capture
    told = capture.bundle
    assert told
    begins, ends = zip(*(one.reads["interrupts"] for one in (told.before, told.after)), strict=True)
    grown = (told.after.interrupts - told.before.interrupts).sum(axis=1)
    inner, outer = (
        device_lines(between(capture, *window)).set_index("irq")["interrupts"]
        for window in ((ends[0], begins[1]), (begins[0], ends[1]))
    )
    assert len(outer)
    for irq, most in outer.dropna().items():
        least = inner.get(irq, 0)
        assert (0 if pd.isna(least) else least) <= grown[str(irq)] <= most


def between(capture: netcost.Capture, start_ns: int, end_ns: int) -> netcost.Timeline:
    return capture.timeline((start_ns - capture.start_ns) / 1e9, (end_ns - capture.start_ns) / 1e9)
