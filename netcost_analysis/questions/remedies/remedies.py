# What each remedy could give back to a victim at most, at whose cost.

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.question import question
from ...display.templates import as_text, render
from ...timeline.task import Task, label_of
from ...timeline.timeline import Timeline
from ..batches.common import called, records
from ..batches.paired import INPUTS
from ..processes.deferral import not_deferred
from ..victim import one_asked_or_chosen, victim_of
from .fewer_polls import POLLS, saved
from .robbed import Removable, Robbed
from .spare import Spare, spares, together

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

# Of a victim's time on CPU, and of what networking took from it: less is no gain, of any remedy.
LEAST_SHARE, LEAST_PART = 0.01, 0.1
_WHY = Path(__file__).with_name("remedies_why.md")
# Of figures alike, the one that is known better comes first.
_CERTAINTIES = ("bounded", "estimated", "loosely bounded", "unknown")
_ASSUMPTIONS = {
    "rps": "NET_RX with its polls, and the interrupts of other CPUs that may have raised it, move "
    "to one other CPU; devices' interrupts and other softirqs stay. What steering itself costs, an "
    "IPI for each burst, and the driver's part of a device's poll stay too; no recording without "
    "it tells them apart, so they are not taken off.",
    "irq_affinity": "Devices' interrupts come on one other CPU, with every softirq that they "
    "raise; what interrupts of other CPUs raise, and the victim's own sends, stays.",
    "deferral_off": "Who received a packet frees it, on another CPU, and not this CPU's NET_RX. "
    "Such frees are in the time of the poll that they precede, and nothing recorded tells them "
    "from it: all of NET_RX is the bound.",
    "larger_batches": "Every poll is full. A poll less saves the fixed part of poll_costs and what "
    "was measured around it, the interrupt and the softirq outside polls; packets cost as much.",
}


class Host(NamedTuple):
    # Whom leaving the victim's CPU meets. on_cpu_ns, waited_ns (None where not known): the
    # victim's. least_ns: less is no gain. others: the other CPUs of the timeline; every: whether
    # the host has no further; alone: whether it has one CPU.
    window_ns: int
    on_cpu_ns: int
    waited_ns: int | None
    least_ns: float
    others: list[Spare]
    every: bool
    alone: bool


@question(
    needs=("softirqs", "on_cpu"),
    inputs=(*INPUTS, POLLS),
    columns=(
        *("remedy", "rank", "finding", "gain_max_ns", "gain_max_share", "removable_ns"),
        *("certainty", "payer"),
    ),
)
def remedies(timeline: Timeline, victim: Task | None = None) -> pd.DataFrame:
    """What each remedy could give back to a victim at most, and who would pay for it.

    A row per remedy, by rank: rps (receive packet steering to another CPU), irq_affinity (the
    devices' interrupts to another CPU), deferral_off (net.core.skb_defer_max=0), larger_batches
    (interrupt coalescing, gro_flush_timeout). removable_ns is what the victim would get back at
    most, whoever pays; gain_max_ns what of it no other task would lose. Columns: docs/columns.md.
    Empty where no task was seen.

    Source: the timeline's sums, softirqs, hardirqs and polls; poll_costs; the host's settings. Of
    traced time: what interrupts take beyond any two tracepoints (hidden_cost) is in none of it.
    Models: docs/definitions.md.
    """
    task = one_asked_or_chosen(timeline, victim)
    rows = [] if task is None else list(_rows(timeline, Robbed(timeline, task)))
    frame = pd.DataFrame(rows, columns=["rank", *_COLUMNS])
    waited = frame["waited_gain_max_ns"].astype("Int64").fillna(0)
    reached = frame["gain_max_ns"].astype("Int64") + waited
    order = frame.assign(
        reached=reached,
        sure=frame["certainty"].map(dict(zip(_CERTAINTIES, range(9), strict=False))),
        none=frame["finding"] == "not applicable",
    ).sort_values(["none", "reached", "sure"], ascending=[True, False, True], kind="stable")
    frame = frame.loc[order.index].reset_index(drop=True)
    known = frame["gain_max_ns"].notna()
    return frame.assign(rank=known.cumsum().where(known).astype("Int64"))


_COLUMNS = (
    *("remedy", "finding", "certainty", "from_stolen_ns", "from_synchronous_ns", "removable_ns"),
    *("removable_share", "target_cpu", "idle_ns", "idle_max_ns", "gain_least_ns", "gain_max_ns"),
    *("gain_max_share", "waited_gain_max_ns", "payer", "payer_comm", "why", "assumption"),
)


def _rows(timeline: Timeline, robbed: Robbed) -> Iterator[dict[str, Any]]:
    on_cpu_ns = int(robbed.row["on_cpu_ns"])
    recorded, number = set(timeline.summary["cpus"]), timeline.capture.info["nr_cpus"]
    steered = robbed.receiving(dispatches=False)
    # From where most would leave; of equals where it was longest.
    home = max(robbed.cpus.index, key=lambda cpu: (steered.of(cpu), robbed.cpus[cpu]))
    host = Host(
        timeline.duration_ns,
        on_cpu_ns,
        robbed.row["displaced_ns"],
        max(LEAST_SHARE * on_cpu_ns, LEAST_PART * robbed.network_ns),
        spares(timeline, recorded - {home}),
        number is not None and len(recorded) >= number,
        number == 1,
    )
    # Where its own CPU would steer, what that costs stays, and is not known.
    steers = robbed.of_drivers or steered.synchronous_ns > steered.stolen_ns
    yield _leaving("rps", steered, "loosely bounded" if steers else "bounded", host)
    if timeline.missing["interrupts"]:
        yield _unknown("irq_affinity", "interrupts not recorded")
    else:
        yield _leaving("irq_affinity", robbed.of_devices(), "bounded", host)
    refused = not_deferred(timeline.capture)
    if refused:
        row = _row("deferral_off", finding="not applicable")
        yield row | {"why": _why(refused, kernel=timeline.capture.info["kernel"])}
    else:
        yield _leaving("deferral_off", robbed.receiving(dispatches=True), "loosely bounded", host)
    if timeline.missing["polls"]:
        yield _unknown("larger_batches", "polls not recorded")
    else:
        yield _saving(timeline, robbed, host)


def _row(remedy: str, **known: Any) -> dict[str, Any]:
    return dict.fromkeys(_COLUMNS) | {"remedy": remedy, "assumption": _ASSUMPTIONS[remedy]} | known


def _unknown(remedy: str, reason: str, **figures: Any) -> dict[str, Any]:
    return _row(remedy, finding="unknown", certainty="unknown", why=_why(reason, **figures))


def _why(reason: str, **figures: Any) -> str:
    return as_text(render(_WHY, {"reason": reason, **figures}))


def _leaving(remedy: str, taken: Removable | None, certainty: str, host: Host) -> dict[str, Any]:
    # taken: what would leave the victim's CPUs; None where nothing can.
    if host.alone or taken is None:
        row = _row(remedy, certainty="bounded", finding="no gain")
        row |= dict.fromkeys(("from_stolen_ns", "from_synchronous_ns", "removable_ns"), 0)
        row |= {
            "gain_max_ns": 0,
            "waited_gain_max_ns": 0,
            "removable_share": 0.0,
            "gain_max_share": 0.0,
        }
        return row | {"why": _why("one cpu" if host.alone else "no device here")}
    row = _row(
        remedy,
        certainty=certainty,
        from_stolen_ns=taken.stolen_ns,
        from_synchronous_ns=taken.synchronous_ns,
        removable_ns=taken.ns,
        removable_share=_share(taken.ns, host),
    )
    little = taken.ns + (host.waited_ns or 0) < host.least_ns
    if little:
        row |= {"finding": "no gain", "why": _why("little", removable_ns=taken.ns)}
    # Who receives, and so frees, may be on any of the others; what is steered goes to one.
    anywhere = remedy == "deferral_off"
    if not host.others or (anywhere and not host.every):
        unknown = {"finding": "unknown", "why": _why("others not recorded")}
        return row if little else row | unknown
    spare = together(host.others) if anywhere else host.others[0]
    movable = taken.ns - (0 if spare.cpu is None else taken.of(spare.cpu))
    gain = min(movable, spare.idle_max_ns)
    waited = None if host.waited_ns is None else min(host.waited_ns, spare.idle_max_ns - gain)
    paid = movable > spare.idle_ns
    row |= {
        "target_cpu": spare.cpu,
        "idle_ns": spare.idle_ns,
        "idle_max_ns": spare.idle_max_ns,
        "gain_max_ns": gain,
        "gain_max_share": _share(gain, host),
        "waited_gain_max_ns": waited,
        "payer": "receivers" if anywhere else "tasks" if paid else "idle CPU",
        "payer_comm": spare.comm if paid else None,
    }
    if little:
        return row
    reached = gain + (waited or 0)
    if reached < host.least_ns:
        why = _why("busy", spare=spare, window_ns=host.window_ns)
        return row | {"finding": "no gain", "why": why}
    return row | {"finding": "gain"}


def _saving(timeline: Timeline, robbed: Robbed, host: Host) -> dict[str, Any]:
    # Of larger batches: nobody pays with time, packets wait.
    found = saved(timeline, robbed.victim, LEAST_SHARE * host.on_cpu_ns)
    if found.why is not None:
        return _unknown("larger_batches", "no line", device=called(found.device), line=found.why)
    # What surrounds a poll is measured per device: of all its polls, not of these alone.
    least, most = (min(ns, int(robbed.row["stolen_network_max_ns"])) for ns in found[:2])
    row = _row(
        "larger_batches",
        finding="gain",
        certainty="estimated",
        from_stolen_ns=most,
        from_synchronous_ns=0,
        removable_ns=most,
        removable_share=_share(most, host),
        gain_least_ns=least,
        gain_max_ns=most,
        gain_max_share=_share(most, host),
        waited_gain_max_ns=0,
        payer="latency",
    )
    if most < host.least_ns:
        row |= {"finding": "no gain", "why": _why("little", removable_ns=most)}
    return row


def _share(ns: int, host: Host) -> float:
    return ns / host.on_cpu_ns if host.on_cpu_ns else float("nan")


@remedies.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    victim = victim_of(answer)
    return {
        "victim": label_of(answer.timeline, victim),
        "rows": records(answer.frame),
        "window_ns": answer.timeline.duration_ns,
    }


@remedies.plot(
    title=lambda answer: f"What each remedy could give back to {answer.figures['victim']}",
    height=2.4,
    panels=lambda answer: [{}] if len(answer.frame) else [],
)
def _bars(ax: "Axes", answer: "Answer") -> None:
    from ...plots.remedies import remedies as draw

    draw(ax, answer.frame)
