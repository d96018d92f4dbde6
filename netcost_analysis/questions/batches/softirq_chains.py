# Irq -> softirq -> polls, a row for each NET_RX.

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...capture.requires import unrecorded
from ...spans import spans_of
from ...timeline.timeline import Timeline
from ..inputs import rows
from ..question import question
from .common import called, gaps_between, int64, net_rx, plain, records
from .softirq_runs import AT_ONCE_NS, at_an_exit, rounds_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..answer import Answer

# Hardirqs nest: the interrupt that holds a raise may have had so many others inside.
_NESTED = 4


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=("softirqs", "hardirqs", "polls", "coverage"),
    main_columns=("cpu", "entry_ns", "wall_ns", "packets", "device", "comm", "raise_delay_ns"),
    rows=5,
)
def softirq_chains(timeline: Timeline) -> pd.DataFrame:
    """Each NET_RX softirq: what raised it, how long it waited, what it polled, where its time went.

    Parameters
    ----------
    timeline : Timeline
        The window and the CPUs in question.

    Returns
    -------
    pandas.DataFrame
        A row per NET_RX that was seen from entry to exit, by CPU and time: cpu, ordinal, irq,
        name, irq_context, irq_ns, irq_gap_ns, raise_ns, entry_ns, exit_ns, raise_delay_ns, call,
        round, origin, in_kthread, cost_class, tid, comm, device, devices, polls, packets, poll_ns,
        outside_polls_ns, nested_ns, wall_ns. NA: polls, packets and device where napi_poll was not
        recorded; irq and its columns where no interrupt is known to have raised it; poll_ns,
        outside_polls_ns and nested_ns where the window holds a part of it only.

    Raises
    ------
    MissingEventsError
        Without one of the events it needs.

    Notes
    -----
    Source: softirqs, hardirqs, polls and coverage. Definitions: docs/definitions.md.
    """
    polled = not unrecorded(timeline.capture, "napi:napi_poll")
    softirqs, hardirqs, polls, coverage = rows(
        timeline, "softirqs", "hardirqs", "polls", "coverage"
    )
    chains = chains_from(softirqs, hardirqs, polls, polled, coverage)
    window = timeline.summary["start_ns"], timeline.summary["end_ns"]
    cut = (chains["entry_ns"] < window[0]) | (chains["exit_ns"] > window[1])
    for name in ("poll_ns", "outside_polls_ns", "nested_ns"):
        chains[name] = chains[name].astype("Int64").mask(cut.to_numpy(dtype=bool))
    return chains


def chains_from(
    softirqs: pd.DataFrame,
    hardirqs: pd.DataFrame,
    polls: pd.DataFrame,
    polled: bool = True,
    coverage: pd.DataFrame | None = None,
) -> pd.DataFrame:
    # softirq_chains() of three tables. polled: whether napi_poll was recorded. coverage: gaps of
    # the record, across which nothing is measured.
    rows = net_rx(softirqs).sort_values(["cpu", "entry_ns", "ordinal"], kind="stable")
    rows = rows.reset_index(drop=True)
    rounds = rounds_of(softirqs, hardirqs)
    rows = rows.merge(rounds, on=["cpu", "ordinal"], how="left")
    rows = rows.join(_raisers(rows, plain(hardirqs), _before(softirqs, rounds, rows), coverage))
    rows = rows.merge(_devices(polls), on=["cpu", "ordinal"], how="left")
    rows["raise_delay_ns"] = rows["entry_ns"].astype("Int64") - rows["raise_ns"].astype("Int64")
    rows["wall_ns"] = (rows["exit_ns"] - rows["entry_ns"]).astype("int64")
    rows["poll_ns"] = rows["self_ns"] - rows["outside_polls_ns"]
    rows["nested_ns"] = rows["wall_ns"] - rows["self_ns"]
    rows["devices"] = rows["devices"].fillna(0).astype("Int64")
    if not polled:
        for name in ("polls", "packets", "devices", "poll_ns", "outside_polls_ns"):
            rows[name] = pd.array([pd.NA] * len(rows), dtype="Int64")
    columns = (
        *("cpu", "ordinal", "irq", "name", "irq_context", "irq_ns", "irq_gap_ns"),
        *("raise_ns", "entry_ns", "exit_ns", "raise_delay_ns", "call", "round"),
        *("origin", "in_kthread", "cost_class", "tid", "comm", "device", "devices"),
        *("polls", "packets", "poll_ns", "outside_polls_ns", "nested_ns", "wall_ns"),
    )
    return rows[list(columns)]


def parts_of(chains: pd.DataFrame) -> pd.DataFrame:
    # A row per device that chains polled first, most chains first, and one for those without a
    # poll: device, softirqs, packets, and the mean of each part in ns, of the chains whose part is
    # known (0 where it is of none).
    known = chains.assign(
        device=np.where(chains["polls"].eq(0).fillna(False), "none polled", chains["device"]),
        packets=chains["packets"].fillna(0).astype("float64"),
        **{name: chains[name].astype("Float64") for name in _PARTS},
    )
    # What a task or another softirq raised had no interrupt.
    own = chains["origin"].isin(["task", "softirq"]) & chains["irq_ns"].isna()
    known["irq_ns"] = known["irq_ns"].mask(own, 0.0)
    known["device"] = known["device"].fillna("not recorded")
    groups = known.groupby("device")
    table = pd.DataFrame({"softirqs": groups.size(), "packets": groups["packets"].sum()})
    table = table.join(groups[list(_PARTS)].mean().fillna(0.0).astype("float64"))
    return table.sort_values("softirqs", ascending=False, kind="stable").reset_index()


_PARTS = ("irq_ns", "raise_delay_ns", "outside_polls_ns", "poll_ns", "nested_ns")


def _before(softirqs: pd.DataFrame, rounds: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    # When the run of each of the rows began (run_ns), and when the run before it on that CPU had
    # ended (-1 without one).
    whole = softirqs[softirqs["entry_ns"].notna() & softirqs["exit_ns"].notna()]
    runs = whole[["cpu", "ordinal", "entry_ns", "exit_ns"]].merge(rounds, on=["cpu", "ordinal"])
    groups = runs.groupby("call")
    runs = groups.agg(cpu=("cpu", "first"), run_ns=("entry_ns", "min"), until=("exit_ns", "max"))
    runs["before_ns"] = runs.groupby("cpu")["until"].shift().fillna(-1)
    found = runs.reindex(rows["call"])[["run_ns", "before_ns"]]
    return found.set_index(rows.index).astype("int64")


def _devices(polls: pd.DataFrame) -> pd.DataFrame:
    inside = plain(polls[polls["softirq_ordinal"].notna()])
    inside = inside.assign(ordinal=int64(inside["softirq_ordinal"]))
    groups = inside.groupby(["cpu", "ordinal"])["device"]
    table = pd.DataFrame({"device": groups.first(), "devices": groups.nunique()})
    return table.reset_index().astype({"cpu": polls["cpu"].dtype, "ordinal": "int64"})


def _raisers(
    rows: pd.DataFrame,
    hardirqs: pd.DataFrame,
    runs: pd.DataFrame,
    coverage: pd.DataFrame | None,
) -> pd.DataFrame:
    # The interrupt that raised each row: the one in which its first raise stands. Without raises,
    # the one whose exit its run began at (at_an_exit): the last one, if nothing but that exit lay
    # between. Else one that was not recorded raised it.
    irqs = hardirqs[hardirqs["entry_ns"].notna() & hardirqs["exit_ns"].notna()]
    irqs = irqs.sort_values(["cpu", "entry_ns"], kind="stable").reset_index(drop=True)
    irqs["gap_ns"] = gaps_between(irqs, coverage)
    which = np.full(len(rows), -1)
    raised = int64(rows["raise_ns"])
    at_exit = (raised < 0) & at_an_exit(rows) & ~rows["in_kthread"].to_numpy()
    first_round = (rows["round"] == 1).fillna(False).to_numpy(dtype=bool)
    cpus, ends = rows["cpu"].to_numpy(dtype="int64"), int64(irqs["exit_ns"])
    here = np.flatnonzero(raised >= 0)
    which[here] = spans_of(irqs, "entry_ns", "exit_ns", "cpu").innermost(
        cpus[here], raised[here], _NESTED
    )
    by_exit = irqs.sort_values(["cpu", "exit_ns"], kind="stable").index.to_numpy()
    here = np.flatnonzero(at_exit & first_round)
    begun, before_ns = (runs[name].to_numpy()[here] for name in ("run_ns", "before_ns"))
    last = spans_of(irqs, "exit_ns", "exit_ns", "cpu").last_begun(cpus[here], begun)
    ended = last >= 0
    here, last = here[ended], by_exit[last[ended]]
    at_once = (ends[last] >= before_ns[ended]) & (begun[ended] - ends[last] <= AT_ONCE_NS)
    which[here[at_once]] = last[at_once]
    taken = irqs.reindex(which).reset_index(drop=True)
    return pd.DataFrame(
        {
            "irq": taken["irq"].astype("Int64"),
            "name": taken["name"],
            "irq_context": taken["context"],
            "irq_ns": taken["self_ns"].astype("Int64"),
            "irq_gap_ns": taken["gap_ns"].astype("Int64"),
        }
    )


@softirq_chains.figures
def _figures(answer: "Answer[pd.DataFrame]") -> dict[str, Any]:
    chains = answer.frame
    parts, in_kthread = parts_of(chains), int(chains["in_kthread"].sum())
    polled = parts[parts["poll_ns"] > 0].head(1)
    return {
        "softirqs": len(chains),
        "origins": chains["origin"].astype(object).value_counts().to_dict(),
        "raises_known": bool(chains["raise_ns"].notna().any()),
        "interrupts": chains["name"].astype(object).value_counts().head(4).to_dict(),
        "means": next(iter(records(polled.assign(device=polled["device"].map(called)))), None),
        "in_kthread": in_kthread,
        "in_kthread_share": in_kthread / len(chains) if len(chains) else None,
    }


@softirq_chains.plot(
    title="Where the time of a NET_RX goes, by device",
    height=lambda answer: 1.3 + 0.42 * len(parts_of(answer.frame)),
    panels=lambda answer: [{}] if len(answer.frame) else [],
)
def _anatomy(ax: "Axes", answer: "Answer[pd.DataFrame]") -> None:
    from .plots import anatomy

    anatomy(ax, parts_of(answer.frame))
