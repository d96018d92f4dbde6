# What networking cost, in words. No template: `netcost stolen` prints them before Jinja2 could be
# imported.

from typing import TYPE_CHECKING

from ..capture.requires import few
from ..coverage import WORTH_SAYING_FIRST, coverage_words
from ..display.tables import between, share_between
from ..units import duration, plural, share, were

if TYPE_CHECKING:
    from .network_cost import NetworkCost

_NAMED = 4
SOFTIRQS = ("irq:softirq_entry", "irq:softirq_exit")


def network_words(cost: "NetworkCost") -> list[str]:
    """The first sentences of a headline: how much is unknown where that is a lot, then the cost."""
    lines = []
    known = cost.network_cpu_max_ns is not None
    if known and cost.unknown_cpu_share > WORTH_SAYING_FIRST:
        lines.append(
            f"The owner of {share(cost.unknown_cpu_share)} of CPU time is unknown: the figures of "
            "the rest are lower bounds."
        )
    lacking = ""
    if cost.not_recorded:
        lacking = f"{few(cost.not_recorded)} {were(len(cost.not_recorded))} not recorded"
    if set(SOFTIRQS) & set(cost.not_recorded):
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
        rest = list(rows)[_NAMED:]
        more = [f"{len(rest)} more"] if rest else []
        text += f": {', '.join([*listed, *more])}"
    text += f" ({'; '.join([coverages, *counted])})"
    return [*lines, f"{text}{f', and more: {lacking}' if cost.not_recorded else ''}."]


def _missing(cost: "NetworkCost") -> list[str]:
    # What the kernel counted and no figure has.
    missing = []
    if cost.softirqs_missing:
        missing.append(
            f"{plural(cost.softirqs_missing, 'network softirq')} "
            f"{were(cost.softirqs_missing)} counted and not recorded"
        )
    if cost.interrupts_missing:
        missing.append(
            f"{plural(cost.interrupts_missing, 'interrupt')} that may be network "
            f"{were(cost.interrupts_missing)} counted and not recorded"
        )
    return missing
