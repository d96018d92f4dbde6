"""What networking cost in all and on each CPU."""

from typing import NamedTuple

from ..answers.question import Answer, question
from ..capture.requires import few, unrecorded
from ..coverage import WORTH_SAYING_FIRST, coverage_words
from ..display.tables import between, share_between
from ..timeline.owners import INTERRUPT_CONTEXTS, summed
from ..timeline.timeline import Timeline
from ..units import duration, plural, share, were
from .completeness.unrecorded import missing
from .stolen_sums import share_of

SOFTIRQS = ("irq:softirq_entry", "irq:softirq_exit")
# Without these there is no interrupt time.
INTERRUPTS = ("irq:irq_handler_entry", "irq:irq_handler_exit", *SOFTIRQS)
_EVENTS = (
    *INTERRUPTS,
    # Without it the time of kernel threads has no owner.
    "sched:sched_switch",
)
# Kernel threads that encrypt, forward and send for some devices, beside whatever else they do.
_MAY_CARRY = ("kworker/", "mt76-")
_WORTH_SAYING = 0.05
_NAMED = 4


class CpuCost(NamedTuple):
    """What networking cost one CPU or several; None and NaN where nothing is known."""

    network_cpu_ns: int
    network_cpu_max_ns: int | None
    window_ns: int
    network_cpu_share: float
    network_cpu_max_share: float
    unknown_share: float


class NetworkCost(NamedTuple):
    """What network_cost() returns, without pandas; by_cpu: most network_cpu_ns first."""

    network_cpu_ns: int
    network_cpu_max_ns: int | None
    network_cpu_share: float
    network_cpu_max_share: float
    unknown_cpu_share: float
    cpu_ns: int
    recorded_share: float | None
    owned_share: float | None
    softirqs_missing: int
    interrupts_missing: int
    kworkers_ns: int
    not_recorded: tuple[str, ...]
    by_cpu: dict[int, CpuCost]

    @property
    def is_open(self) -> bool:
        """Whether kworkers ran longer than the range is wide and than 5 % of its upper end."""
        high = self.network_cpu_max_ns
        return high is not None and self.kworkers_ns > max(
            high - self.network_cpu_ns, _WORTH_SAYING * high
        )

    @property
    def window_ns(self) -> int:
        """The length of the window."""
        return max((cpu.window_ns for cpu in self.by_cpu.values()), default=0)


@question(topic="stolen_time", rows=0)
def network_cost(timeline: Timeline) -> Answer:
    """What networking cost in total and on each CPU, whichever task was current, idle CPUs too.

    A row per CPU, most first. If unknown_cpu_share is not 0, the other figures are lower bounds.
    network_cpu_max_ns is NA if nothing was recorded or has a known owner. kworkers_ns may include
    network work, such as that of tunnels; no event tells.

    Source: the timeline's sums, and completeness().
    """
    import pandas as pd

    cost = cost_of(timeline)
    index = pd.Index(list(cost.by_cpu), name="cpu", dtype="int64")
    rows = pd.DataFrame(list(cost.by_cpu.values()), index, CpuCost._fields)
    figures = cost._asdict()
    del figures["by_cpu"]
    return Answer(of_cpus=rows, **figures, lines=cost_words(timeline, cost))


def cost_of(timeline: Timeline) -> NetworkCost:
    """network_cost() without pandas."""
    rows = timeline.owned_by()
    busy = [
        row for row in rows if row.context in INTERRUPT_CONTEXTS or row.cost_class == "scheduled"
    ]
    least = summed((row.cpu, row.ns) for row in busy if row.is_network == "yes")
    most = summed((row.cpu, row.ns) for row in busy if row.is_network != "no")
    unknown = summed((row.cpu, row.ns) for row in rows if row.context == "unknown")
    # Where nothing is known there is no upper end.
    some = bool(timeline.recorded and timeline.owned)

    def cost(cpus: list[int]) -> CpuCost:
        low, high, unowned = (sum(ns.get(cpu, 0) for cpu in cpus) for ns in (least, most, unknown))
        whole = len(cpus) * timeline.duration_ns
        upper = high if some and unowned < whole else None
        shares = (share_of(ns, whole) for ns in (low, upper, unowned))
        return CpuCost(low, upper, whole, *shares)

    cpus = timeline.summary["cpus"]
    lacking = [counter for counter in missing(timeline) if counter.network]
    softirqs = sum(counter.least for counter in lacking if counter.kind == "softirq")
    every = cost(cpus)
    return NetworkCost(
        every.network_cpu_ns,
        every.network_cpu_max_ns,
        every.network_cpu_share,
        every.network_cpu_max_share,
        every.unknown_share,
        every.window_ns,
        timeline.recorded,
        timeline.owned,
        softirqs_missing=softirqs,
        interrupts_missing=sum(counter.least for counter in lacking) - softirqs,
        kworkers_ns=sum(
            row.ns for row in rows if row.context == "task" and row.comm.startswith(_MAY_CARRY)
        ),
        not_recorded=tuple(unrecorded(timeline.capture, *_EVENTS)),
        by_cpu={cpu: cost([cpu]) for cpu in sorted(cpus, key=lambda cpu: -least.get(cpu, 0))},
    )


def cost_words(timeline: Timeline, cost: NetworkCost, alone: bool = True) -> list[str]:
    """The cost in words; for the window of a run also the cost in the whole trace."""
    during, capture, cpus = timeline.window.during, timeline.capture, timeline.cpus
    if not during:
        return network_words(cost, alone=alone)
    whole = capture.whole if cpus is None else capture.timeline(cpus=cpus)
    return network_words(cost, during, cost_of(whole), alone)


def network_words(
    cost: NetworkCost, during: str = "", trace: NetworkCost | None = None, alone: bool = True
) -> list[str]:
    """The cost in sentences, after how much is unknown where that is a lot.

    during: whose run the window is, in words; trace: the cost in the whole recording then. alone:
    without first_words() before it, which name the window and the coverage.
    """
    lines = unknown_words(cost) if alone else []
    known = cost.network_cpu_max_ns is not None
    lacking = ""
    if cost.not_recorded:
        lacking = f"{few(cost.not_recorded)} {were(len(cost.not_recorded))} not recorded"
    if set(SOFTIRQS) & set(cost.not_recorded):
        return [*lines, f"This capture cannot say what networking cost in all: {lacking}."]
    whole = "all CPU time"
    if len(cost.by_cpu) == 1:
        whole = f"the time of CPU {next(iter(cost.by_cpu))}"
    missing = missing_words(cost)
    misses = f"the recording misses {missing}" if missing else ""
    sure = coverage_words(cost.recorded_share, cost.owned_share)
    used = share_between(cost.network_cpu_share, cost.network_cpu_max_share) if known else ""
    if not known or (misses and not used):
        nothing = "none of it has a known owner" if not known else ""
        if not cost.recorded_share:
            nothing = "none of it was recorded"
        why = ", and ".join(filter(None, (nothing, misses)))
        return [*lines, f"How much of {whole} networking used is unknown: {why} ({sure})."]
    if not used and cost.unknown_cpu_share > 0:
        whole += " that has a known owner"
    text = f"{opening(during if alone else '', cost.window_ns)} used"
    text += f" {used or '0 %'}{_or_more(cost)} of {whole}"
    times = between(cost.network_cpu_ns, cost.network_cpu_max_ns)
    if times:
        text += f" ({times} of {duration(cost.cpu_ns)})"
    if len(cost.by_cpu) > 1:
        parts = [
            f"{share_between(of_cpu.network_cpu_share, of_cpu.network_cpu_max_share)} of CPU {cpu}"
            for cpu, of_cpu in cost.by_cpu.items()
            if of_cpu.network_cpu_max_ns
        ]
        rest = [f"{len(parts[_NAMED:])} more"] if parts[_NAMED:] else []
        text += f": {', '.join([*parts[:_NAMED], *rest])}" if parts else ""
    if alone:
        text += f" ({'; '.join(filter(None, (sure, misses)))})"
    if trace and trace.network_cpu_max_ns is not None:
        used = share_between(trace.network_cpu_share, trace.network_cpu_max_share) or "0 %"
        text += f"; in the whole trace ({duration(trace.window_ns)}) it was {used}{_or_more(trace)}"
    text += f". It may have used more: {lacking}." if lacking else "."
    lines.append(text)
    if cost.is_open:
        ran = duration(cost.kworkers_ns)
        lines.append(f"kworkers ran {ran}; how much of that was networking is unknown.")
    return lines


def opening(during: str, window_ns: int) -> str:
    """How a sentence about a window begins; during: whose run it is, "" for none."""
    if not during:
        return "Networking"
    return f"{during[0].upper()}{during[1:]} ({duration(window_ns)}), networking"


def unknown_words(cost: NetworkCost) -> list[str]:
    """The sentence that much of CPU time has no known owner, where that is so."""
    if cost.network_cpu_max_ns is None or cost.unknown_cpu_share <= WORTH_SAYING_FIRST:
        return []
    unknown = f"The owner of {share(cost.unknown_cpu_share)} of CPU time is unknown"
    return [f"{unknown}: the figures of the rest are lower bounds."]


def _or_more(cost: NetworkCost) -> str:
    return " or more" if missing_words(cost) or cost.is_open else ""


def missing_words(cost: NetworkCost) -> str:
    """What the recording lacks of what the kernel counted; "" for nothing."""
    softirqs, interrupts = cost.softirqs_missing, cost.interrupts_missing
    counts = []
    if softirqs:
        counts.append(plural(softirqs, "network softirq"))
    if interrupts:
        counts.append(plural(interrupts, "possible network interrupt"))
    return f"{' and '.join(counts)} that the kernel counted" if counts else ""
