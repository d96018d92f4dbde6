# device_time, device_matrix and device_time_series: on drawn timelines, and beside perf kwork.

from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.requires import MissingEventsError
from netcost_analysis.errors import ArgumentError
from netcost_analysis.timeline.owners import BACKLOG_POLL
from support.asked import (
    device_cost,
    device_flags,
    device_lines,
    device_matrix,
    device_time,
    device_time_series,
    irq_gaps,
)
from support.device_bundles import bundle, link, net_dev, opened
from support.host import SAMPLES
from support.oracle import perf_kwork
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import (
    NAPI_THREAD,
    NET_RX,
    OPENSSL,
    UDPSINK,
    Happenings,
    device_cpus,
    irq,
    rows_of,
    softirq,
    timeline,
)

NICS = sorted((SAMPLES / "nic-guest").glob("*.zst"))


# What no device can be charged with has rows of its own.
def test_time_by_device_and_of_no_device(tmp_path: Path) -> None:
    rows = rows_of(device_time(timeline(tmp_path, *device_cpus())))
    names = ("kind", "hardirq_ns", "poll_ns", "outside_polls_ns", "ns", "interrupts", "packets")
    assert {key: tuple(row[name] for name in names) for key, row in rows.items()} == {
        ("eth0", 0): ("device", 10, 39, None, 49, 1, 6),
        ("irq 40 nvme0q1", 0): ("line", 30, None, None, 30, 1, None),
        (BACKLOG_POLL, 1): ("backlog", None, 40, None, 40, None, 5),
        ("NET_RX", 0): ("softirq", None, None, 5, 5, None, None),
        ("NET_RX", 1): ("softirq", None, None, 5, 5, None, None),
    }
    eth0 = rows["eth0", 0]
    # From the first event to the last, 100 to 400.
    assert eth0["cpu_share"] == pytest.approx(49 / 300)
    assert eth0["interrupts_per_s"] == pytest.approx(1e9 / 300)
    assert (eth0["polls"], eth0["unknown_share"]) == (2, 0)


def test_the_matrix_has_a_row_per_thief_and_cpu(tmp_path: Path) -> None:
    answer = timeline(tmp_path, *device_cpus()).ask.devices.device_matrix()
    rows = answer.frame.set_index(["thief", "cpu"])
    first = [("eth0", 0), ("eth0", 1), (BACKLOG_POLL, 0), (BACKLOG_POLL, 1)]
    assert list(rows.index[:4]) == first
    assert rows["ns"][:4].tolist() == [49, 0, 0, 40]
    assert rows["cpu_share"][:2].tolist() == pytest.approx([49 / 300, 0])
    assert rows["interrupts_per_s"][:2].tolist() == pytest.approx([1e9 / 300, 0])
    assert rows.loc["NET_RX", "interrupts_per_s"].isna().all()
    ax = answer.plot()
    assert [one.get_text() for one in ax.get_yticklabels()][:2] == ["eth0", BACKLOG_POLL]
    assert "16.3 %, 3,333,333/s" in [one.get_text() for one in ax.texts]
    # Of both CPUs: the backlog's 40 ns and 10 ns of NET_RX, over 300 ns.
    kinds = answer["kinds"].set_index("kind")
    assert kinds.loc["backlog"].tolist() == [40, 40 / 300]
    assert kinds.loc["softirq"].tolist() == [10, 10 / 300]


# Of what was not recorded the figures are unknown, and not 0.
@pytest.mark.parametrize(
    ("formats", "thief", "expected"),
    [
        (
            [one for one in t.FORMATS if not one.event.startswith("irq:irq_handler")],
            "eth0",
            {"kind": "device", "hardirq_ns": None, "interrupts": None, "poll_ns": 39, "ns": 39},
        ),
        (
            [one for one in t.FORMATS if one is not t.NAPI_POLL],
            "irq 32 virtio0-input.0",
            {"kind": "line", "device": None, "ns": 10, "polls": None},
        ),
        # Polls without a begin have counts and no time.
        (
            [t.NAPI_POLL],
            "eth0",
            {
                "poll_ns": None,
                "ns": None,
                "cpu_share": None,
                "polls": 2,
                "packets": 6,
                "timed_packets": 0,
            },
        ),
    ],
    ids=["interrupts", "polls", "softirqs"],
)
def test_what_was_not_recorded_is_unknown(
    tmp_path: Path, formats: list[Any], thief: str, expected: dict[str, Any]
) -> None:
    made = timeline(tmp_path, *device_cpus(), formats=tuple(formats))
    row = rows_of(device_time(made))[thief, 0]
    assert {name: row[name] for name in expected} == expected
    matrix = rows_of(device_matrix(made))
    shares = [matrix[thief, number]["cpu_share"] for number in (0, 1)]
    assert shares == [row["cpu_share"], 0]


def test_neither_interrupts_nor_polls_is_an_error(tmp_path: Path) -> None:
    made = timeline(tmp_path, *device_cpus(), formats=(t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT))
    for name in ("time", "matrix", "time_series", "cost", "summary"):
        refusal = made.ask(f"device_{name}").refusal
        assert isinstance(refusal, MissingEventsError)
        assert "napi:napi_poll" in str(refusal)


def test_nothing_happened(tmp_path: Path) -> None:
    quiet = cpu(0, h.Waking(100, UDPSINK), h.Waking(400, UDPSINK), task=OPENSSL)
    made = timeline(tmp_path, quiet)
    for question in (device_time, device_lines, device_cost, device_flags):
        assert question(made).empty
    assert made.ask("device_time_series").frame.empty
    answer = made.ask.devices.device_matrix()
    assert answer.frame.empty
    assert answer.words
    with pytest.raises(netcost.CaptureError, match="nothing to draw"):
        answer.plot()


def test_a_loss_shows_as_unknown_share(tmp_path: Path) -> None:
    lossy = *irq(100, 110), h.Lost(180, 5), *irq(200, 210), h.Waking(300, UDPSINK)
    made = timeline(tmp_path, cpu(0, *lossy, task=OPENSSL))
    row = device_time(made).iloc[0]
    unknown = int((made.coverage["end_ns"] - made.coverage["start_ns"]).sum())
    assert unknown > 0
    assert row["unknown_share"] == pytest.approx(unknown / made.duration_ns)
    assert row["interrupts"] == 2


# The window is 100 to 400, bins are 80 to 160, 160 to 240, ...
def test_bins_are_cut_by_the_window(tmp_path: Path) -> None:
    answer = timeline(tmp_path, *device_cpus()).ask.devices.device_time_series(bin_ns=80)
    columns = ["start_ns", "end_ns", "hardirq_ns", "poll_ns", "ns"]
    rows = {device: of[columns].values.tolist() for device, of in answer.frame.groupby("device")}
    assert rows == {
        "eth0": [[100, 160, 10, 39, 49]],
        "(no_device)": [[240, 320, 0, 20, 20], [320, 400, 0, 20, 20]],
    }
    assert answer.frame["cpu_share"].iloc[0] == 49 / 60
    assert answer.plot(device="eth0").get_title(loc="left") == "eth0"
    with pytest.raises(ArgumentError, match=r"'eth1'.* eth0"):
        answer.plot(device="eth1")
    assert [panel["device"] for panel in answer.question.pictures[""].panels(answer)] == ["eth0"]


# napi/eth0: 100  150 180  200, then openssl, whose softirq polls from 250 to 290.
def test_polls_of_a_thread_are_their_devices(tmp_path: Path) -> None:
    polls = h.NapiPoll(150, "eth0", 4), h.NapiPoll(180, "eth0", 6)
    thread = h.Switch(100, NAPI_THREAD), *polls, h.Switch(200, OPENSSL, 1)
    own = softirq(250, 300, h.NapiPoll(290, "eth0", 3))
    drawing = cpu(0, *thread, *own, h.Waking(500, UDPSINK), task=OPENSSL)
    written = recording(drawing, known=(OPENSSL, NAPI_THREAD)).write(tmp_path / "perf.data")
    row = rows_of(device_time(netcost.open_capture(written).timeline()))["eth0", 0]
    assert (row["poll_ns"], row["packets"], row["timed_packets"]) == (80 + 40, 13, 13)


@pytest.mark.parametrize("sample", ["quiet-interface.netcost.tar.zst", "nic-stolen-time"])
def test_rows_add_up_to_the_ledgers_sums_and_windows_to_the_whole(sample: str) -> None:
    made = opened(SAMPLES / sample)
    sums, rows = made.sums(), device_time(made)
    network = (sums["context"] == "softirq") & sums["id"].isin([2, 3])
    expected = sums.loc[sums["context"].isin(["hardirq", "poll"]) | network, "ns"].sum()
    assert rows["ns"].sum() == expected
    assert rows["interrupts"].sum() == (made.hardirqs["context"] == "hardirq").sum()
    assert rows["packets"].sum() == made.polls["work"].sum()
    assert rows["polls"].sum() == len(made.polls)
    parts = [device_time(made.capture.timeline(*window)) for window in ((None, 0.4), (0.4, None))]
    for name in ("ns", "hardirq_ns", "poll_ns", "outside_polls_ns", "interrupts"):
        assert pd.concat(parts)[name].sum() == rows[name].sum()


@pytest.mark.parametrize("sample", NICS[:2], ids=lambda path: path.name[:14])
def test_interrupt_time_is_that_of_perf_kwork(sample: Path) -> None:
    made = opened(sample)
    assert made.capture.bundle
    expected: dict[int, list[int]] = {}
    for work in perf_kwork(made.capture.bundle.trace, "irq"):
        both = expected.setdefault(work.id, [0, 0])
        both[0] += work.total_ns
        both[1] += work.count
    counts = device_lines(made).set_index("irq")["interrupts"]
    assert counts.to_dict() == {irq: count for irq, (_, count) in expected.items()}
    # perf prints microseconds, and a row for each line and CPU.
    total = sum(ns for ns, _ in expected.values())
    assert abs(device_time(made)["hardirq_ns"].sum() - total) < 1000 * len(expected) * 2


# device_lines: which line is whose, on drawn timelines and beside /proc/interrupts.


def test_a_line_is_mapped_by_polls_then_by_name_then_by_bus(tmp_path: Path) -> None:
    first, second = device_cpus()
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
