# What each remedy could give back to a victim at most, and at whose cost.

from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...display.templates import as_text, called, render
from ...timeline.owners import by_total, is_device, summed
from ...timeline.task import Task, label_of
from ...timeline.timeline import Timeline
from ..batches.paired import INPUTS
from ..processes.skb_frees import not_deferred
from ..victim import one_asked_or_chosen
from .robbed import POLLS, Removable, Robbed, saved

# Less than these shares of a victim's time on CPU, and of what networking took from it, is no gain.
LEAST_SHARE, LEAST_PART = 0.01, 0.1
_WHY = Path(__file__).with_name("remedies_why.md")
# Of equal figures the more certain one comes first.
_CERTAINTIES = ("bounded", "estimated", "loosely bounded", "unknown")
_ASSUMPTIONS = {
    "rps": "NET_RX with its polls, and interrupts from other CPUs that may have raised it, move to "
    "one other CPU. Devices' interrupts and other softirqs stay. So do the cost of steering (an "
    "IPI per burst) and the driver's part of a poll. A recording without steering cannot separate "
    "these, so they are not subtracted.",
    "irq_affinity": "Devices' interrupts arrive on one other CPU, with every softirq that they "
    "raise. What interrupts from other CPUs raise, and the victim's own sends, stay.",
    "deferral_off": "The task that received a packet frees it, on another CPU, instead of this "
    "CPU's NET_RX. These frees are part of the poll that follows them, and nothing recorded tells "
    "them apart, so all of NET_RX is the bound.",
    "larger_batches": "Every poll is full. Each poll saved saves the fixed part of poll_costs and "
    "what was measured around it: the interrupt and the softirq outside polls. Packets cost the "
    "same.",
}
_COLUMNS = (
    *("remedy", "finding", "certainty", "from_stolen_ns", "from_synchronous_ns", "removable_ns"),
    *("removable_share", "target_cpu", "idle_ns", "idle_max_ns", "gain_least_ns", "gain_max_ns"),
    *("gain_max_share", "waited_gain_max_ns", "payer", "payer_comm", "why", "assumption"),
)
# Columns that are 0 where nothing can be moved.
_MOVED = (
    *("from_stolen_ns", "from_synchronous_ns", "removable_ns", "removable_share"),
    *("gain_max_ns", "gain_max_share", "waited_gain_max_ns"),
)


class Spare(NamedTuple):
    # What a CPU, or several (cpu None), could take over. idle_max_ns: idle time with time that has
    # no known owner. comm: the task that had most of the other time, None for none.
    cpu: int | None
    idle_ns: int
    idle_max_ns: int
    comm: str | None


class Host(NamedTuple):
    # What moves away from the victim's CPU meets this. on_cpu_ns, waited_ns (None where unknown):
    # of the victim. least_ns: less is no gain. others: the other recorded CPUs, the most idle
    # first. every: whether all CPUs of the host were recorded. alone: whether it has one CPU.
    window_ns: int
    on_cpu_ns: int
    waited_ns: int | None
    least_ns: float
    others: list[Spare]
    every: bool
    alone: bool

    def share(self, ns: int) -> float:
        return ns / self.on_cpu_ns if self.on_cpu_ns else nan


@question(
    needs=("softirqs", "on_cpu"),
    inputs=(*INPUTS, POLLS),
    columns=(
        *("remedy", "rank", "finding", "gain_max_ns", "gain_max_share", "removable_ns"),
        *("certainty", "payer"),
    ),
)
def remedies(timeline: Timeline, victim: Task | None = None) -> Answer:
    """The most that each remedy could give back to a victim, and who would pay for it.

    A row per remedy, by rank; none where no task was seen. removable_ns is the most that the victim
    would get back, no matter who pays; gain_max_ns is the part that no other task would lose. All
    is traced time: none of it includes what interrupts take beyond any two tracepoints
    (hidden_cost). Models: docs/definitions.md. Source: the timeline's sums, softirqs, hardirqs and
    polls; poll_costs; the host's settings.
    """
    task = one_asked_or_chosen(timeline, victim)
    rows = [] if task is None else list(_rows(timeline, Robbed(timeline, task)))
    frame = pd.DataFrame(rows, columns=["rank", *_COLUMNS])
    waited = frame["waited_gain_max_ns"].astype("Int64").fillna(0)
    order = frame.assign(
        none=frame["finding"] == "not applicable",
        reached=frame["gain_max_ns"].astype("Int64") + waited,
        sure=frame["certainty"].map({name: place for place, name in enumerate(_CERTAINTIES)}),
    ).sort_values(["none", "reached", "sure"], ascending=[True, False, True], kind="stable")
    frame = frame.loc[order.index].reset_index(drop=True)
    known = frame["gain_max_ns"].notna()
    frame["rank"] = known.cumsum().where(known).astype("Int64")
    return Answer(frame, victim=label_of(timeline, task), window_ns=timeline.duration_ns)


def _rows(timeline: Timeline, robbed: Robbed) -> Iterator[dict[str, Any]]:
    steered = robbed.receiving(dispatches=False)
    host = _host(timeline, robbed, steered)
    # Where a device polled, a driver's work cannot be separated from the stack's. Where its own CPU
    # would steer, the cost of steering stays there, and is unknown.
    polls = robbed.interrupts[robbed.interrupts["context"] == "poll"]
    steers = polls["device"].map(is_device).any() or steered.synchronous_ns > steered.stolen_ns
    yield _leaving("rps", steered, "loosely bounded" if steers else "bounded", host)
    if timeline.missing["interrupts"]:
        yield _unknown("irq_affinity", "interrupts not recorded")
    else:
        yield _leaving("irq_affinity", robbed.of_devices(), "bounded", host)
    if refused := not_deferred(timeline.capture):
        why = _why(refused, kernel=timeline.capture.info["kernel"])
        yield _row("deferral_off", finding="not applicable", why=why)
    else:
        yield _leaving("deferral_off", robbed.receiving(dispatches=True), "loosely bounded", host)
    if timeline.missing["polls"]:
        yield _unknown("larger_batches", "polls not recorded")
    else:
        yield _saving(timeline, robbed, host)


def _host(timeline: Timeline, robbed: Robbed, steered: Removable) -> Host:
    recorded, number = set(timeline.summary["cpus"]), timeline.capture.info["nr_cpus"]
    # The CPU that most would leave; of equals, where the victim ran longest.
    home = max(robbed.cpus.index, key=lambda cpu: (steered.on(cpu), robbed.cpus[cpu]))
    others = []
    for cpu in recorded - {home}:
        here = [row for row in timeline.owned_by() if row.cpu == cpu]
        idle = sum(row.ns for row in here if row.context == "idle")
        unknown = sum(row.ns for row in here if row.context == "unknown" and not row.of_task)
        tasks = by_total(summed((row.comm, row.ns) for row in here if row.of_task))
        others.append(Spare(cpu, idle, idle + unknown, next(iter(tasks), None)))
    on_cpu_ns = int(robbed.row["on_cpu_ns"])
    return Host(
        timeline.duration_ns,
        on_cpu_ns,
        robbed.row["displaced_ns"],
        max(LEAST_SHARE * on_cpu_ns, LEAST_PART * robbed.network_ns),
        sorted(others, key=lambda spare: (-spare.idle_ns, -spare.idle_max_ns, spare.cpu)),
        number is not None and len(recorded) >= number,
        number == 1,
    )


def _row(remedy: str, **known: Any) -> dict[str, Any]:
    return dict.fromkeys(_COLUMNS) | {"remedy": remedy, "assumption": _ASSUMPTIONS[remedy]} | known


def _unknown(remedy: str, reason: str, **figures: Any) -> dict[str, Any]:
    return _row(remedy, finding="unknown", certainty="unknown", why=_why(reason, **figures))


def _why(reason: str, **figures: Any) -> str:
    return as_text(render(_WHY, {"reason": reason, **figures}))


def _leaving(remedy: str, leaving: Removable | None, certainty: str, host: Host) -> dict[str, Any]:
    # leaving: what would leave the victim's CPUs; None where nothing can leave.
    if host.alone or leaving is None:
        why = _why("one cpu" if host.alone else "no device here")
        nothing = dict.fromkeys(_MOVED, 0)
        return _row(remedy, certainty="bounded", finding="no gain", why=why, **nothing)
    row = _row(
        remedy,
        certainty=certainty,
        from_stolen_ns=leaving.stolen_ns,
        from_synchronous_ns=leaving.synchronous_ns,
        removable_ns=leaving.ns,
        removable_share=host.share(leaving.ns),
    )
    little = leaving.ns + (host.waited_ns or 0) < host.least_ns
    if little:
        row |= {"finding": "no gain", "why": _why("little", removable_ns=leaving.ns)}
    # Receivers, which free the packets, may be on any other CPU; steering goes to one CPU.
    anywhere = remedy == "deferral_off"
    if not host.others or (anywhere and not host.every):
        unknown = {"finding": "unknown", "why": _why("others not recorded")}
        return row if little else row | unknown
    spare = host.others[0]
    if anywhere:
        idle_ns = sum(one.idle_ns for one in host.others)
        spare = Spare(None, idle_ns, sum(one.idle_max_ns for one in host.others), None)
    movable = leaving.ns - leaving.on(spare.cpu)
    gain = min(movable, spare.idle_max_ns)
    waited = None if host.waited_ns is None else min(host.waited_ns, spare.idle_max_ns - gain)
    paid = movable > spare.idle_ns
    row |= {
        "target_cpu": spare.cpu,
        "idle_ns": spare.idle_ns,
        "idle_max_ns": spare.idle_max_ns,
        "gain_max_ns": gain,
        "gain_max_share": host.share(gain),
        "waited_gain_max_ns": waited,
        "payer": "receivers" if anywhere else "tasks" if paid else "idle CPU",
        "payer_comm": spare.comm if paid else None,
    }
    if little:
        return row
    if gain + (waited or 0) < host.least_ns:
        why = _why("busy", spare=spare, window_ns=host.window_ns)
        return row | {"finding": "no gain", "why": why}
    return row | {"finding": "gain"}


def _saving(timeline: Timeline, robbed: Robbed, host: Host) -> dict[str, Any]:
    # Larger batches: no task pays with time, but packets wait.
    batches = saved(timeline, robbed.victim, LEAST_SHARE * host.on_cpu_ns)
    if batches.why is not None:
        device = called(batches.device)
        return _unknown("larger_batches", "no line", device=device, line=batches.why)
    # The cost around a poll is an average over all polls of the device, not these alone.
    least, most = (min(ns, int(robbed.row["stolen_network_max_ns"])) for ns in batches[:2])
    little = most < host.least_ns
    return _row(
        "larger_batches",
        finding="no gain" if little else "gain",
        certainty="estimated",
        from_stolen_ns=most,
        from_synchronous_ns=0,
        removable_ns=most,
        removable_share=host.share(most),
        gain_least_ns=least,
        gain_max_ns=most,
        gain_max_share=host.share(most),
        waited_gain_max_ns=0,
        payer="latency",
        why=_why("little", removable_ns=most) if little else None,
    )


@remedies.plot(
    title=lambda answer: f"What each remedy could give back to {answer['victim']}",
    height=2.4,
    panels=lambda answer: [{}] if len(answer.frame) else [],
)
def _bars(ax: Axes, answer: Answer) -> None:
    from ...plots.victim import remedies as draw

    draw(ax, answer.frame)
