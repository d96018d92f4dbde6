"""What took a victim's time, and at whose cost all time was spent."""

from typing import Any

import pandas as pd

from ... import plots
from ...answers.question import Answer, question
from ...frames import most_first, plain_frame
from ...timeline.by import By, check_by, victim_keys
from ...timeline.owners import INTERRUPT_CONTEXTS, is_device, kinds_of, of_tasks
from ...timeline.reading import rows
from ...timeline.task import Task, label_of, row_name, rows_of
from ...timeline.timeline import Timeline
from ..devices.device_lines import RAISED
from ..victim import asked_or_chosen, not_by_cpu

_STOLEN = ("stolen", "stolen_or_synchronous")
# At least this share of the NET_RX that polled only one instance must show its line.
_LEAST_SHARE = 0.05
_BARS = 9


@question(
    inputs=(RAISED,),
    columns=("comm", "thief", "stolen_ns", "stolen_share", "queue", "is_network"),
)
def thieves(timeline: Timeline, by: By = "comm", victim: Task | None = None) -> Answer:
    """What took a victim's time, largest first, down to device and queue.

    - by: What tells victims apart; "device" is as "comm".
    - victim: A task by tid or comm; ALL for every task. None: the timeline's (Timeline.victim). By
      CPU there is none but ALL.

    A row per victim and thief that took time; victims by falling loss, and the thieves of each
    likewise. An interrupt line is a queue. A NAPI instance belongs to the line that raises the
    softirqs it is polled in (queues). The backlog, which has no device, is a queue per CPU. queue
    is None if none of that holds. Per victim stolen_max_ns adds up to that of stolen(), except for
    what no event shows.

    Source: the timeline's sums; for queues softirqs, hardirqs and polls.
    """
    check_by(by)
    not_by_cpu(by, victim)
    victim = asked_or_chosen(timeline, victim, by)
    keys, lines = victim_keys(by), queues(timeline).frame
    sums = timeline.sums_by_thief(by).assign(napi=timeline.sums()["napi"])
    tasks = of_tasks(rows_of(sums, victim))
    taken = tasks[tasks["context"].isin(INTERRUPT_CONTEXTS) & tasks["cost_class"].isin(_STOLEN)]
    line_of = lines.astype({"napi": object}).set_index("napi")
    napi = taken["napi"].astype(object)
    polled_by = napi.map(line_of["irq"])
    hardirq = taken["context"] == "hardirq"
    irq = polled_by.astype("Int64").where(~hardirq, taken["id"].astype("Int64"))
    name = napi.map(line_of["name"]).astype(object).where(~hardirq, taken["name"].astype(object))
    device = taken["device"].astype(object)
    queue = ("irq " + irq.astype("string") + " " + name.fillna("").astype("string")).str.strip()
    backlog = (taken["context"] == "poll") & ~device.map(is_device).astype(bool) & irq.isna()
    queue = queue.mask(backlog, "backlog of CPU " + taken["cpu"].astype("string"))
    stolen_ns = taken["ns"].where(taken["cost_class"] == "stolen", 0)
    taken = taken.assign(
        device=device, queue=queue, irq=irq, stolen_ns=stolen_ns, stolen_max_ns=taken["ns"]
    )
    what = ["thief", "context", "device", "queue", "irq", "napi", "is_network"]
    totals = ["stolen_ns", "stolen_max_ns", "segments"]
    frame = taken.groupby([*keys, *what], dropna=False)[totals].sum().reset_index()
    on_cpu = tasks.groupby(keys, dropna=False)["ns"].sum().rename("on_cpu").reset_index()
    known = not timeline.missing["on_cpu"]
    whole = frame[keys].merge(on_cpu, "left", on=keys)["on_cpu"].astype("float64")
    for share, ns in (("stolen_share", "stolen_ns"), ("stolen_max_share", "stolen_max_ns")):
        frame[share] = frame[ns] / whole.where((whole > 0) & known)
    loss = -frame.groupby(keys, dropna=False)["stolen_max_ns"].transform("sum")
    order = frame.assign(loss=loss, most=-frame["stolen_max_ns"])
    frame = frame.loc[order.sort_values(["loss", *keys, "most"]).index].reset_index(drop=True)
    # Only about one victim is there more to say.
    about = None if by == "tid" else victim
    own = frame[:0] if about is None else frame
    return Answer(frame, by_thief=by_thief(own), **by_queue(own), victim=label_of(timeline, about))


def by_thief(rows: pd.DataFrame) -> pd.DataFrame:
    # A victim's rows of thieves() summed over queues: a row per thief, the largest first.
    keys = ["thief", "kind", "device", "is_network"]
    totals = ["stolen_ns", "stolen_max_ns", "segments", "stolen_share", "stolen_max_share"]
    own = rows.assign(kind=kinds_of(rows)).groupby(keys, dropna=False)
    return most_first(own[totals].sum(min_count=1).reset_index(), "stolen_max_ns")


def by_queue(rows: pd.DataFrame) -> dict[str, Any]:
    # A victim's stolen_max_ns that may be network's. queues: by queue, the largest first;
    # with_polls: whether polls are in them; nobodys: polls without a known queue, by device.
    network = rows[rows["is_network"] != "no"]
    ns = network[network["queue"].notna()].groupby("queue")["stolen_max_ns"].sum()
    polls = network[network["context"] == "poll"]
    nobodys = polls[polls["queue"].isna()].groupby("device", dropna=False)["stolen_max_ns"].sum()
    return {
        "queues": ns.sort_values(ascending=False).reset_index(),
        "with_polls": bool(polls["queue"].notna().any()),
        "nobodys": nobodys.reset_index(),
    }


thieves.plot(
    title=lambda answer: f"What took time from {answer['victim']}, largest first",
    height=lambda answer: 1.3 + 0.26 * min(len(answer["by_thief"]), _BARS),
    panels=lambda answer: [{}] if len(answer["by_thief"]) else [],
)(lambda ax, answer: plots.victim.thieves(ax, answer["by_thief"]))


@question(inputs=(RAISED,))
def queues(timeline: Timeline) -> Answer:
    """Which interrupt line each NAPI instance is polled for.

    A row per NAPI instance whose line is known; empty if no interrupt raised a softirq that polled.
    A NET_RX shows a line if a hardirq raised it and it polled only one instance. (If no raise was
    recorded, it must have begun within 10 us of a hardirq's exit.) A line and an instance belong
    together if each is the other's in more than half of these, and 5 % of the NET_RX that polled
    only the instance show it. A line that several instances share, or an instance that several
    lines raise, is left out.

    Source: softirqs, hardirqs and polls.
    """
    return Answer(lines_of(plain_frame(RAISED(timeline)["instances"])))


def lines_of(instances: pd.DataFrame) -> pd.DataFrame:
    # queues(), from how often each line raised a softirq that polled an instance alone.
    every = instances.groupby("napi")["polled_alone"].transform("max")
    # A few of thousands are coincidence: on PREEMPT_RT the irq threads raise.
    frame = instances[instances["softirqs"] >= every * _LEAST_SHARE]
    for key in ("napi", "irq"):
        frame = frame[frame["softirqs"] > frame.groupby(key)["softirqs"].transform("sum") / 2]
    return frame.drop(columns="polled_alone").reset_index(drop=True)


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
    also "own" (an ordinary task's own time), "idle", "unknown", and "displaced" (time waited off
    CPU for scheduled network work), which has no rows if waits are unknown. The idle tasks and time
    whose task is unknown are victims here, "(idle)" and "(unknown)", without tid. So ns adds up to
    CPUs x window, except for displaced, and per victim to its on_cpu_ns.

    Source: the timeline's sums, and displaced.
    """
    check_by(by)
    displaced = None if timeline.missing["displaced"] else rows(timeline, "displaced")[0]
    sums, keys = timeline.sums_by_thief(by), victim_keys(by)
    idle = (sums["tid"] == 0).fillna(False)
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
    frame = spent[spent > 0].reset_index().merge(on_cpu, "left", on=keys)
    nobodys = frame["cost_class"].isin(["idle", "from_idle", "displaced"])
    known = not timeline.missing["on_cpu"]
    whole = frame.pop("on_cpu").astype("float64")
    frame["on_cpu_share"] = (frame["ns"] / whole).where(~nobodys & (whole > 0) & known)
    order = frame["cost_class"].map({name: place for place, name in enumerate(CLASSES)})
    total = frame.groupby(keys, dropna=False)["ns"].transform("sum")
    frame = frame.assign(total=-total, order=order)
    frame = frame.sort_values(["total", *keys, "order", "is_network"], ignore_index=True)
    return Answer(frame.drop(columns=["total", "order"]))


def _panels(answer: Answer) -> list[dict[str, Any]]:
    nobody = answer.frame.get("comm", pd.Series(dtype=object)).isin(["(idle)", "(unknown)"])
    return [{}] if "tid" not in answer.frame and not nobody.all() else []


@cost_classes.plot(
    title="CPU time of the tasks that lost most, by cost class",
    height=3.4,
    panels=_panels,
)
def _class_bars(ax: "plots.Axes", answer: Answer) -> None:
    line = answer.timeline
    plots.stolen_time.classes(ax, answer.frame, row_name(line, line.victim))
