"""What networking cost in all, on which CPUs: what a headline begins with."""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from ..capture.requires import few, unrecorded
from ..coverage import WORTH_SAYING_FIRST, coverage_words
from ..display.tables import between, share_between
from ..timeline.aggregate import INTERRUPT_CONTEXTS, summed
from ..timeline.timeline import Timeline
from ..units import duration, plural, share, were
from .completeness.unrecorded import missing
from .question import question

if TYPE_CHECKING:
    import pandas as pd

    from .answer import Answer

_NAMED = 4
_SOFTIRQS = ("irq:softirq_entry", "irq:softirq_exit")
_EVENTS = (
    *(*_SOFTIRQS, "irq:irq_handler_entry", "irq:irq_handler_exit"),
    # Without it the time of kernel threads has no name.
    "sched:sched_switch",
)


@dataclass(frozen=True)
class CpuCost:
    """What networking cost a CPU, or all; fields: NetworkCost."""

    network_cpu_ns: int
    network_cpu_max_ns: int | None
    cpu_ns: int
    network_cpu_share: float
    network_cpu_max_share: float
    unknown_cpu_share: float


@dataclass(frozen=True)
class NetworkCost:
    """What networking cost. Shares are of the CPUs' time, 0 to 1, NaN for an empty window.

    Attributes
    ----------
    network_cpu_ns, network_cpu_max_ns : int, int or None
        CPU time of hardirqs, softirqs, polls and kernel threads that is network, and with what may
        be (shared and inter-processor interrupts). The second is None, of a CPU NA, and its share
        NaN, where nothing was recorded or has a known owner.
    network_cpu_share, network_cpu_max_share : float
        The same of the time of all CPUs.
    unknown_cpu_share : float
        What has no known owner; where that is not 0 the others are lower bounds.
    cpu_ns : int
        CPUs x window.
    recorded_share, owned_share : float or None
        As in coverages().
    softirqs_missing, interrupts_missing : int
        Network softirqs, and interrupts that are network or may be, that the kernel counted on
        these CPUs and the recording has not: no figure has their time.
    not_recorded : tuple of str
        Events of interrupts, softirqs and switches that were not; without softirqs nobody knows the
        cost.
    by_cpu : dict of int to CpuCost
        The first six figures of each CPU, most network_cpu_ns first.
    of_cpus : pandas.DataFrame
        The same, a row per CPU (index cpu).
    """

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
    not_recorded: tuple[str, ...]
    by_cpu: dict[int, CpuCost]
    part_names: ClassVar[tuple[str, ...]] = (
        *("network_cpu_ns", "network_cpu_max_ns", "network_cpu_share", "network_cpu_max_share"),
        *("unknown_cpu_share", "cpu_ns", "recorded_share", "owned_share"),
        *("softirqs_missing", "interrupts_missing", "not_recorded", "of_cpus"),
    )

    @cached_property
    def of_cpus(self) -> "pd.DataFrame":
        """By CPU what by_cpu has, as a table (index: cpu)."""
        import pandas as pd

        index = pd.Index(list(self.by_cpu), name="cpu", dtype="int64")
        rows = pd.DataFrame([asdict(one) for one in self.by_cpu.values()], index=index)
        return rows.astype({"network_cpu_max_ns": "Int64"})


@question(topic="stolen_time", rows=0)
def network_cost(timeline: Timeline) -> NetworkCost:
    """What networking cost in all, and each CPU: whoever was current, and idle CPUs too.

    Parameters
    ----------
    timeline : Timeline
        The window and the CPUs in question.

    Returns
    -------
    NetworkCost
        Times in ns and shares of CPU time, in all and by CPU.

    Notes
    -----
    Source: the timeline's sums, and completeness().
    """
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
        low, high, nobodys = (
            sum(part.get(cpu, 0) for cpu in cpus) for part in (least, most, unknown)
        )
        whole = len(cpus) * timeline.duration_ns
        known = some and nobodys < whole
        nan = float("nan")
        return CpuCost(
            low,
            high if known else None,
            whole,
            low / whole if whole > 0 else nan,
            high / whole if known else nan,
            nobodys / whole if whole > 0 else nan,
        )

    cpus = timeline.summary["cpus"]
    by_cpu = {cpu: cost([cpu]) for cpu in cpus}
    lacking = [one for one in missing(timeline) if one.network]
    softirqs = sum(one.least for one in lacking if one.kind == "softirq")
    return NetworkCost(
        **asdict(cost(cpus)),
        recorded_share=timeline.recorded,
        owned_share=timeline.owned,
        softirqs_missing=softirqs,
        interrupts_missing=sum(one.least for one in lacking) - softirqs,
        not_recorded=tuple(unrecorded(timeline.capture, *_EVENTS)),
        by_cpu=dict(sorted(by_cpu.items(), key=lambda one: -one[1].network_cpu_ns)),
    )


def network_words(cost: NetworkCost) -> list[str]:
    """The first sentences of a headline: what is not known, where that is much; then the cost."""
    lines = []
    known = cost.network_cpu_max_ns is not None
    if known and cost.unknown_cpu_share > WORTH_SAYING_FIRST:
        lines.append(
            f"Of {share(cost.unknown_cpu_share)} of CPU time nobody knows who had it: what is said "
            "of the rest is a lower bound."
        )
    lacking = ""
    if cost.not_recorded:
        lacking = f"{few(cost.not_recorded)} {were(len(cost.not_recorded))} not recorded"
    if set(_SOFTIRQS) & set(cost.not_recorded):
        return [*lines, f"What networking cost in all this capture cannot say: {lacking}."]
    whole = "all CPU time"
    if len(cost.by_cpu) == 1:
        whole = f"the time of CPU {next(iter(cost.by_cpu))}"
    coverages, counted = coverage_words(cost.recorded_share, cost.owned_share), _missing(cost)
    used = share_between(cost.network_cpu_share, cost.network_cpu_max_share) if known else ""
    if not known or (counted and not used):
        why = counted
        if not cost.recorded_share:
            why = ["nothing of it was recorded", *counted]
        elif not known:
            why = ["nothing of it has a known owner", *counted]
        text = (
            f"How much networking used of {whole} is not known: {', and '.join(why)} ({coverages})"
        )
        return [*lines, f"{text}."]
    if not used and cost.unknown_cpu_share > 0:
        whole += " that has a known owner"
    text = f"Networking used {'at least ' if counted else ''}{used or 'nothing'} of {whole}"
    times = between(cost.network_cpu_ns, cost.network_cpu_max_ns)
    if times:
        text += f", {times} of {duration(cost.cpu_ns)}"
    rows = {cpu: one for cpu, one in cost.by_cpu.items() if one.network_cpu_max_ns}
    if rows and len(cost.by_cpu) > 1:
        listed = [
            f"{share_between(one.network_cpu_share, one.network_cpu_max_share)} of CPU {cpu}"
            for cpu, one in list(rows.items())[:_NAMED]
        ]
        more = [f"{len(rows) - _NAMED} more"] if len(rows) > _NAMED else []
        text += f": {', '.join([*listed, *more])}"
    text += f" ({'; '.join([coverages, *counted])})"
    return [*lines, f"{text}{f', and more: {lacking}' if cost.not_recorded else ''}."]


def _missing(cost: NetworkCost) -> list[str]:
    # What the kernel counted and no figure has.
    said = []
    if cost.softirqs_missing:
        missing = cost.softirqs_missing
        said.append(
            f"{plural(missing, 'network softirq')} {were(missing)} counted and not recorded"
        )
    if cost.interrupts_missing:
        said.append(
            f"{plural(cost.interrupts_missing, 'interrupt')} that may be network "
            f"{were(cost.interrupts_missing)} counted and not recorded"
        )
    return said


@network_cost.figures
def _lines(answer: "Answer[NetworkCost]") -> dict[str, list[str]]:
    return {"lines": network_words(answer.result)}
