# How many packets a poll receives: how often each size occurred, and what that is by device.

import pandas as pd

from ... import plots
from ...answers.question import Answer, question
from ...display.tables import figures
from ...frames import most_first
from ...stats.histogram import Histogram, narrowed, quantile
from ...timeline.aggregates import Grouped, in_window
from ...timeline.by import DeviceBy, check_by
from ...timeline.group import KNOWN, Where
from ...timeline.owners import NO_DEVICE
from ...timeline.reading import bounds_of
from ...timeline.timeline import Timeline

# device_batches describes and draws so many devices one by one.
_DEVICES = 3
_KEYS = ["device", "cpu", "budget", "work"]
# Polls by device, CPU, budget and work: how many, and sums. Each is counted where it ends.
COUNTED: Grouped = Grouped(
    "polls",
    by=("device", "cpu", "budget", "work"),
    sums=("work", "self_ns"),
    known=("start_ns",),
    where=in_window("end_ns"),
)
# Counts of polls in device_batches, by trap.
_TRAPS = {"empty_polls": "empty", "full_polls": "full", "almost_full_polls": "almost full"}
_BATCHES = [
    *("device", "polls", "known", "packets", "batch_mean", "batch_median", "empty_polls"),
    *("full_polls", "empty_share", "almost_full_polls", "budget", "almost_full_work"),
    "without_begin",
]


def whole_polls(timeline: Timeline) -> Where:
    # Polls of known length that lie in the window from begin to end.
    start_ns, end_ns = bounds_of(timeline).range
    return {"end_ns": (start_ns, end_ns), "start_ns": (start_ns, None), "self_ns": KNOWN}


# Own times of polls that received packets.
TIMED = Grouped(
    "polls",
    by=("device", "cpu", "work"),
    lengths="self_ns",
    where=lambda timeline: {**whole_polls(timeline), "work": (1, None)},
)


@question(
    needs=("polls",),
    inputs=(COUNTED,),
    columns=(
        *("device", "cpu", "work", "polls", "packets"),
        *("polls_share", "packets_share", "trap"),
    ),
)
def poll_sizes(timeline: Timeline, by: DeviceBy = "cpu") -> Answer:
    """Packets per poll: how often each batch size occurred, by device, CPU and budget.

    A row per device, CPU, budget and work; by="device": of all its CPUs. Shares are of the device's
    polls on that CPU. `traps`: the number of polls of each trap. Source: polls.
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


@question(
    needs=("polls",),
    inputs=(COUNTED, TIMED),
    columns=(
        *("device", "polls", "packets", "batch_mean", "batch_median"),
        *("empty_polls", "full_polls"),
    ),
)
def device_batches(timeline: Timeline) -> Answer:
    """How many packets the polls of each device received.

    A row per device, most polls first. batch_mean is over polls that received any packets,
    batch_median over all polls. full_polls and almost_full_polls are those traps of poll_sizes. NA
    before Linux 4.8, whose napi_poll has no work. `rest`: the devices after the third. Source:
    poll_sizes.
    """
    sizes = sizes_of(counted(timeline), "device").astype({"device": object})
    known, of = sizes[sizes["work"].notna()], sizes.groupby("device", sort=True)
    frame = of[["polls", "without_begin"]].sum()
    frame["known"] = known.groupby("device")["polls"].sum().reindex(frame.index, fill_value=0)
    frame["packets"] = known.groupby("device")["packets"].sum().reindex(frame.index)
    for column, trap in _TRAPS.items():
        frame[column] = known[known["trap"] == trap].groupby("device")["polls"].sum()
        frame[column] = frame[column].fillna(0).astype("Int64").where(frame["known"] > 0)
    frame["budget"] = pd.Series({device: budget_of(rows) for device, rows in of})
    polls_of = {device: by_work(rows) for device, rows in known.groupby("device")}
    frame["batch_mean"] = pd.Series({of: mean_batch(polls) for of, polls in polls_of.items()})
    frame["batch_median"] = pd.Series({of: _median_batch(polls) for of, polls in polls_of.items()})
    frame["empty_share"] = frame["empty_polls"] / frame["known"].where(frame["known"] > 0)
    frame["almost_full_work"] = frame["budget"] - 1
    frame = most_first(frame.reset_index(), "polls")
    names = ["polls", "known", "packets", "without_begin"]
    others = frame[_DEVICES:]
    return Answer(
        frame[_BATCHES],
        in_all={name: int(frame[name].sum()) for name in names},
        rest={"devices": len(others), **{name: int(others[name].sum()) for name in names}},
    )


def counted(timeline: Timeline) -> pd.DataFrame:
    # polls, packets, ns and without_begin, by device, cpu, budget and work.
    frame = COUNTED(timeline).frame.astype({"packets": "Int64"}).set_index(_KEYS)
    frame["without_begin"] = frame["polls"] - frame["start_ns_known"]
    return frame.drop(columns="start_ns_known")


def sizes_of(counts: pd.DataFrame, by: DeviceBy = "cpu") -> pd.DataFrame:
    # The frame of poll_sizes. counts: of counted().
    table = counts.reset_index().astype({"cpu": "Int64"})
    if by == "device":
        table["cpu"] = table["cpu"].mask(table["cpu"].notna())
        table = table.groupby(_KEYS, dropna=False).sum().reset_index()
    table["packets"] = table["packets"].mask(table["work"].isna())
    for what in ("polls", "packets"):
        values = table[what].astype("Float64")
        whole = values.groupby([table["device"], table["cpu"]], dropna=False).transform("sum")
        table[f"{what}_share"] = values / whole.mask(whole == 0)
    # What a size may mean other than packets that came together.
    work, budget = table["work"], table["budget"]
    traps = {
        "no work field": work.isna(),
        "Tx only": budget.eq(0),
        "empty": work.eq(0),
        "full": work.eq(budget),
        "almost full": work.eq(budget - 1),
    }
    cases = [(holds.fillna(False), trap) for trap, holds in traps.items()]
    return table.assign(trap=pd.Series(None, table.index, dtype=object).case_when(cases))


def times_by_work(times: Histogram, device: str, cpu: int | None = None) -> pd.DataFrame:
    # What polls of a device took, on one CPU if given, by work: polls, mean_ns, and low_ns,
    # median_ns, high_ns (the quartiles). times: of TIMED.
    where = {"device": device} if cpu is None else {"device": device, "cpu": cpu}
    own = narrowed(times, ["work"], where)
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
    # batch_mean: packets per poll that received any; None where none did. polls: how many, by their
    # packets.
    received = polls[polls.index > 0]
    number = int(received.sum())
    return float((received * received.index).sum() / number) if number else None


def _median_batch(polls: "pd.Series[int]") -> float:
    upto, half = polls.cumsum(), polls.sum() / 2
    middle = polls.index[(upto >= half) & (upto - polls <= half)]
    return float(middle[[0, -1]].to_numpy().mean())


def by_work(sizes: pd.DataFrame) -> "pd.Series[int]":
    # Polls by their packets, of rows of poll_sizes.
    known = sizes[sizes["work"].notna()].astype({"work": "int64"})
    return known.groupby("work")["polls"].sum()


def budget_of(sizes: pd.DataFrame) -> int | None:
    # The budget most polls had; None where it was not recorded.
    polls = sizes.groupby("budget")["polls"].sum()
    return int(polls.index[int(polls.argmax())]) if len(polls) else None


@poll_sizes.table
def _most(answer: Answer) -> str:
    # The sizes that occurred most, in their order.
    most = answer.frame.nlargest(answer.question.rows, "polls").sort_index()
    more = len(answer.frame) - len(most)
    text = figures(most[list(answer.question.columns)], answer.start_ns).html()
    return text + (f"<p>{more:,} more sizes occurred in fewer polls.</p>" if more else "")


def _owners(sizes: pd.DataFrame) -> pd.DataFrame:
    return sizes[["device", "cpu"]].drop_duplicates()


poll_sizes.plot(
    "by_cpu",
    title="Packets per poll, by device and CPU",
    height=lambda answer: 1.0 + 0.33 * min(len(_owners(answer.frame)), 16),
    panels=lambda answer: (
        [{}] if len(_owners(answer.frame.dropna(subset=["work", "cpu"]))) > 1 else []
    ),
)(lambda ax, answer: plots.batches.batch_matrix(ax, answer.frame))


def _panels(frame: pd.DataFrame, number: int | None = None) -> list[dict[str, str]]:
    # Devices of known work, the busiest first. frame: of poll_sizes or device_batches.
    known = frame[frame["work"].notna() if "work" in frame else frame["known"] > 0]
    polls = known.groupby("device")["polls"].sum().sort_values(ascending=False, kind="stable")
    return [{"device": str(device)} for device in polls.index[:number]]


@poll_sizes.plot(
    title=lambda _, device: f"Packets per poll of {device}",
    height=2.2,
    panels=lambda answer: _panels(answer.frame, 2),
    choices=lambda answer: _panels(answer.frame),
)
@device_batches.plot(
    title=lambda _, device: f"Packets per poll of {device}",
    height=2.4,
    panels=lambda answer: _panels(answer.frame[:_DEVICES]),
    choices=lambda answer: _panels(answer.frame),
)
def _sizes(ax: "plots.Axes", answer: Answer, device: str) -> None:
    has_sizes = answer.question is poll_sizes
    sizes = answer.frame if has_sizes else poll_sizes(answer.timeline).frame
    sizes = sizes[sizes["device"] == device]
    plots.batches.batches(ax, by_work(sizes), budget_of(sizes))
    ax.set_title(device)


@device_batches.plot(
    "cost",
    title=lambda _, device: f"Time per packet of {device}, by packets per poll",
    height=2.4,
    panels=lambda answer: _panels(answer.frame[:_DEVICES]),
    choices=lambda answer: _panels(answer.frame),
)
def _cost(ax: "plots.Axes", answer: Answer, device: str) -> None:
    plots.batches.cost_by_batch(ax, times_by_work(TIMED(answer.timeline).lengths, device))
    ax.set_title(device)
