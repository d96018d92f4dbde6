# device_lines: which line is whose, on drawn timelines and beside /proc/interrupts.

from itertools import chain
from pathlib import Path

import pytest

import netcost_analysis as netcost
from support.asked import device_lines, device_time, device_time_series, irq_gaps
from support.device_bundles import bundle, link, net_dev, opened
from support.device_timelines import drawn, rows_of
from support.host import SAMPLES
from support.interrupt_pairs import Happenings, irq, softirq
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.timelines import timeline
from support.told import NET_RX, OPENSSL, UDPSINK


def test_a_line_is_mapped_by_polls_then_by_name_then_by_bus(tmp_path: Path) -> None:
    first, second = drawn()
    names = {33: "i40e-eth1-TxRx-3", 34: "eth01", 36: "comp0@pci:0000:01:00.0"}
    more = [irq(20 * line, 20 * line + 5, line=line, name=name) for line, name in names.items()]
    links = {"eth0": "virtio9", "eth1": "virtio8", "eth2": "0000:01:00.0"}
    files = {
        "before/ip_link.json": [link(name, parentdev=bus) for name, bus in links.items()],
        "before/net_dev": net_dev(**dict.fromkeys(links, (0, 0, 0, 0))),
        "before/interrupts": "     CPU0 CPU1\n 40:  1  0  PCI-MSIX 1-edge virtio9-output.0\n",
    }
    cpus = cpu(0, *first.happenings, *chain(*more), task=OPENSSL), second
    path = bundle(tmp_path / "b", files, *cpus).path
    lines = device_lines(netcost.open_capture(path).timeline()).set_index("irq")
    known = lines.astype(object).where(lines.notna(), None)
    assert {irq: tuple(row) for irq, row in known[["device", "known_by"]].iterrows()} == {
        32: ("eth0", "polls"),
        33: ("eth1", "name"),
        34: (None, None),
        36: ("eth2", "bus"),
        40: ("eth0", "bus"),
    }
    assert (lines["is_network"] == "yes").tolist() == [True, True, False, True, True]
    assert lines.loc[32, ["raised", "polled", "interrupts"]].tolist() == [1, 1, 1]
    assert lines.loc[40, "interrupts"] == 1


# The handler ran on CPU 0 from 100 to 110: it raised at 105 and not at 160, nor on CPU 1.
def test_a_softirq_is_that_of_the_line_whose_handler_ran(tmp_path: Path) -> None:
    def polled(at: int, device: str) -> Happenings:
        return softirq(at, at + 20, h.NapiPoll(at + 10, device))

    raises = [h.SoftirqRaise(at, NET_RX) for at in (105, 160, 105)]
    first = *irq(100, 110, raises[0]), *polled(130, "eth0"), raises[1], *polled(170, "eth1")
    second = cpu(1, raises[2], *polled(130, "eth2"), task=UDPSINK)
    made = timeline(tmp_path, cpu(0, *first, h.Waking(300, UDPSINK), task=OPENSSL), second)
    columns = ["irq", "device", "raised", "polled"]
    assert device_lines(made)[columns].values.tolist() == [[32, "eth0", 1, 1]]


# irq 11 is eth0's, eth1's and a disk's: 10 and 10 ns, 30 and 20 ns, and 5 ns.
def test_handlers_that_share_a_line_are_told_apart(tmp_path: Path) -> None:
    def handler(begin: int, end: int, name: str, raise_at: int | None = None) -> Happenings:
        inside = () if raise_at is None else (h.SoftirqRaise(raise_at, NET_RX),)
        return irq(begin, end, *inside, line=11, name=name)

    first = *handler(100, 110, "eth0", 105), *handler(112, 142, "eth1"), *handler(143, 148, "ahci")
    second = *handler(300, 310, "eth0"), *handler(311, 331, "eth1", 320)
    first += softirq(150, 200, h.NapiPoll(190, "eth0", 4))
    second += softirq(350, 400, h.NapiPoll(390, "eth1", 4))
    story = *first, *second, h.Waking(500, UDPSINK)
    made = timeline(tmp_path, cpu(0, *story, task=OPENSSL))
    rows = rows_of(device_time(made))
    assert (rows["eth0", 0]["hardirq_ns"], rows["eth0", 0]["interrupts"]) == (20, 2)
    assert (rows["eth1", 0]["hardirq_ns"], rows["eth1", 0]["interrupts"]) == (50, 2)
    assert (rows["irq 11 ahci", 0]["ns"], rows["irq 11 ahci", 0]["kind"]) == (5, "line")
    lines = device_lines(made).set_index("name")
    assert lines["irq"].tolist() == [11, 11, 11]
    assert lines["device"].dropna().to_dict() == {"eth0": "eth0", "eth1": "eth1"}
    assert lines["interrupts"].to_dict() == {"ahci": 1, "eth0": 2, "eth1": 2}
    assert lines.loc["eth1", ["raised", "polled"]].tolist() == [1, 1]
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
    bundle = capture.bundle
    assert bundle
    reads = [one.reads["interrupts"] for one in (bundle.before, bundle.after)]
    begins, ends = zip(*reads, strict=True)
    grown = (bundle.after.interrupts - bundle.before.interrupts).sum(axis=1)
    counts = []
    for start_ns, end_ns in ((ends[0], begins[1]), (begins[0], ends[1])):
        window = [(at - capture.start_ns) / 1e9 for at in (start_ns, end_ns)]
        made = capture.timeline(*window)
        counts.append(device_lines(made).set_index("irq")["interrupts"].dropna())
        gaps = irq_gaps(made)
        of_lines = gaps[gaps["irq_context"] == "hardirq"].groupby("irq")["interrupts"].sum()
        assert of_lines.to_dict() == counts[-1].to_dict()
    inner, outer = counts
    assert len(outer)
    for irq_number, most in outer.items():
        assert inner.get(irq_number, 0) <= grown[str(irq_number)] <= most
