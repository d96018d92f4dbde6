# What shares are of: windows that roll over a life, of which those in which it came or went say
# nothing of a change; and what the kernel counted of a run of which the recording is a part.

import json
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.timeline.task import ALL
from netcost_analysis.units import duration
from support.asked import effective_share, rolling_stolen, run_queue
from support.doctored import doctored
from support.host import SAMPLES
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import OPENSSL, UDPSINK, timeline


# openssl |irq 32 50..60| every 100 ns, until it ends at 3050, and the recording at 3150. As it ends
# nothing changes for it: 10 ns of each 100 that it was there are stolen.
def test_a_victim_that_ends_is_no_change(tmp_path: Path) -> None:
    each = [(h.IrqEntry(at + 50, 32), h.IrqExit(at + 60, 32)) for at in range(0, 3_000, 100)]
    ends = (h.Exit(3_040), h.Switch(3_050, h.idle(0), 0x20), h.Waking(3_150, UDPSINK))
    told = (h.Waking(0, UDPSINK), *(one for pair in each for one in pair), *ends)
    line = timeline(tmp_path, cpu(0, *told, task=OPENSSL))
    got = rolling_stolen(line, 500, 100, victim="openssl")
    assert got["lifetime_ns"].tolist() == [500] * 26 + [450, 350]
    told = line.ask.stolen_time.rolling_stolen(window_ns=500, step_ns=100, victim="openssl")
    for name in ("most", "least", "before", "after"):
        assert told.tables["extremes"].set_index("extreme")["stolen_cpu_share"][name] == 0.1
    assert told.words.count("10.0 %") == 4
    every = rolling_stolen(line, 500, 100, by="comm", victim=ALL)
    assert (
        every.loc[every["comm"] == "openssl", "lifetime_ns"].tolist() == got["lifetime_ns"].tolist()
    )
    assert rolling_stolen(line, 500, 100, victim=ALL)["lifetime_ns"].isna().all()


# Of 2 s the kernel charged the victim for 1.98 s; the recording has 1.16 ms of it: what of them it
# was charged for nobody knows.
def test_what_was_counted_of_a_run_is_not_of_the_recording(tmp_path: Path) -> None:
    line = netcost.open_capture(doctored(tmp_path / "b")).timeline()
    shares = effective_share(line)
    row = shares.loc["openssl"]
    assert row["lifetime_ns"] == row["lifetime_max_ns"] < 2_000_000
    assert (row["monitor_from"], row["monitor_share"]) == ("counted", 0.99)
    assert row["monitor_of_ns"] == 2_000_000_000
    assert row["overcharged_share"] == -row["effective_max_share"]
    assert row["overcharged_max_share"] == 1 - row["effective_share"]
    words = line.ask.stolen_time.effective_share().words
    for figure in ("run of 2.00", duration(row["lifetime_ns"])):
        assert figure in words
    row = effective_share(line.capture.timeline(0, 0.0005)).loc["openssl"]
    assert (row["monitor_from"], row["monitor_of_ns"]) == ("traced", 500_000)
    assert row["monitor_of_ns"] == row["lifetime_max_ns"]


# A run that is all in the recording has one whole.
def test_what_was_counted_of_a_run_that_was_recorded_is_of_its_life(tmp_path: Path) -> None:
    bundle = doctored(tmp_path / "b")
    told = json.loads((bundle / "manifest.json").read_text())
    told["victim"]["wall_s"] = 0.00116
    (bundle / "manifest.json").write_text(json.dumps(told))
    row = effective_share(netcost.open_capture(bundle).timeline()).loc["openssl"]
    assert row["monitor_of_ns"] == pytest.approx(row["lifetime_max_ns"], rel=0.001)


# Before its first event CPU 1 is said to have been openssl's since 0, which was on CPU 0 until 500:
# of its life of 1,000 it had CPU 0 for 500, CPU 1 for 500, and neither twice.
#   CPU 0  openssl        |idle
#   CPU 1  (openssl)      |(openssl)  |openssl
#          0            500         700         1000
@pytest.mark.parametrize("cpus", [[0], [1]])
def test_what_it_had_of_one_cpu_is_not_cut_by_the_other(tmp_path: Path, cpus: list[int]) -> None:
    first = cpu(0, h.Waking(0, UDPSINK), h.Switch(500, h.idle(0), 1), task=OPENSSL)
    other = cpu(1, h.Waking(700, UDPSINK), h.Waking(1_000, UDPSINK), task=OPENSSL)
    line = timeline(tmp_path, first, other)
    assert line.lives.set_index("comm").loc["openssl", "twice_ns"] == 500
    for by in ("comm", "tid"):
        row = effective_share(line.capture.timeline(cpus=cpus), by).iloc[0]
        assert row["effective_share"] == row["effective_max_share"] == 0.5
    assert effective_share(line).loc["openssl", "effective_share"] == 1


# What a count alone proves may have been all that a task ran, and is no more than that.
@pytest.mark.parametrize("by", ["comm", "tid"])
def test_no_share_is_below_nothing(by: Any) -> None:
    line = netcost.open_capture(SAMPLES / "stolen-time-top.netcost.tar.zst").timeline()
    shares = effective_share(line, by)
    assert shares["effective_share"].min() >= 0
    for share in ("monitor", "effective", "overcharged"):
        assert (shares[f"{share}_share"] <= shares[f"{share}_max_share"] + 1e-12).all()


# udpsink is woken at 60 and has the CPU at 700, which the window from 500 to 1,000 sees the end of.
def test_a_wait_from_before_a_window_has_its_share_of_it(tmp_path: Path) -> None:
    told = (h.Waking(0, UDPSINK), h.Wakeup(60, UDPSINK), h.Switch(700, UDPSINK, 256))
    line = timeline(tmp_path, cpu(0, *told, h.Waking(1_000, UDPSINK), task=OPENSSL))
    part = line.capture.timeline(5e-7, 1e-6)
    for by in ("comm", "tid", "cpu"):
        rows = run_queue(part, by).set_index("waited_after")
        row = rows.loc["wake-up"]
        # The wait itself is what it was.
        assert (row["waits"], row["ns"], row["longest_ns"], row["waited_ns"]) == (1, 640, 640, 200)
        assert row["wait_share"] == row["wait_max_share"] == 200 / 500
        whole = run_queue(line, by).set_index("waited_after").loc["wake-up"]
        assert whole["ns"] == whole["waited_ns"] == 640


def test_nobody_waits_for_longer_than_it_was_there() -> None:
    capture = netcost.open_capture(SAMPLES / "stolen-time-top.netcost.tar.zst")
    rows = run_queue(capture.timeline(0.60432191, 1.81296573))
    assert (rows["ns"] > rows["waited_ns"]).any()
    assert rows.groupby(["tid", "comm"])["wait_max_share"].sum().max() <= 1
