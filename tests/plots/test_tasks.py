# The pictures of processes: too much of it, and what is unknown.

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from netcost_analysis.plots import tasks
from netcost_analysis.plots.palette import CAUSE, TASK_STATE
from support.pictures import DEFICIENT, lab


def labels(ax: Axes) -> list[str]:
    return [one.get_text() for one in ax.get_yticklabels()]


def legend(ax: Axes) -> list[str]:
    shown = ax.get_legend()
    return [one.get_text() for one in shown.get_texts()] if shown else []


def test_softirqs_of_many_tasks(ax: Axes) -> None:
    rows = pd.DataFrame({"tid": pd.array(range(30), dtype="Int64")})
    rows["ns"] = range(1_000, 31_000, 1_000)
    rows["comm"] = ["swapper", *[f"task {number}" + "x" * 40 for number in range(1, 30)]]
    rows["action"] = ["NET_RX", "TIMER"] * 15
    rows["cost_class"] = ["from_idle", *["stolen"] * 29]
    tasks.softirqs_by_task(ax, rows, ["NET_RX"])
    assert len(labels(ax)) == 11
    assert labels(ax)[-2:] == ["20 others", "idle"]
    kinds = legend(ax)
    assert kinds[:2] == ["stolen, network", "stolen, other"]
    assert "idle" in kinds[2]
    # The bars are all of the time.
    width = sum(bar.get_width() for bar in ax.patches)  # type: ignore[attr-defined]
    assert width == pytest.approx(sum(range(1, 31)))


def test_endpoints_of_which_little_is_known(ax: Axes) -> None:
    frame = pd.DataFrame(
        {
            "side": ["client", "server"],
            "tid": pd.array([7, pd.NA], dtype="Int64"),
            "comm": ["$x_{1", "a" * 40],
            "on_cpu_ns": [500, 100],
            "task_ns": [300, 100],
            "network_softirq_ns": [150, 0],
            "waited_ns": [pd.NA, 50],
            "asleep_between_ns": [pd.NA, pd.NA],
        }
    )
    tasks.endpoints(ax, frame, 1_000)
    widths = [bar.get_width() for bar in ax.patches]  # type: ignore[attr-defined]
    # The last two, hatched, are what is left.
    assert sum(widths[0:-2:2]) == pytest.approx(50)
    assert sum(widths[1:-2:2]) == pytest.approx(15)
    assert widths[-2:] == pytest.approx([50, 85])
    assert ax.get_xlim() == (0, 100)


@pytest.mark.parametrize("curves", [1, 0])
def test_waits_fall_to_the_longest(ax: Axes, curves: int) -> None:
    lengths = [1_000, 3_000, 2_000, 4_000, 9_000]
    rows = pd.DataFrame({"tid": pd.array([1] * 5, dtype="Int64"), "comm": "a"})
    rows = rows.assign(low=lengths, high=lengths, count=[1, 2, 1, 1, 1])
    rows["waited_after"] = ["wake-up"] * 4 + ["runnable"]
    tasks.waits(ax, rows if curves else rows[:0])
    assert len(legend(ax)) == curves
    for curve in ax.get_lines():
        assert np.asarray(curve.get_xdata()).tolist() == [1, 2, 3, 4]
        assert np.asarray(curve.get_ydata()).tolist() == [100, 80, 60, 20]


def test_migrations_of_many_tasks(ax: Axes) -> None:
    rows = pd.DataFrame({"time_ns": range(0, 50_000, 1_000), "tid": range(50)})
    rows["comm"] = [f"name {number // 2}" for number in range(50)]
    rows["cause"] = ["wake-up", "balance"] * 25
    tasks.moves(ax, rows, (0, 50_000), (48,))
    assert labels(ax)[0].split() == ["name", "24", "48", "(1)"]
    assert labels(ax)[-1].startswith("16 other names")
    assert len(labels(ax)) == 11
    assert legend(ax) == ["wake-up (25)", "balance (25)"]
    assert sum(int(one.split("(")[-1][:-1]) for one in labels(ax)) == 50


def test_effects_known_and_not(ax: Axes) -> None:
    rows = pd.DataFrame({"measure": "run", "width_ns": [1_000_000, 10_000_000], "studied": [30, 3]})
    for name, value in (("effect", 0.05), ("effect_low", 0.01), ("effect_high", 0.09)):
        rows[name] = [value, np.nan]
    tasks.effects(ax, rows, "run")
    assert labels(ax) == ["1 ms (n=30)", "10 ms (n=3)"]
    assert [one.get_text() for one in ax.texts] == ["not known"]
    low, high = ax.get_xlim()
    assert low < 0 < 9 < high


def test_colours_and_marks_stay_apart() -> None:
    for eye in DEFICIENT.values():
        for palette in (TASK_STATE, CAUSE):
            seen = [lab(color, eye) for color in palette.values()]
            assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) >= 14
    assert len({mark for _, mark in tasks.CAUSES.values()}) == 4
