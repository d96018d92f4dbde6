# The pictures of stolen time on frames made by hand: what is drawn is what the frame says.

import re
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netcost_analysis.plots import stolen_time as plots
from netcost_analysis.plots.palette import style
from netcost_analysis.plots.victim import thieves
from netcost_analysis.timeline.owners import KIND_COLUMNS

NUMBER = re.compile(r"\d+\.\d+")
LONG = "a-name-that-is-far-too-long-for-an-axis"


@pytest.fixture
def ax() -> Iterator[Axes]:
    mpl.use("agg")
    with style():
        axes = Figure(figsize=(10, 3)).subplots()
        yield axes
        figure = axes.get_figure(root=True)
        assert figure is not None
        figure.canvas.draw()
        assert axes.get_xlabel(), "an axis without its unit"


def widths(ax: Axes) -> list[float]:
    return [round(float(bar.get_width()), 6) for bar in ax.patches if bar.get_width()]


def words(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def rows(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def test_classes_are_stacked_with_what_was_waited_last(ax: Axes) -> None:
    frame = pd.DataFrame(
        [
            ("openssl", "own", None, 300),
            ("openssl", "stolen", "yes", 500),
            ("openssl", "stolen", "no", 20),
            ("openssl", "displaced", "yes", 100),
            ("(idle)", "idle", None, 9_000),
        ],
        columns=["comm", "cost_class", "is_network", "ns"],
    )
    plots.classes(ax, frame)
    assert rows(ax) == ["openssl"]
    assert widths(ax) == [500, 20, 300, 100]
    assert ax.patches[-1].get_hatch() == "..."


# What the kernel counted is of the run, of which the recording may be a part.
@pytest.mark.parametrize(
    ("known_from", "figures"), [("traced", ["90.0", "40.0"]), ("counted", ["90.0", "4.00", "40.0"])]
)
def test_monitor_draws_shown_and_had(ax: Axes, known_from: str, figures: list[str]) -> None:
    frame = pd.DataFrame(
        {
            "monitor_share": [0.2, 0.9, np.nan],
            "monitor_from": known_from,
            "monitor_of_ns": pd.array([4_000_000_000, 4_000_000_000, pd.NA], dtype="Int64"),
            "effective_share": [0.2, 0.4, 0.1],
            "on_cpu_ns": pd.array([2, 9, 8], dtype="Int64"),
            "task_ns": pd.array([2, 4, 7], dtype="Int64"),
        },
        index=pd.Index(["cat", "openssl", "sh"], name="comm"),
    )
    # Those who lost most, and before them the one in question.
    plots.monitor(ax, frame, "cat")
    assert rows(ax) == ["cat", "openssl", "sh"]
    (said,) = words(ax)
    assert NUMBER.findall(said) == figures


def episode(ns: int, packets: int | None) -> dict[str, object]:
    parts = dict.fromkeys(KIND_COLUMNS.values(), 0)
    start = {"comm": LONG, "cpu": 1, "start_ns": 1_500_000_000}
    return {**parts, **start, "wall_ns": ns, "poll_ns": ns, "packets": packets}


def test_longest_says_when_how_long_and_how_many(ax: Axes) -> None:
    frame = pd.DataFrame([episode(4_000_000, 320), episode(2_000_000, None), episode(500, 1)])
    plots.longest(ax, frame, origin_ns=1_000_000_000)
    first, *others = rows(ax)
    assert first.split(", ") == [f"{LONG[:21]}…", "CPU 1", "at 0.500000 s"]
    assert len(others) == 2
    told = [text.split(", ") for text in words(ax)]
    assert told == [["4.00 ms", "320 packets"], ["2.00 ms"], ["500 ns", "1 packet"]]
    assert widths(ax) == [4, 2, 0.0005]


def test_when_draws_a_lane_for_each_thread(ax: Axes) -> None:
    frame = pd.DataFrame(
        {
            "comm": ["ksoftirqd/0", "napi/eth0-1", "napi/eth0-1"],
            "network_ns": [10, 20, 30],
            "start_ns": [0, 200, 900],
            "end_ns": [100, 700, 901],
        }
    )
    plots.when(ax, frame, (0, 1_000), 0)
    assert rows(ax) == ["napi/eth0-1", "ksoftirqd/0"]
    assert len(ax.collections) == 2
    assert ax.get_xlim() == (0, 1_000)


def test_waited_sums_the_others(ax: Axes) -> None:
    frame = pd.DataFrame({"comm": ["a", "b", "c", "a"], "ns": [5_000, 3_000, 1_000, 5_000]})
    plots.waited(ax, frame, most=1)
    assert rows(ax) == ["a", "2 others"]
    assert words(ax) == ["10.0 µs", "4.00 µs"]


def test_nothing_to_draw(ax: Axes) -> None:
    plots.classes(ax, pd.DataFrame(columns=["comm", "cost_class", "is_network", "ns"]))
    plots.longest(ax, pd.DataFrame([episode(1, 0)]).head(0), 0)
    plots.waited(ax, pd.DataFrame({"comm": [], "ns": []}))
    assert widths(ax) == []


def test_a_thief_listed_twice_says_which_of_its_runs_are_the_networks(ax: Axes) -> None:
    names = ["local_timer", "irq 32", "local_timer"]
    rows = pd.DataFrame({"thief": names, "kind": "vector", "stolen_max_ns": [30, 20, 10]})
    rows["stolen_max_share"] = [0.3, 0.2, 0.1]
    thieves(ax, rows.assign(is_network=["no", "yes", "yes"]))
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["local_timer, no network", "irq 32", "local_timer, network"]
