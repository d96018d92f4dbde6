# Each picture on frames made by hand: what is drawn is what the frame says, empty frames draw too,
# and the palette holds for eyes that lack a cone.

import re
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import StepPatch

from netcost_analysis.plots.batches import batches, cost_by_batch, packets_per_softirq
from netcost_analysis.plots.lanes import lanes
from netcost_analysis.plots.palette import (
    ESTIMATE,
    KIND,
    KIND_NAMES,
    PART,
    PART_NAMES,
    VICTIM,
)
from netcost_analysis.plots.victim import answer, estimates, remedies, stolen_over_time, thieves
from netcost_analysis.questions.stolen_time.headline import PARTS
from netcost_analysis.timeline.owners import KIND_COLUMNS
from netcost_analysis.units import round_width
from support.pictures import DEFICIENT, lab


def widths(ax: Axes) -> list[float]:
    return [round(float(bar.get_width()), 6) for bar in ax.patches]


def words(ax: Axes) -> str:
    return " | ".join(text.get_text() for text in ax.texts)


def parts(known: bool = True, **ns: int) -> pd.DataFrame:
    whole = sum(ns.values()) if known else np.nan
    shares = [one / whole for one in ns.values()]
    return pd.DataFrame({"part": list(ns), "ns": list(ns.values()), "share": shares})


def test_answer_draws_each_part_to_scale_and_the_monitor_beside_it(ax: Axes) -> None:
    shown = parts(own=300_000_000, stolen_network=500_000_000, unknown=200_000_000)
    answer(ax, shown, "openssl", monitor_ns=900_000_000, displaced_ns=100_000_000)
    assert ax.get_xlabel() == "CPU time, ms"
    assert widths(ax) == [300, 500, 200, 900, 100]
    for part in ("500 ms\n50.0", "900 ms of CPU", "to openssl", "100 ms behind"):
        assert part in words(ax)
    assert [bar.get_hatch() for bar in ax.patches[:3]] == [None, None, "////"]


def test_answer_without_switches_shows_no_shares(ax: Axes) -> None:
    answer(ax, parts(known=False, stolen_network=24_000), "openssl")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["from openssl"]
    assert words(ax) == "24.0 µs"


def test_answer_without_a_monitor_or_any_time(ax: Axes) -> None:
    answer(ax, parts(), "openssl")
    assert widths(ax) == []
    assert [label.get_text() for label in ax.get_yticklabels()] == ["openssl on CPU"]


def thief(name: str, kind: str, ns: int) -> dict[str, object]:
    return {"thief": name, "kind": kind, "stolen_max_ns": ns, "stolen_max_share": ns / 100_000}


def test_thieves_beyond_the_last_row_are_summed(ax: Axes) -> None:
    rows = pd.DataFrame([thief(f"irq {n}", "hardirq", 10_000 - n) for n in range(11)])
    thieves(ax, rows, most=8)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[-1] == "3 others"
    assert widths(ax)[-1] == pytest.approx((3 * 10_000 - 8 - 9 - 10) / 1e3)
    assert "10.0 µs  10.0" in words(ax)


def stairs(ax: Axes) -> list[list[float]]:
    steps = [patch for patch in ax.patches if isinstance(patch, StepPatch)]
    return [np.round(patch.get_data().values, 6).tolist() for patch in steps]


# Of rolling_stolen: when a window begins, for how long it was on CPU, what polls had.
def windows(*rows: tuple[int, int, int]) -> pd.DataFrame:
    columns = [*KIND_COLUMNS.values(), "synchronous_ns", "scheduled_ns", "unknown_ns"]
    frame = pd.DataFrame(rows, columns=["start_ns", "on_cpu_ns", "poll_ns"], dtype="int64")
    return frame.reindex(columns=["start_ns", "on_cpu_ns", *columns], fill_value=0)


def test_time_is_stacked_as_shares_of_the_bin_cut_bins_too(ax: Axes) -> None:
    bins = windows((40, 30, 30), (100, 100, 50), (200, 25, 0))
    gaps = pd.DataFrame({"start_ns": [120], "end_ns": [130]})
    stolen_over_time(ax, bins, gaps, (40, 250), 100)
    # The window holds 60 ns of the first bin and 50 ns of the last.
    assert stairs(ax) == [[50, 50, 0], [50, 100, 50]]
    assert ax.get_ylim() == (0, 100)
    legend = ax.get_legend()
    assert legend is not None
    *owners, gap = [text.get_text() for text in legend.get_texts()]
    assert owners == ["NAPI polls", "the task itself"]
    assert gap.startswith("gap ")


@pytest.mark.parametrize("span", [1, 999, 10**6, 809_255_548, 3 * 10**9, 86_400 * 10**9])
def test_bins_are_round_and_about_as_many_as_wanted(span: int) -> None:
    width = round_width(span)
    assert str(width).rstrip("0") in ("1", "2", "5")
    assert span <= 120 * width
    assert width == 1 or span > 48 * (width - 1)


def counts(packets: list[int]) -> "pd.Series[int]":
    return pd.Series(packets, dtype="int64").value_counts()


def heights(ax: Axes) -> dict[float, float]:
    return {
        round(bar.get_x() + bar.get_width() / 2, 3): bar.get_height()
        for bar in ax.patches
        if bar.get_height()
    }


def test_batches_count_polls_by_work_the_empty_ones_hollow(ax: Axes) -> None:
    batches(ax, counts([0, 0, 1, 8, 8, 64]), budget=64)
    assert heights(ax) == {0: 2, 1: 1, 8: 2, 64: 1}
    hollow = [bar for bar in ax.patches if to_hex(bar.get_facecolor()) == "#ffffff"]
    assert [bar.get_height() for bar in hollow] == [2]
    assert "budget 64" in words(ax)


def test_large_batches_share_bars_without_losing_any(ax: Axes) -> None:
    batches(ax, counts([0, *range(1, 301)]), budget=300)
    assert sum(heights(ax).values()) == 301
    assert heights(ax)[-1.5] == 1


def test_counts_of_very_different_size_get_a_log_scale_in_plain_numbers(ax: Axes) -> None:
    batches(ax, counts([1] * 2_000 + [64]))
    assert ax.get_yscale() == "log"
    figure = ax.get_figure()
    assert figure is not None
    figure.canvas.draw()
    assert "1,000" in [label.get_text() for label in ax.get_yticklabels()]


def test_packets_per_softirq(ax: Axes) -> None:
    packets_per_softirq(ax, counts([0, 8, 8, 20]))
    assert heights(ax) == {0: 1, 8: 2, 20: 1}


def times(**polls: list[int]) -> pd.DataFrame:
    # By packets of a poll; each takes 100 ns a packet and 500 more.
    frame = pd.DataFrame({"work": [], "polls": [], **polls}, dtype="int64").set_index("work")
    own = 100 * frame.index + 500
    return frame.assign(low_ns=own, median_ns=own, high_ns=own)


def test_the_cost_of_a_packet_is_the_median_of_its_batch_size(ax: Axes) -> None:
    cost_by_batch(ax, times(work=[1, 5, 10], polls=[6, 4, 6]))
    line = ax.lines[0]
    # Four polls are no distribution.
    assert list(line.get_xdata()) == [1, 10]
    assert list(line.get_ydata()) == [600, 150]
    assert ax.get_ylabel().endswith("per packet, ns")


def got(**shares: float) -> pd.DataFrame:
    return pd.DataFrame({"got_share": list(shares.values())}, index=list(shares))


def test_estimates_show_the_gap(ax: Axes) -> None:
    estimates(ax, got(ticks=0.42, work=0.55, traced=0.71))
    assert widths(ax) == [42, 71, 55, 16]
    assert "16.0 points" in words(ax)


def test_estimates_that_cannot_be_made(ax: Axes) -> None:
    estimates(ax, got(ticks=np.nan, work=np.nan, traced=0.71))
    assert widths(ax) == [71]
    assert words(ax).count("cannot say") == 2


SEGMENT = ["cpu", "start_ns", "end_ns", "kind", "tid", "comm", "name"]
SOFTIRQ = ["cpu", "entry_ns", "exit_ns", "action"]
POLL = ["cpu", "start_ns", "end_ns", "device", "work"]


def interrupt() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    segments = [
        (0, 0, 100, "task", 5, "openssl", None),
        (0, 100, 120, "hardirq", 5, "openssl", "eth0-rx-0"),
        (0, 120, 180, "poll", 5, "openssl", None),
        (0, 180, 200, "softirq", 5, "openssl", "NET_RX"),
        (0, 200, 300, "task", 5, "openssl", None),
        (1, 0, 300, "idle", 0, "swapper", None),
    ]
    return (
        pd.DataFrame(segments, columns=SEGMENT),
        pd.DataFrame([(0, 120, 200, "NET_RX")], columns=SOFTIRQ),
        pd.DataFrame([(0, 120, 180, "eth0", 8)], columns=POLL),
    )


def test_lanes_stack_what_runs_on_top_of_what(ax: Axes) -> None:
    lanes(ax, *interrupt(), 0, (0, 300), (100, 200, 100), others=(1,))
    boxes = {
        (round(bar.get_y() + bar.get_height() / 2), bar.get_x(), bar.get_width())
        for bar in ax.patches
    }
    # Lane, start after the interrupt, length.
    assert {(0, 0, 20), (1, 20, 60), (2, 20, 80), (2, 80, 20), (3, -100, 300)} <= boxes
    assert (4, -100, 300) in boxes
    for text in ("eth0-rx-0", "eth0 8 packets", "NET_RX", "openssl", "100 ns in interrupts"):
        assert text in words(ax)
    assert ax.get_xlabel().endswith("the interrupt, ns")


# An arrow says how long it is, and how much of that was taken.
def test_an_arrow_is_as_long_as_it_says(ax: Axes) -> None:
    lanes(ax, *interrupt(), 0, (0, 300), (100, 200, 70))
    [said] = [text.get_text() for text in ax.texts if "interrupts" in text.get_text()]
    assert re.findall(r"[\d.]+ ns", said) == ["100 ns", "70.0 ns"]


def test_labels_never_overlap(ax: Axes) -> None:
    interrupts = [
        (0, start, start + 15, "hardirq", 5, "openssl", "virtio2-input.0")
        for start in range(0, 1000, 20)
    ]
    empty = (pd.DataFrame(columns=columns) for columns in (SOFTIRQ, POLL))
    lanes(ax, pd.DataFrame(interrupts, columns=SEGMENT), *empty, 0, (0, 1000))
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.canvas.draw()
    labels = [text for text in ax.texts if text.get_text() == "virtio2-input.0"]
    boxes = sorted(text.get_window_extent().extents.tolist() for text in labels)
    assert len(boxes) > 3
    assert all(left[2] < right[0] for left, right in pairwise(boxes))


def test_every_part_has_a_colour_and_a_name() -> None:
    assert set(PARTS) == set(PART) == set(PART_NAMES)
    assert set(KIND) == set(KIND_NAMES)


@pytest.mark.parametrize("eye", DEFICIENT)
@pytest.mark.parametrize(
    "palette",
    [KIND | {"victim": VICTIM}, PART | {"victim": VICTIM}, ESTIMATE],
    ids=["kinds", "parts", "estimates"],
)
def test_colours_stay_apart(palette: dict[str, str], eye: str) -> None:
    # idle and unknown are near white on purpose; a hatch tells unknown.
    colors = {name: lab(color, DEFICIENT[eye]) for name, color in palette.items()}
    colors.pop("unknown", None)
    near = {
        f"{a} and {b}": round(float(np.linalg.norm(colors[a] - colors[b])), 1)
        for a, b in combinations(colors, 2)
        if np.linalg.norm(colors[a] - colors[b]) < 14
    }
    assert near == {}


# What costs nobody is filled, what another would pay is framed; what is not known has no bar.
def test_remedies_tell_what_others_would_pay(ax: Axes) -> None:
    rows = pd.DataFrame(
        {
            "remedy": ["larger_batches", "rps", "irq_affinity", "deferral_off"],
            "finding": ["gain", "no gain", "no gain", "unknown"],
            "certainty": ["estimated", "bounded", "bounded", "unknown"],
            "from_stolen_ns": pd.array([4_000_000, 6_000_000, 0, None], dtype="Int64"),
            "from_synchronous_ns": pd.array([0, 3_000_000, 0, None], dtype="Int64"),
            "removable_ns": pd.array([4_000_000, 9_000_000, 0, None], dtype="Int64"),
            "removable_share": [0.4, 0.9, 0.0, np.nan],
            "gain_max_ns": pd.array([4_000_000, 1_000_000, 0, None], dtype="Int64"),
            "gain_least_ns": pd.array([3_000_000, None, None, None], dtype="Int64"),
        }
    )
    remedies(ax, rows)
    assert ax.get_xlabel().endswith("at most, ms")
    # Filled, then the stolen rest and the synchronous part.
    assert widths(ax) == [4, 1, 5, 3]
    white = [bar.get_facecolor()[:3] == (1, 1, 1) for bar in ax.patches]
    assert white == [False, False, True, True]
    assert [re.split(r" +", one) for one in words(ax).split(" | ")] == [
        ["4.00", "ms", "40.0", "%,", "estimated"],
        ["9.00", "ms", "90.0", "%,", "bounded"],
        ["nothing"],
        ["", "unknown"],
    ]
    assert [round(float(at), 6) for at in ax.lines[0].get_xdata()] == [3, 4]
    legend = ax.get_legend()
    assert legend is not None
    own, *rest = [text.get_text() for text in legend.get_texts()]
    assert (own, rest[0]) == ("stolen, network", "its own traffic")
    assert "other tasks' cost" in rest[1]
    assert len(rest) == 2


def frame(*columns: str) -> pd.DataFrame:
    return pd.DataFrame(columns=columns)


GAPS = frame("start_ns", "end_ns")
REMEDIES = ("remedy", "removable_ns", "from_stolen_ns", "from_synchronous_ns", "gain_max_ns")
EMPTY = {
    "thieves": (thieves, frame(*thief("", "", 0))),
    "no time": (stolen_over_time, windows(), GAPS, (0, 0), 10_000_000),
    "a second": (stolen_over_time, windows(), GAPS, (0, 1_000_000_000), 10_000_000),
    "batches": (batches, counts([])),
    "softirqs": (packets_per_softirq, counts([])),
    "costs": (cost_by_batch, times()),
    "lanes": (lanes, frame(*SEGMENT), frame(*SOFTIRQ), frame(*POLL), 0, (0, 0)),
    "remedies": (remedies, frame(*REMEDIES)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_nothing_is_drawn_of_nothing(ax: Axes, name: str) -> None:
    draw, *given = EMPTY[name]
    draw(ax, *given)
    assert [patch for patch in ax.patches if patch.get_extents().height > 0] == []
    assert [line for line in ax.lines if len(line.get_xdata())] == []
