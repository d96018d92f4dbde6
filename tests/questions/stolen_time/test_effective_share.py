# What a task had and what a monitor shows of it, on drawn timelines and by the ticks of samples.

import json
from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from support.asked import effective_share, stolen
from support.host import SAMPLES
from support.large import take_in_parts
from support.oracle import printed
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.told import IDLE, NET_RX, OPENSSL, UDPSINK, interrupted, timeline


def test_effective_share_by_hand(tmp_path: Path) -> None:
    got = effective_share(timeline(tmp_path, interrupted())).loc["openssl"]
    assert (got["on_cpu_ns"], got["task_ns"]) == (360, 270)
    assert got["effective_share"] == pytest.approx(270 / 400)
    # No bundle, no configuration: what a monitor shows is not known.
    assert pd.isna(got["monitor_share"])
    assert pd.isna(got["overcharged_share"])


# A tick by a kernel that charges interrupts to the task (bundle's configuration), openssl:
#   own | irq 32 | NET_RX it raised itself | NET_RX of unknown origin | own
#   0  100     200  300                 450  500                    600    1000
def test_what_a_task_sends_itself_it_had(tmp_path: Path) -> None:
    happened = cpu(
        0,
        h.Waking(0, UDPSINK),
        h.IrqEntry(100, 32),
        h.IrqExit(200, 32),
        h.BhDisable(250),
        h.SoftirqRaise(260, NET_RX),
        h.SoftirqEntry(300, NET_RX),
        h.SoftirqExit(450, NET_RX),
        h.BhEnable(460),
        h.BhDisable(470),
        h.SoftirqEntry(500, NET_RX),
        h.SoftirqExit(600, NET_RX),
        h.BhEnable(610),
        h.Waking(1_000, UDPSINK),
        task=OPENSSL,
    )
    recording(happened, known=(OPENSSL, UDPSINK)).write(tmp_path / "trace.perf.data")
    manifest = {"netcost_bundle": 1, "trace": "trace.perf.data"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "kernel_config").write_text("CONFIG_TICK_CPU_ACCOUNTING=y\n")
    line = netcost.open_capture(tmp_path).timeline()
    losses = stolen(line).victims.loc["openssl"]
    assert losses[["task_ns", "synchronous_ns"]].tolist() == [650, 150]
    assert losses["stolen_or_synchronous_ns"] == 100
    got = effective_share(line).loc["openssl"]
    assert got["monitor_share"] == pytest.approx(1.0)
    assert got["effective_share"] == pytest.approx(0.8)
    assert got["effective_max_share"] == pytest.approx(0.9)
    assert got["overcharged_share"] == pytest.approx(0.1)
    assert got["overcharged_max_share"] == pytest.approx(0.2)


def test_ticks_and_what_they_interrupt(tmp_path: Path) -> None:
    line = timeline(
        tmp_path,
        cpu(
            0,
            h.VectorEntry(10),
            h.VectorExit(20),
            h.SoftirqRaise(30, NET_RX),
            h.SoftirqEntry(40, NET_RX),
            h.VectorEntry(50),
            h.VectorExit(60),
            h.SoftirqExit(90, NET_RX),
            h.Switch(100, IDLE, 1),
            h.VectorEntry(110),
            h.VectorExit(120),
            h.Waking(130, UDPSINK),
            task=OPENSSL,
        ),
    )
    got = effective_share(line)
    assert got.loc["openssl", ["ticks", "softirq_ticks"]].tolist() == [2, 1]


def test_ticks_are_those_that_perf_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "stolen-time-top.netcost.tar.zst"
    line = netcost.open_capture(SAMPLES / name).timeline()
    got = effective_share(line, by="tid")
    assert got["monitor_share"].notna().all()
    assert (got["overcharged_share"] > -1e-12).all()
    counts: dict[int, int] = {}
    for _, _, tid, event, _ in printed(name):
        if event == "irq_vectors:local_timer_entry" and tid > 0:
            counts[tid] = counts.get(tid, 0) + 1
    ticks = got["ticks"].groupby("tid").sum()
    # Where the ledger doubts a context, or perf wrote a record twice, a tick or two is in no row.
    assert abs(ticks.sum() - sum(counts.values())) <= 0.01 * sum(counts.values())
    victim = got.xs("openssl", level="comm").index[0]
    assert abs(ticks[victim] - counts[victim]) <= 1
    take_in_parts(monkeypatch, 1_000)
    again = effective_share(netcost.open_capture(SAMPLES / name).timeline(), by="tid")
    pd.testing.assert_frame_equal(got, again)
