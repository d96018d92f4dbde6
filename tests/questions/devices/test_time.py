# device_time, device_matrix and device_lines: on a drawn timeline, and beside perf kwork and
# /proc/interrupts.

from pathlib import Path
from typing import Any

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
    device_summary,
    device_time,
    device_time_series,
)
from support.device_bundles import opened
from support.device_timelines import drawn, rows_of
from support.host import SAMPLES
from support.oracle import perf_kwork
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.timelines import timeline
from support.told import NAPI_THREAD, NET_RX, OPENSSL, UDPSINK

NICS = sorted((SAMPLES / "nic-guest").glob("*.zst"))


def test_a_device_is_its_interrupts_and_polls(tmp_path: Path) -> None:
    made = timeline(tmp_path, *drawn())
    rows = rows_of(device_time(made))
    eth0 = rows["eth0", 0]
    assert eth0["kind"] == "device"
    assert (eth0["hardirq_ns"], eth0["poll_ns"], eth0["ns"]) == (10, 39, 49)
    assert (eth0["interrupts"], eth0["polls"], eth0["packets"]) == (1, 2, 6)
    # From the first event to the last, 100 to 400.
    assert eth0["cpu_share"] == pytest.approx(49 / 300)
    assert eth0["interrupts_per_s"] == pytest.approx(1e9 / 300)
    assert eth0["unknown_share"] == 0


def test_what_no_device_can_be_charged_with_has_rows_of_its_own(tmp_path: Path) -> None:
    rows = rows_of(device_time(timeline(tmp_path, *drawn())))
    assert set(rows) == {
        ("eth0", 0),
        ("NET_RX", 0),
        ("irq 40 nvme0q1", 0),
        (BACKLOG_POLL, 1),
        ("NET_RX", 1),
    }
    disk, backlog = rows["irq 40 nvme0q1", 0], rows[BACKLOG_POLL, 1]
    assert (disk["kind"], disk["ns"], disk["interrupts"], disk["polls"]) == ("line", 30, 1, None)
    assert (backlog["kind"], backlog["ns"], backlog["packets"]) == ("backlog", 40, 5)
    assert backlog["interrupts"] is None
    assert [rows["NET_RX", one]["outside_polls_ns"] for one in (0, 1)] == [5, 5]
    assert rows["NET_RX", 0]["hardirq_ns"] is None


def test_the_matrix_has_a_row_per_thief_and_cpu(tmp_path: Path) -> None:
    answer = timeline(tmp_path, *drawn()).ask.devices.device_matrix()
    rows = answer.frame.set_index(["thief", "cpu"])
    assert list(rows.index[:4]) == [
        ("eth0", 0), ("eth0", 1), (BACKLOG_POLL, 0), (BACKLOG_POLL, 1),
    ]  # fmt: skip
    assert rows["ns"][:4].tolist() == [49, 0, 0, 40]
    assert rows["cpu_share"][:2].tolist() == pytest.approx([49 / 300, 0])
    assert rows["interrupts_per_s"][:2].tolist() == pytest.approx([1e9 / 300, 0])
    assert rows.loc["NET_RX", "interrupts_per_s"].isna().all()
    ax = answer.plot()
    assert [one.get_text() for one in ax.get_yticklabels()][:2] == [
        "eth0",
        BACKLOG_POLL,
    ]
    assert "16.3 %, 3,333,333/s" in [one.get_text() for one in ax.texts]
    # Of both CPUs: the backlog's 40 ns and 10 ns of NET_RX, over 300 ns.
    kinds = answer["kinds"].set_index("kind")
    assert kinds.loc["backlog"].tolist() == [40, 40 / 300]
    assert kinds.loc["softirq"].tolist() == [10, 10 / 300]


def without(*formats: Any) -> tuple[Any, ...]:
    return tuple(one for one in t.FORMATS if one not in formats)


def test_without_interrupts_their_part_is_unknown(tmp_path: Path) -> None:
    formats = without(t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT)
    rows = rows_of(device_time(timeline(tmp_path, *drawn(), formats=formats)))
    eth0 = rows["eth0", 0]
    assert eth0["hardirq_ns"] is None
    assert eth0["interrupts"] is None
    assert eth0["ns"] == eth0["poll_ns"] == 39


def test_without_polls_lines_have_no_device(tmp_path: Path) -> None:
    rows = rows_of(device_time(timeline(tmp_path, *drawn(), formats=without(t.NAPI_POLL))))
    line = rows["irq 32 virtio0-input.0", 0]
    assert (line["kind"], line["device"], line["ns"], line["polls"]) == ("line", None, 10, None)


def test_polls_without_a_begin_have_counts_and_no_time(tmp_path: Path) -> None:
    rows = rows_of(device_time(timeline(tmp_path, *drawn(), formats=(t.NAPI_POLL,))))
    eth0 = rows["eth0", 0]
    assert (eth0["poll_ns"], eth0["ns"], eth0["cpu_share"]) == (None, None, None)
    assert (eth0["polls"], eth0["packets"], eth0["timed_packets"]) == (2, 6, 0)
    matrix = rows_of(device_matrix(timeline(tmp_path, *drawn(), formats=(t.NAPI_POLL,))))
    assert [matrix["eth0", cpu]["cpu_share"] for cpu in (0, 1)] == [None, 0]


def test_neither_interrupts_nor_polls_is_an_error(tmp_path: Path) -> None:
    made = timeline(tmp_path, *drawn(), formats=(t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT))
    for question in (
        *(device_time, device_matrix, device_time_series),
        *(device_cost, device_summary),
    ):
        with pytest.raises(MissingEventsError, match=r"napi:napi_poll.*--profile light"):
            question(made)


def test_nothing_happened(tmp_path: Path) -> None:
    quiet = cpu(0, h.Waking(100, UDPSINK), h.Waking(400, UDPSINK), task=OPENSSL)
    made = timeline(tmp_path, quiet)
    assert device_time(made).empty
    assert device_lines(made).empty
    assert device_cost(made).empty
    assert device_flags(made).empty
    assert device_time_series(made).empty
    answer = made.ask.devices.device_matrix()
    assert answer.frame.empty
    assert answer.words
    with pytest.raises(netcost.CaptureError, match="nothing to draw"):
        answer.plot()


# 100 irq: lost at 120 ... 180. What is unknown is in unknown_share.
def test_a_loss_shows_as_coverage(tmp_path: Path) -> None:
    made = timeline(
        tmp_path,
        cpu(
            0,
            h.IrqEntry(100, 32, "eth0-rx-0"),
            h.IrqExit(110, 32),
            h.Lost(180, 5),
            h.IrqEntry(200, 32, "eth0-rx-0"),
            h.IrqExit(210, 32),
            h.Waking(300, UDPSINK),
            task=OPENSSL,
        ),
    )
    row = device_time(made).iloc[0]
    unknown = int((made.coverage["end_ns"] - made.coverage["start_ns"]).sum())
    assert unknown > 0
    assert row["unknown_share"] == pytest.approx(unknown / made.duration_ns)
    assert row["interrupts"] == 2


# The window is 100 to 400, bins are 80 to 160, 160 to 240, ...
def test_bins_are_cut_by_the_window(tmp_path: Path) -> None:
    answer = timeline(tmp_path, *drawn()).ask.devices.device_time_series(bin_ns=80)
    eth0 = answer.frame[answer.frame["device"] == "eth0"]
    assert eth0[["start_ns", "end_ns", "hardirq_ns", "poll_ns"]].values.tolist() == [
        [100, 160, 10, 39]
    ]
    assert eth0["cpu_share"].tolist() == [49 / 60]
    rest = answer.frame[answer.frame["device"] == "(no_device)"]
    assert rest[["start_ns", "end_ns", "ns"]].values.tolist() == [[240, 320, 20], [320, 400, 20]]
    ax = answer.plot(device="eth0")
    assert ax.get_title(loc="left") == "eth0"
    with pytest.raises(ArgumentError, match=r"'eth1'.* eth0"):
        answer.plot(device="eth1")
    assert [panel["device"] for panel in answer.question.pictures[""].panels(answer)] == ["eth0"]


# napi/eth0: 100  150 180  200, then openssl, whose softirq polls from 250 to 290.
def test_polls_of_a_thread_are_their_devices(tmp_path: Path) -> None:
    drawing = cpu(
        0,
        h.Switch(100, NAPI_THREAD),
        h.NapiPoll(150, "eth0", 4),
        h.NapiPoll(180, "eth0", 6),
        h.Switch(200, OPENSSL, 1),
        h.SoftirqEntry(250, NET_RX),
        h.NapiPoll(290, "eth0", 3),
        h.SoftirqExit(300, NET_RX),
        h.Waking(500, UDPSINK),
        task=OPENSSL,
    )
    written = recording(drawing, known=(OPENSSL, NAPI_THREAD)).write(tmp_path / "perf.data")
    row = rows_of(device_time(netcost.open_capture(written).timeline()))["eth0", 0]
    assert (row["poll_ns"], row["packets"], row["timed_packets"]) == (80 + 40, 13, 13)


@pytest.mark.parametrize("sample", ["quiet-interface.netcost.tar.zst", "nic-stolen-time"])
def test_rows_add_up_to_the_ledgers_sums(sample: str) -> None:
    made = opened(SAMPLES / sample)
    sums = made.sums()
    network = (sums["context"] == "softirq") & sums["id"].isin([2, 3])
    expected = sums.loc[sums["context"].isin(["hardirq", "poll"]) | network, "ns"].sum()
    rows = device_time(made)
    assert rows["ns"].sum() == expected
    counted = made.hardirqs["context"] == "hardirq"
    assert rows["interrupts"].sum() == counted.sum()
    assert rows["packets"].sum() == made.polls["work"].sum()
    assert rows["polls"].sum() == len(made.polls)


def test_windows_add_up() -> None:
    capture = opened(SAMPLES / "nic-stolen-time").capture
    cut = 0.4
    whole, first, second = (
        device_time(capture.timeline(*window))
        for window in ((None, None), (None, cut), (cut, None))
    )
    for name in ("ns", "hardirq_ns", "poll_ns", "outside_polls_ns", "interrupts"):
        assert first[name].sum() + second[name].sum() == whole[name].sum()


@pytest.mark.parametrize("sample", NICS[:2], ids=lambda path: path.name[:14])
def test_interrupt_time_is_that_of_perf_kwork(sample: Path) -> None:
    capture = opened(sample).capture
    assert capture.bundle
    expected: dict[int, list[int]] = {}
    for work in perf_kwork(capture.bundle.trace, "irq"):
        both = expected.setdefault(work.id, [0, 0])
        both[0] += work.total_ns
        both[1] += work.count
    made = capture.timeline()
    times = device_time(made)
    counts = device_lines(made).set_index("irq")["interrupts"]
    assert counts.to_dict() == {irq: count for irq, (_, count) in expected.items()}
    # perf prints microseconds, and a row for each line and CPU.
    total = sum(ns for ns, _ in expected.values())
    assert abs(times["hardirq_ns"].sum() - total) < 1000 * len(expected) * 2
