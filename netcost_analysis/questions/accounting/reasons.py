# Why each account of the victim's time can be wrong, under the configuration of the kernel that
# kept it. Sources: kernel/sched/cputime.c, core.c and kernel/time/tick-sched.c of Linux 6.12.

from typing import TYPE_CHECKING

from ...capture.accounting import tick_ms
from ...units import share

if TYPE_CHECKING:
    from ...capture.accounting import Accounting

# The part of time that a hypervisor may take before it has to be said with every figure.
STEAL_LIMIT = 0.01

_UNKNOWN = "the bundle does not say how its kernel accounts: it may or may not hold interrupts"
_SAMPLED = (
    "a tick{each} goes whole to whatever it hits, and is an interrupt itself, so that it may come "
    "in step with the load; one due while interrupts are off is taken where they come on again, "
    "often as a softirq begins, which then has all of it"
)
_USER = {
    "tick": f"that part of its run time whose ticks found it in user mode, so sampled: {_SAMPLED}",
    "irq_time": "interrupts are measured and left out, from the kernel's first line of their code "
    "on: not their entry and exit; user and system share the rest as ticks hit them",
    "virt_native": "measured at each boundary: interrupts are in its system time; of their entry "
    "and exit only what comes before the boundary is in this",
    "virt_gen": "measured at kernel entries only on CPUs of nohz_full=; on others sampled: "
    f"{_SAMPLED}",
}
_ON_TOP = (
    "the scheduler's clock: it goes on while interrupts run on top of the task, so all of them "
    "are in it"
)
_NATIVE = (
    "user and system time, measured at each boundary: interrupts on top of the task are measured "
    "apart, and added to its system time all the same"
)
_RUN_TIME = {
    "tick": _ON_TOP,
    "irq_time": "the scheduler's clock, which IRQ_TIME_ACCOUNTING stops in interrupts and softirqs:"
    " only their entry and exit are in it; a reader takes the rest for sleep",
    "virt_native": _ON_TOP,
    "virt_gen": _ON_TOP,
}
_ITS_CALLS = (
    "; its own calls of the kernel are in it, of which a program that only computes has none"
)
_SYSTEM = {
    "tick": "that part of its run time whose ticks found it in the kernel, or an interrupt on top "
    f"of it{_ITS_CALLS}: then all of it was taken",
    "irq_time": "interrupts are measured and left out: only what it called the kernel for, and "
    "their entry and exit, is in it",
    "virt_native": "measured at each boundary, and what interrupts on top of it took is added"
    f"{_ITS_CALLS}: then all of it was taken",
    "virt_gen": "measured at kernel entries only on CPUs of nohz_full=; on others that part of its "
    f"run time whose ticks found it in the kernel, or an interrupt on top of it{_ITS_CALLS}: then "
    "all of it was taken",
}
_CPU = {
    "tick": "the CPU's ticks{each}, others' user time among them; softirqs are what ticks hit, "
    "ksoftirqd's too",
    "irq_time": "the CPU's, others' user time among it; irq and softirq are measured, ksoftirqd's "
    "softirqs too, and taken out of ticks{each} of the rest",
    "virt_native": "the CPU's, measured, others' user time among it; irq and softirq apart",
    "virt_gen": "the CPU's ticks{each}, others' user time among them, except on CPUs of nohz_full=",
}


def why(
    estimate: str,
    regime: "Accounting | None",
    config: dict[str, str],
    steal: float,
    hidden_from: str = "",
) -> str:
    # One sentence or two for a row of the table.
    each = _each(config)
    name = regime.regime if regime else ""
    texts = {
        "times": _USER.get(name, _UNKNOWN),
        "system": _SYSTEM.get(name, _UNKNOWN),
        "task_stat": (_NATIVE if name == "virt_native" else _RUN_TIME.get(name, _UNKNOWN)),
        "schedstat": _RUN_TIME.get(name, _UNKNOWN),
        "cpu_stat": _CPU.get(name, _UNKNOWN) + "; of the time between two snapshots, in which the "
        "run lies; idle is measured where the kernel is tickless",
        "mpstat": _CPU.get(name, _UNKNOWN) + "; of whole intervals within the run",
        "traced": "entry, exit, exits to a hypervisor and cold caches lie outside every pair of "
        "tracepoints, so it is an upper bound; tracing costs time itself",
        "traced_and_hidden": f"one price for every interrupt, {hidden_from}: caches and batches "
        "differ; it holds what tracing itself costs",
        "work": "a baseline that was disturbed, another clock speed; the pace of cold caches is in "
        "it, as loss. What the others are compared with",
    }
    text = texts[estimate].replace("{each}", each)
    return text + _stolen_by_others(estimate, steal)


def _each(config: dict[str, str]) -> str:
    each = tick_ms(config)
    return f" of {each:.3g} ms" if each else ""


def _stolen_by_others(estimate: str, steal: float) -> str:
    if not steal > STEAL_LIMIT:
        return ""
    took = f". A hypervisor had the CPU for {share(steal)} of it (steal)"
    if estimate.startswith("traced"):
        return (
            took + ", which a trace lays at whatever it paused: longest times and high "
            "percentiles are not to be believed"
        )
    if estimate == "work":
        return took + ": that loss is in it"
    return took
