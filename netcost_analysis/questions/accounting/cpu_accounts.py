"""Where the time of the victim's CPU went, by each account."""

from typing import Any

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...capture.capture import Capture
from ...parsers.sysstat import KINDS as PRINTED
from ...plots.palette import FAINT, HATCH, INK, KIND, TASK, UNKNOWN
from ...snapshots.mpstat_times import intervals_within
from ...timeline.timeline import Timeline
from .account_readings import NAN, bundle_of, cpu_counters, ran
from .hidden_cost_predictions import AIM_SHARE

_KINDS = ("tasks", "irq", "soft", "idle", "steal", "unknown")
# By kind, in the order of a bar's parts.
_LOOKS = {
    "tasks": (TASK, "tasks"),
    "soft": (KIND["softirq"], "softirqs"),
    "irq": (KIND["hardirq"], "interrupts"),
    "idle": (KIND["idle"], "idle"),
    "steal": (INK, "steal"),
    "unknown": (UNKNOWN, "unknown"),
}
_ACCOUNTS = {"cpu_stat": "/proc/stat", "mpstat": "mpstat", "traced": "trace"}
# Of the trace's contexts, and of the kernel's kinds by /proc/stat and mpstat.
_CONTEXTS = {
    "task": "tasks",
    "hardirq": "irq",
    "vector": "irq",
    "nmi": "irq",
    "softirq": "soft",
    "poll": "soft",
    "idle": "idle",
    "unknown": "unknown",
}


@question(check=bundle_of, columns=("account", *(f"{kind}_share" for kind in _KINDS)))
def cpu_accounts(capture: Capture) -> Answer:
    """Where the time of the victim's CPU went, according to three accounts of one run.

    A row per account; NaN where the bundle lacks it, and for a victim that was not pinned. Only the
    trace has time whose owner is unknown. The trace has no steal: it charges steal to whatever was
    paused. Source: cpu_stat covers the time between the snapshots before and after, mpstat whole
    intervals within the run, and traced the run.
    """
    timeline, bundle, _ = ran(capture)
    inside = intervals_within(bundle)
    printed = {kind: float(inside[f"{kind}_share"].mean()) for kind in PRINTED if len(inside)}
    user = ("usr", "nice", "sys", "guest", "gnice")
    rows = {
        "cpu_stat": _kinds_of(cpu_counters(bundle).shares, ("user", "nice", "system"), "softirq"),
        "mpstat": _kinds_of(printed, user, "soft"),
        "traced": {} if timeline is None or bundle.victim_cpu is None else _traced_kinds(timeline),
    }
    index = pd.Index(rows, name="account")
    frame = pd.DataFrame(list(rows.values()), index=index, columns=[*_KINDS], dtype=float)
    frame = frame.add_suffix("_share")
    both = frame["irq_share"] + frame["soft_share"]
    by_stat, traced = float(both["cpu_stat"]), float(both["traced"])
    known = both[["cpu_stat", "traced"]].notna().all()
    in_all = {
        "counted_share": by_stat if known else None,
        "traced_share": traced if known else None,
        "more": by_stat > traced + AIM_SHARE,
    }
    return Answer(frame, in_all=in_all)


def _kinds_of(shares: dict[str, float], tasks: tuple[str, ...], softirq: str) -> dict[str, float]:
    if softirq not in shares:
        return {}
    return {
        "tasks": sum(shares.get(kind, 0.0) for kind in tasks),
        "irq": shares["irq"],
        "soft": shares[softirq],
        "idle": shares.get("idle", NAN) + shares.get("iowait", 0.0),
        "steal": shares.get("steal", NAN),
    }


def _traced_kinds(timeline: Timeline) -> dict[str, float]:
    sums = timeline.sums()
    spent = sums.groupby(sums["context"].astype(object).map(_CONTEXTS))["ns"].sum()
    total = float(spent.sum())
    return {kind: spent.get(kind, 0) / total for kind in _CONTEXTS.values()} if total else {}


@cpu_accounts.plot(
    title="The CPU's time by kind, according to each account",
    height=lambda answer: 1.1 + 0.36 * int(answer.frame["tasks_share"].notna().sum()),
    panels=lambda answer: [{}] if answer.frame["tasks_share"].notna().any() else [],
)
def _kind_bars(ax: Axes, answer: Answer) -> None:
    from ...plots.marks import label_rows, legend_above, stacked_bars

    shown = 100 * answer.frame.dropna(subset=["tasks_share"]).fillna(0)
    edge = {"edgecolor": FAINT, "linewidth": 0.5}
    looks: dict[str, dict[str, Any]] = {
        f"{kind}_share": {"color": color, "label": name, **edge}
        for kind, (color, name) in _LOOKS.items()
    }
    looks["unknown_share"]["hatch"] = HATCH
    stacked_bars(ax, shown, looks, 0.62)
    label_rows(ax, [_ACCOUNTS[str(name)] for name in shown.index])
    ax.set_xlim(0, 100)
    ax.set_xlabel("share of the CPU's time, %")
    ax.spines["left"].set_visible(False)
    legend_above(ax, columns=len(looks))
