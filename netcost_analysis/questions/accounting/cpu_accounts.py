"""Where the time of the victim's CPU went, by /proc/stat, by mpstat and by the trace."""

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ...answers.question import question
from ...parsers.mpstat import KINDS as PRINTED
from ...snapshots.mpstat_times import intervals_within
from .counts import NAN, counted
from .hidden_cost_predictions import AIM_SHARE
from .side_by_side import bundle_of, ran

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...capture.capture import Capture
    from ...timeline.timeline import Timeline

KINDS = ("tasks", "irq", "soft", "idle", "steal", "unknown")
# The contexts of the trace that the kernel's kinds stand for.
_CONTEXTS = {
    "tasks": ("task",),
    "irq": ("hardirq", "vector", "nmi"),
    "soft": ("softirq", "poll"),
    "idle": ("idle",),
    "unknown": ("unknown",),
}


@question(check=bundle_of, columns=("account", *(f"{kind}_share" for kind in KINDS)))
def cpu_accounts(capture: "Capture") -> pd.DataFrame:
    """Where the time of the victim's CPU went by three accounts of the same run.

    - capture: Of a bundle with a victim.

    A row per account (index: cpu_stat, mpstat, traced). Shares of its time, 0 to 1: tasks_share
    (user, nice and system), irq_share, soft_share (softirqs), idle_share (with iowait),
    steal_share, unknown_share (the trace's alone). NaN where the bundle cannot say, and for a
    victim that was not pinned.

    Source: cpu_stat is of the time between the snapshots before and after, mpstat of whole
    intervals within the run, traced of the run. A trace has no steal: whatever was paused has it.
    """
    timeline, bundle, _ = ran(capture)
    ticks = counted(bundle).shares
    inside = intervals_within(bundle)
    seen = {kind: float(inside[f"{kind}_share"].mean()) for kind in PRINTED} if len(inside) else {}
    rows = {
        "cpu_stat": _kinds(ticks, ("user", "nice", "system"), "irq", "softirq"),
        "mpstat": _kinds(
            seen,
            ("usr", "nice", "sys", "guest", "gnice"),
            *("irq", "soft"),
        ),
        "traced": _traced(timeline if bundle.victim_cpu is not None else None),
    }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(KINDS), dtype=float)
    return frame.add_suffix("_share").rename_axis("account")


def _kinds(shares: dict[str, float], tasks: tuple[str, ...], irq: str, softirq: str) -> list[float]:
    if softirq not in shares:
        return [NAN] * len(KINDS)
    return [
        sum(shares.get(kind, 0.0) for kind in tasks),
        shares[irq],
        shares[softirq],
        shares.get("idle", NAN) + shares.get("iowait", 0.0),
        shares.get("steal", NAN),
        NAN,
    ]


def _traced(timeline: "Timeline | None") -> list[float]:
    if timeline is None:
        return [NAN] * len(KINDS)
    sums = timeline.sums()
    spent = sums.groupby(sums["context"].astype(object))["ns"].sum()
    total = float(spent.sum())
    if not total:
        return [NAN] * len(KINDS)
    found = {
        kind: sum(float(spent.get(context, 0)) for context in contexts) / total
        for kind, contexts in _CONTEXTS.items()
    }
    return [found.get(kind, NAN) for kind in KINDS]


class Interrupts(NamedTuple):
    """Interrupts and softirqs together, as shares of the CPU; more: /proc/stat has AIM_SHARE more.

    None and False where not both are known.
    """

    counted_share: float | None
    traced_share: float | None
    more: bool


@cpu_accounts.figures
def _figures(answer: "Answer") -> Interrupts:
    total: Interrupts = answer.parts["in_all"]
    return total


@cpu_accounts.totals
def _totals(answer: "Answer") -> dict[str, Interrupts]:
    return {"in_all": interrupts(answer)}


def interrupts(answer: "Answer") -> Interrupts:
    both = (answer.frame["irq_share"] + answer.frame["soft_share"]).dropna().astype(float)
    if not {"cpu_stat", "traced"} <= set(both.index):
        return Interrupts(None, None, False)
    counted, traced = float(both["cpu_stat"]), float(both["traced"])
    return Interrupts(counted, traced, counted > traced + AIM_SHARE)


def _height(answer: "Answer") -> float:
    return 1.1 + 0.36 * int(answer.frame["tasks_share"].notna().sum())


@cpu_accounts.plot(
    title="The CPU's time by kind, by each account",
    height=_height,
    panels=lambda answer: [{}] if answer.frame["tasks_share"].notna().any() else [],
)
def _bars(ax: "Axes", answer: "Answer") -> None:
    from .plots import cpu_kinds

    cpu_kinds(ax, answer.frame)
