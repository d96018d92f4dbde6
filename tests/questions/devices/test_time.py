# device_time, device_matrix and device_time_series: on drawn timelines, and beside perf kwork.

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.requires import MissingEventsError
from netcost_analysis.errors import ArgumentError
from netcost_analysis.timeline.owners import BACKLOG_POLL
from support.asked import device_cost, device_flags, device_lines, device_matrix, device_time
from support.device_bundles import opened
from support.device_timelines import drawn, rows_of
from support.host import SAMPLES
from support.interrupt_pairs import irq, softirq
from support.oracle import perf_kwork
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.timelines import timeline
from support.told import NAPI_THREAD, OPENSSL, UDPSINK

NICS = sorted((SAMPLES / "nic-guest").glob("*.zst"))


# What no device can be charged with has rows of its own.
def test_time_by_device_and_of_no_device(tmp_path: Path) -> None:
    rows = rows_of(device_time(timeline(tmp_path, *drawn())))
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
    answer = timeline(tmp_path, *drawn()).ask.devices.device_matrix()
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
    made = timeline(tmp_path, *drawn(), formats=tuple(formats))
    row = rows_of(device_time(made))[thief, 0]
    assert {name: row[name] for name in expected} == expected
    matrix = rows_of(device_matrix(made))
    shares = [matrix[thief, number]["cpu_share"] for number in (0, 1)]
    assert shares == [row["cpu_share"], 0]


def test_neither_interrupts_nor_polls_is_an_error(tmp_path: Path) -> None:
    made = timeline(tmp_path, *drawn(), formats=(t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT))
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
    answer = timeline(tmp_path, *drawn()).ask.devices.device_time_series(bin_ns=80)
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
