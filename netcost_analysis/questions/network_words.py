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
# Without these there is no interrupt time.
INTERRUPTS = ("irq:irq_handler_entry", "irq:irq_handler_exit", *SOFTIRQS)


def network_words(
    cost: "NetworkCost", during: str = "", trace: "NetworkCost | None" = None, alone: bool = True
) -> list[str]:
    """The first sentences of a headline: how much is unknown where that is a lot, then the cost.

    during: whose run it is of, in words; trace: the cost in all of the recording then. alone: no
    first_words() stand before it, which say what the window is and how sure it is.
    """
    lines = unknown_words(cost) if alone else []
    known = cost.network_cpu_max_ns is not None
    lacking = ""
    if cost.not_recorded:
        lacking = f"{few(cost.not_recorded)} {were(len(cost.not_recorded))} not recorded"
    if set(SOFTIRQS) & set(cost.not_recorded):
        return [*lines, f"What networking cost in all this capture cannot say: {lacking}."]
    whole = "all CPU time"
    if len(cost.by_cpu) == 1:
        whole = f"the time of CPU {next(iter(cost.by_cpu))}"
    missing = missing_words(cost)
    counted = f"the kernel counted {missing} that are not in it" if missing else ""
    sure = coverage_words(cost.recorded_share, cost.owned_share)
    used = share_between(cost.network_cpu_share, cost.network_cpu_max_share) if known else ""
    if not known or (counted and not used):
        why = [counted]
        if not cost.recorded_share:
            why = ["nothing of it was recorded", counted]
        elif not known:
            why = ["nothing of it has a known owner", counted]
        said = ", and ".join(filter(None, why))
        return [*lines, f"How much networking used of {whole} is not known: {said} ({sure})."]
    if not used and cost.unknown_cpu_share > 0:
        whole += " that has a known owner"
    text = f"{opening(during if alone else '', cost.window_ns)} used"
    text += f" {used or 'nothing'}{_or_more(cost)} of {whole}"
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
    if alone:
        text += f" ({'; '.join(filter(None, (sure, counted)))})"
    if cost.not_recorded:
        text += f", and more: {lacking}"
    if trace and trace.network_cpu_max_ns is not None:
        used = share_between(trace.network_cpu_share, trace.network_cpu_max_share) or "nothing"
        text += f"; in the whole trace, {duration(trace.window_ns)}, "
        text += f"it was {used}{_or_more(trace)}"
    lines.append(f"{text}.")
    if cost.is_open:
        ran = duration(cost.kworkers_ns)
        lines.append(f"kworkers ran {ran}; what of it was networking this does not show.")
    return lines


def opening(during: str, window_ns: int) -> str:
    """How a sentence about a window begins; during: whose run it is, "" for nobody's."""
    if not during:
        return "Networking"
    return f"{during[0].upper()}{during[1:]}, {duration(window_ns)}, networking"


def unknown_words(cost: "NetworkCost") -> list[str]:
    """What a reader has to know first: that much of CPU time has no known owner."""
    if cost.network_cpu_max_ns is None or cost.unknown_cpu_share <= WORTH_SAYING_FIRST:
        return []
    unknown = f"The owner of {share(cost.unknown_cpu_share)} of CPU time is unknown"
    return [f"{unknown}: the figures of the rest are lower bounds."]


def _or_more(cost: "NetworkCost") -> str:
    return " or more" if missing_words(cost) or cost.is_open else ""


def missing_words(cost: "NetworkCost") -> str:
    """What the kernel counted and no figure has; "" for nothing."""
    counts = (
        (cost.softirqs_missing, "network softirq"),
        (
            cost.interrupts_missing,
            "interrupt that may be network",
            "interrupts that may be network",
        ),
    )
    return " and ".join(plural(*one) for one in counts if one[0])
