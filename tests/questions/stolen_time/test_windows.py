# Windows that roll over a timeline: on a drawn one, and as parts of what stolen() says.

from pathlib import Path

import pandas as pd
import pytest

from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.stolen_time.rolling_stolen import (
    spread,
    unknown_in,
    usual,
)
from netcost_analysis.timeline.owners import KIND_COLUMNS
from netcost_analysis.timeline.task import ALL
from support.asked import rolling_stolen, stolen
from support.kept import kept
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import OPENSSL, UDPSINK, interrupted, timeline

BUNDLES = ["nic-stolen-time", "stolen-time-top.netcost.tar.zst", "veth-stolen-time"]


def test_windows_roll(tmp_path: Path) -> None:
    line = timeline(tmp_path, interrupted())
    origin = line.summary["start_ns"]
    assert origin % 100 == 0
    got = rolling_stolen(line, window_ns=200, step_ns=100, victim=ALL)
    assert (got["start_ns"] - origin).tolist() == [0, 100, 200]
    assert (got["end_ns"] - origin).tolist() == [200, 300, 400]
    assert got["on_cpu_ns"].tolist() == [200, 200, 200]
    # 20 of hardirq and 50 of softirq; 20 of the disk's.
    assert got["stolen_ns"].tolist() == [70, 20, 20]
    assert got["stolen_network_ns"].tolist() == [70, 0, 0]
    assert got["hardirq_ns"].tolist() == [20, 20, 20]
    # Of the softirq's 50 its poll ended after 40.
    assert got["poll_ns"].tolist() == [40, 0, 0]
    assert got["network_outside_polls_ns"].tolist() == [10, 0, 0]
    kinds = got[list(KIND_COLUMNS.values())]
    assert kinds.sum(axis=1).tolist() == got["stolen_max_ns"].tolist()
    assert got["task_ns"].tolist() == [130, 180, 180]
    assert got["stolen_cpu_share"].tolist() == pytest.approx([0.35, 0.1, 0.1])
    one = rolling_stolen(line, 200, 100, victim="openssl")
    assert one["on_cpu_ns"].tolist() == [200, 200, 160]
    assert one["stolen_share"].tolist() == pytest.approx([0.35, 0.1, 0.125])
    by = rolling_stolen(line, 200, 100, by="comm", victim=ALL).set_index(["comm", "start_ns"])
    assert by.loc[("udpsink", origin + 200), "on_cpu_ns"] == 40
    answer = line.ask.stolen_time.rolling_stolen(window_ns=100, step_ns=100, victim=ALL)
    extremes = answer.tables["extremes"].set_index("extreme")["stolen_ns"]
    assert extremes.to_dict() == {"most": 70, "least": 0, "before": 70, "after": 0}


# What is unknown from 100 to 200 is half of the windows that hold it.
def test_windows_say_how_much_is_known(tmp_path: Path) -> None:
    line = timeline(tmp_path, interrupted())
    frame = rolling_stolen(line, 200, 100, victim=ALL)
    assert frame["unknown_cpu_share"].tolist() == [0.0] * 3
    sums = line.sums(100).copy()
    hole = (sums["bin_ns"] == sums["bin_ns"].min() + 100) & (sums["context"] == "task")
    sums.loc[hole, "context"] = "unknown"
    assert unknown_in(sums, frame, 100).tolist() == [0.5, 0.5, 0.0]


def test_windows_are_cut_where_the_timeline_is(tmp_path: Path) -> None:
    line = timeline(tmp_path, interrupted(5))
    got = rolling_stolen(line, window_ns=300, step_ns=300, victim=ALL)
    assert (got["end_ns"] - got["start_ns"]).tolist() == [295, 100]
    assert got["on_cpu_ns"].tolist() == [295, 100]
    long = rolling_stolen(line, window_ns=9_000, step_ns=3_000, victim=ALL)
    assert (long["end_ns"] - long["start_ns"]).tolist() == [395]


def test_windows_that_cannot_be(tmp_path: Path) -> None:
    line = timeline(tmp_path, interrupted())
    with pytest.raises(ArgumentError, match="of steps"):
        rolling_stolen(line, 250, 100)
    with pytest.raises(ArgumentError, match="by="):
        rolling_stolen(line, by="comn")  # type: ignore[arg-type]


# Of eleven windows a tenth, two tenths, ... of one percent; two more cannot be compared: the victim
# came in one, and most of another is unknown.
def test_the_spread_is_of_windows_that_can_be_compared() -> None:
    frame = pd.DataFrame(
        {
            "start_ns": [100 * number for number in range(13)],
            "end_ns": [100 * number + 100 for number in range(13)],
            "on_cpu_ns": pd.array([100] * 12 + [40], dtype="Int64"),
            "lifetime_ns": pd.array([100] * 12 + [40], dtype="Int64"),
            "unknown_cpu_share": [0.0] * 11 + [0.5, 0.0],
            "stolen_max_share": [number / 1000 for number in range(11)] + [0.9, 0.9],
        }
    )
    assert len(usual(frame)) == 11
    shares = {"low_share": 0.001, "high_share": 0.009, "most_share": 0.010}
    assert spread(frame) == pytest.approx(shares)
    assert spread(frame[:4]) is None
    assert spread(frame.assign(stolen_max_share=0.0)) is None


def test_windows_of_nothing(tmp_path: Path) -> None:
    line = timeline(tmp_path, cpu(0, h.Waking(5, UDPSINK), task=OPENSSL))
    assert len(rolling_stolen(line)) == 0
    assert len(rolling_stolen(line, by="tid")) == 0


def test_windows_without_switches(tmp_path: Path) -> None:
    formats = (*t.IRQ_FORMATS, t.NAPI_POLL)
    got = rolling_stolen(timeline(tmp_path, interrupted(), formats=formats), 200, 100)
    assert got["on_cpu_ns"].isna().all()
    assert got["stolen_share"].isna().all()
    assert got["stolen_cpu_share"].notna().all()


@pytest.mark.parametrize("name", BUNDLES)
def test_windows_of_one_step_add_up(name: str) -> None:
    sample = kept(name).timeline()
    width = 7_000_000
    losses = stolen(sample).victims
    got = rolling_stolen(sample, width, width, by="comm", victim=ALL).groupby("comm")
    for name in ("on_cpu_ns", "task_ns", "stolen_ns", "stolen_max_ns", "unknown_ns"):
        summed = got[name].sum()
        # When softirqs ran that were not recorded nobody knows: they are in no window.
        unseen = losses["stolen_unrecorded_ns"] if name == "stolen_max_ns" else 0
        assert summed.to_dict() == (losses[name] - unseen).loc[summed.index].to_dict()
    wide = rolling_stolen(sample, 5 * width, width, victim=ALL)
    steps = rolling_stolen(sample, width, width, victim=ALL)["stolen_ns"].to_numpy()
    assert wide["stolen_ns"].tolist() == [steps[at : at + 5].sum() for at in range(len(wide))]
    assert wide["end_ns"].iloc[-1] == sample.summary["end_ns"]
