"""At whose cost a victim's time was spent: the cost classes, as a partition."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.by import By, check_by, victim_keys
from ...timeline.owners import INTERRUPT_CONTEXTS
from ...timeline.reading import rows
from ...timeline.task import row_name
from ...timeline.timeline import Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# In the order they are told: its own, what was taken, what it did for the network, the rest.
CLASSES = (
    *("own", "stolen", "stolen_or_synchronous", "synchronous", "scheduled"),
    *("idle", "from_idle", "unknown", "displaced"),
)


@question(inputs=("displaced",))
def cost_classes(timeline: Timeline, by: By = "comm") -> Answer:
    """Where all CPU time went, by victim, cost class and whether it was network.

    - by: What tells victims apart; "device" is as "comm".

    A row per victim, cost_class and is_network that occurs; victims by falling time. cost_class is
    also "own" (an ordinary task's own time), "idle", "unknown", and "displaced" (what it waited off
    CPU for scheduled network work), which has no rows where waits are not known. The idle tasks and
    time whose task is unknown are victims here, "(idle)" and "(unknown)", without tid. So ns adds
    up to CPUs x window but for displaced, and per victim to its on_cpu_ns.

    Source: the timeline's sums, and displaced.
    """
    check_by(by)
    displaced = None if timeline.missing["displaced"] else rows(timeline, "displaced")[0]
    sums, keys = timeline.sums_by_thief(by), victim_keys(by)
    idle = (sums["tid"] == 0).fillna(False).astype(bool)
    kept = sums[[*dict.fromkeys(["cpu", "tid", "comm", *keys]), "ns"]].copy()
    kept["cost_class"] = sums["cost_class"].where(sums["cost_class"] != "", "own")
    kept.loc[idle & (sums["context"] == "idle"), "cost_class"] = "idle"
    kept.loc[sums["context"] == "unknown", "cost_class"] = "unknown"
    charged = sums["context"].isin(INTERRUPT_CONTEXTS) | (kept["cost_class"] == "scheduled")
    kept["is_network"] = sums["is_network"].where(charged, None)
    if "cpu" not in keys:
        kept.loc[idle, "comm"] = "(idle)"
        kept.loc[idle, "tid"] = pd.NA
    if displaced is not None:
        waited = displaced[["cpu", "tid", "comm", "ns"]].astype({"comm": object})
        waited = waited[waited["ns"] > 0].assign(cost_class="displaced", is_network="yes")
        kept = pd.concat([kept, waited], ignore_index=True)
    own = kept["tid"].notna() & ~idle.reindex(kept.index, fill_value=False)
    own &= kept["cost_class"] != "displaced"
    on_cpu = kept[own].groupby(keys, dropna=False)["ns"].sum().rename("on_cpu")
    spent = kept.groupby([*keys, "cost_class", "is_network"], dropna=False)["ns"].sum()
    frame = spent[spent > 0].reset_index().astype({"ns": "int64"}).merge(on_cpu, "left", on=keys)
    network = frame["is_network"].astype(object)
    frame["is_network"] = network.where(network.notna(), None)
    nobodys = frame["cost_class"].isin(["idle", "from_idle", "displaced"])
    known = not timeline.missing["on_cpu"]
    whole = frame.pop("on_cpu").astype("float64")
    frame["on_cpu_share"] = (frame["ns"] / whole).where(~nobodys & (whole > 0) & known)
    order = frame["cost_class"].map({name: place for place, name in enumerate(CLASSES)})
    total = frame.groupby(keys, dropna=False)["ns"].transform("sum")
    frame = frame.assign(total=-total, order=order)
    frame = frame.sort_values(["total", *keys, "order", "is_network"], kind="stable")
    return Answer(frame.drop(columns=["total", "order"]).reset_index(drop=True))


def _by_comm(answer: Answer) -> list[dict[str, Any]]:
    anyone = answer.frame.get("comm", pd.Series(dtype=object)).isin(["(idle)", "(unknown)"])
    return [{}] if "tid" not in answer.frame and not anyone.all() else []


@cost_classes.plot(
    title="CPU time of those who lost most, by at whose cost it was spent",
    height=3.4,
    panels=_by_comm,
)
def _bars(ax: "Axes", answer: Answer) -> None:
    from .plots import classes

    line = answer.timeline
    classes(ax, answer.frame, row_name(line, line.victim))
