# How many packets a poll handles.

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...display.figures import figures
from ...stats.histogram import Histogram, narrowed, quantile
from ...timeline.aggregates import Grouped, in_window
from ...timeline.by import DeviceBy, check_by
from ...timeline.group import KNOWN, Where
from ...timeline.owners import NO_DEVICE
from ...timeline.reading import window_of
from ...timeline.timeline import Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KEYS = ["device", "cpu", "budget", "work"]
# Polls by device, CPU, budget and work: how many, and sums. Each is counted where it ends.
COUNTED: Grouped = Grouped(
    "polls",
    by=("device", "cpu", "budget", "work"),
    sums=("work", "self_ns"),
    known=("start_ns",),
    where=in_window("end_ns"),
)


def whole_polls(timeline: Timeline) -> Where:
    # Those that took a known time and lie whole in the window.
    start_ns, end_ns = window_of(timeline).range
    return {"end_ns": (start_ns, end_ns), "start_ns": (start_ns, None), "self_ns": KNOWN}


# Their own times, of polls that received packets.
TIMED = Grouped(
    "polls",
    by=("device", "cpu", "work"),
    lengths="self_ns",
    where=lambda timeline: {**whole_polls(timeline), "work": (1, None)},
)


@question(
    needs=("napi:napi_poll",),
    inputs=(COUNTED,),
    columns=(
        *("device", "cpu", "work", "polls", "packets"),
        *("polls_share", "packets_share", "trap"),
    ),
)
def poll_sizes(timeline: Timeline, by: DeviceBy = "cpu") -> Answer:
    """Packets per poll: how often each batch size occurred, by device, CPU and budget.

    A row per device, CPU, budget and work; by="device": of all its CPUs. Shares are of that
    device's, on that CPU. `traps`: how many polls are of each trap. Source: polls.
    """
    check_by(by, DeviceBy)
    sizes = sizes_of(counted(timeline), by)
    traps = sizes.groupby("trap")[["polls", "ns"]].sum().reset_index()
    traps["all_polls_share"] = traps["polls"] / sizes["polls"].sum()
    in_all = {
        "polls": int(sizes["polls"].sum()),
        "of_backlog": int(sizes.loc[sizes["device"] == NO_DEVICE, "polls"].sum()),
        "without_begin": int(sizes["without_begin"].sum()),
    }
    return Answer(sizes, traps=traps, in_all=in_all)


def counted(timeline: Timeline) -> pd.DataFrame:
    # polls, packets, ns and without_begin, by device, cpu, budget and work.
    frame = COUNTED(timeline).frame.astype({"packets": "Int64"}).set_index(_KEYS)
    frame["without_begin"] = frame["polls"] - frame["start_ns_known"]
    return frame.drop(columns="start_ns_known")


def sizes_of(counts: pd.DataFrame, by: DeviceBy = "cpu") -> pd.DataFrame:
    # poll_sizes() of counted().
    table = counts.reset_index().astype({"cpu": "Int64"})
    if by == "device":
        table["cpu"] = table["cpu"].mask(table["cpu"].notna())
        table = table.groupby(_KEYS, dropna=False).sum().reset_index()
    table["packets"] = table["packets"].mask(table["work"].isna())
    for what in ("polls", "packets"):
        values = table[what].astype("Float64")
        whole = values.groupby([table["device"], table["cpu"]], dropna=False).transform("sum")
        table[f"{what}_share"] = (values / whole.mask(whole == 0)).astype("Float64")
    table["trap"] = _trap(table["work"], table["budget"])
    return table


def times_by_work(counted: Histogram, device: str, cpu: int | None = None) -> pd.DataFrame:
    # Of TIMED what polls of a device, or of it on one CPU, took by work: polls, mean_ns, and
    # low_ns, median_ns, high_ns (a quarter of them took less, half, and three).
    where = {"device": device} if cpu is None else {"device": device, "cpu": cpu}
    own = narrowed(counted, ["work"], where)
    table = pd.DataFrame({"polls": own.totals["count"]})
    table["mean_ns"] = own.totals["total"] / own.totals["count"]
    for name, at in (("low_ns", 0.25), ("median_ns", 0.5), ("high_ns", 0.75)):
        table[name] = quantile(own, at)
    return table


def work_known(timeline: Timeline) -> bool:
    # Before Linux 4.8 napi_poll has no work.
    sizes = counted(timeline)
    return bool(sizes.index.get_level_values("work").notna().any())


def mean_batch(polls: "pd.Series[int]") -> float | None:
    # batch_mean: packets of a poll, of the polls that received any; None where none did. polls: how
    # many, by their packets.
    received = polls[polls.index > 0]
    number = int(received.sum())
    return float((received * received.index).sum() / number) if number else None


def by_work(sizes: pd.DataFrame) -> "pd.Series[int]":
    # Polls by their packets, of rows of poll_sizes().
    known = sizes[sizes["work"].notna()].astype({"work": "int64"})
    return known.groupby("work")["polls"].sum()


def budget_of(sizes: pd.DataFrame) -> int | None:
    # The budget most polls had; None where it was not recorded.
    polls = sizes.groupby("budget")["polls"].sum()
    return int(polls.index[int(polls.argmax())]) if len(polls) else None


def _trap(work: "pd.Series[int]", budget: "pd.Series[int]") -> "pd.Series[str]":
    # What a size may mean other than packets that came together.
    traps = {
        "no work field": work.isna(),
        "Tx only": budget.eq(0),
        "empty": work.eq(0),
        "full": work.eq(budget),
        "almost full": work.eq(budget - 1),
    }
    holds = [one.fillna(False).to_numpy(dtype=bool) for one in traps.values()]
    trap = pd.Series(np.select(holds, list(traps), ""), index=work.index, dtype=object)
    return trap.where(trap != "", None)


@poll_sizes.table
def _most(answer: Answer) -> str:
    # The sizes that occurred most, in their order.
    shown = answer.question.rows
    most = answer.frame.nlargest(shown, "polls", keep="first").sort_index()
    more = len(answer.frame) - len(most)
    text = figures(most[list(answer.question.columns)], answer.start_ns, shown).html()
    return text + (f"<p>{more:,} more sizes, which fewer polls had.</p>" if more else "")


def _several(answer: Answer) -> list[dict[str, str]]:
    known = answer.frame[answer.frame["work"].notna() & answer.frame["cpu"].notna()]
    return [{}] if len(known[["device", "cpu"]].drop_duplicates()) > 1 else []


def _rows(answer: Answer) -> float:
    return 1.0 + 0.33 * min(len(answer.frame[["device", "cpu"]].drop_duplicates()), 16)


@poll_sizes.plot(
    "by_cpu", title="Packets per poll, by device and CPU", height=_rows, panels=_several
)
def _matrix(ax: "Axes", answer: Answer) -> None:
    from ...plots.batches import batch_matrix

    batch_matrix(ax, answer.frame)


def _devices(answer: Answer) -> list[dict[str, str]]:
    # The busiest first.
    known = answer.frame[answer.frame["work"].notna()]
    polls = known.groupby("device")["polls"].sum().sort_values(ascending=False, kind="stable")
    return [{"device": str(device)} for device in polls.index]


@poll_sizes.plot(
    title=lambda _, device: f"Packets per poll of {device}",
    height=2.2,
    panels=lambda answer: _devices(answer)[:2],
    choices=_devices,
)
def _of_device(ax: "Axes", answer: Answer, device: str) -> None:
    draw_sizes(ax, answer.frame, device)


def draw_sizes(ax: "Axes", sizes: pd.DataFrame, device: str) -> None:
    from ...plots.batches import batches

    sizes = sizes[sizes["device"] == device]
    batches(ax, by_work(sizes), budget_of(sizes))
    ax.set_title(device)
