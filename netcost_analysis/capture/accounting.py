"""The CPU time that the kernel's accounting charges to a task, which is what monitors show.

Sources: kernel/sched/cputime.c and kernel/sched/core.c of Linux 6.12. ``/proc/PID/stat``, getrusage
and times(2) read ``task_cputime_adjusted``, whose sum is ``sum_exec_runtime`` (cputime_adjust:
"stime + utime == rtime") except under VIRT_CPU_ACCOUNTING_NATIVE, where user and system time are
measured at each boundary (vtime_flush in arch/powerpc/kernel/time.c, arch/s390/kernel/vtime.c).
"""

from typing import Literal, NamedTuple

Regime = Literal["tick", "irq_time", "virt_native", "virt_gen"]

_CHARGES: dict[Regime, str] = {
    "tick": "interrupts are charged to the task they ran on",
    "irq_time": "interrupts and softirqs are charged to no task, except softirqs in ksoftirqd",
    "virt_native": "interrupts are measured, and charged to the task they ran on as system time",
    "virt_gen": "interrupts are charged to the task they ran on",
}


class Accounting(NamedTuple):
    """One regime of CPU accounting.

    Attributes
    ----------
    regime : str
        ``tick`` (TICK_CPU_ACCOUNTING), ``irq_time`` (IRQ_TIME_ACCOUNTING), ``virt_native`` or
        ``virt_gen`` (VIRT_CPU_ACCOUNTING_NATIVE, _GEN).
    hardirq, softirq : bool
        Whether a task is charged for those that interrupt it.
    ksoftirqd : bool
        Whether ksoftirqd is charged for the softirqs it runs.
    """

    regime: Regime
    hardirq: bool
    softirq: bool
    ksoftirqd: bool

    @property
    def text(self) -> str:
        """The regime in a sentence."""
        return f"{self.regime}: {self.charges}"

    @property
    def charges(self) -> str:
        """Who is charged for interrupts, in a sentence."""
        return _CHARGES[self.regime]


# With these on the command line, x86 does not measure interrupts (tsc_setup, mark_tsc_unstable).
_WITHOUT_IRQ_TIME = {"tsc=noirqtime", "tsc=unstable", "notsc"}
# What x86 falls back to when it finds its TSC unstable, or when told to.
FALLBACK_CLOCKSOURCES = ("hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies")


# The least that an interrupt takes, a tick of USER_HZ, and how many irq ticks are conclusive.
_INTERRUPT_NS, _TICK_NS, _ENOUGH_TICKS = 500, 10_000_000, 5


def measures_interrupts(irq_ticks: int, interrupts: int) -> bool | None:
    """Whether a kernel measures interrupt time, judging by its counters; None if too few to tell.

    irq_ticks, interrupts: growth of irq in /proc/stat and of /proc/interrupts, over all CPUs. A
    kernel that samples at its tick never counts irq: the tick cannot interrupt a handler
    (account_system_time), so irq stays 0 however many interrupts there were.
    """
    if irq_ticks * _TICK_NS > interrupts * _INTERRUPT_NS / 5 and irq_ticks >= _ENOUGH_TICKS:
        return True
    if not irq_ticks and interrupts * _INTERRUPT_NS >= _ENOUGH_TICKS * _TICK_NS:
        return False
    return None


def accounting(
    config: dict[str, str],
    command_line: str = "",
    clocksource: str | None = None,
    measures: bool | None = None,
) -> Accounting | None:
    """The accounting of a kernel with this configuration; None if it cannot be known.

    config: from parse_kernel_config. command_line: the kernel's. clocksource: the host's, as
    recorded. measures: from measures_interrupts(); it overrides the others. IRQ_TIME_ACCOUNTING
    takes precedence over VIRT_CPU_ACCOUNTING_GEN: both can be set, and then rq_clock_task leaves
    interrupts out of sum_exec_runtime (update_rq_clock_task). Its Kconfig entry excludes NATIVE.
    Even if built in, it is off after a boot with tsc=noirqtime or once the TSC is found unstable. A
    fallback clocksource does not prove that x86 found it unstable.
    """
    is_built_in = config.get("CONFIG_IRQ_TIME_ACCOUNTING") == "y"
    if measures is False or _WITHOUT_IRQ_TIME.intersection(command_line.split()):
        config = config | {"CONFIG_IRQ_TIME_ACCOUNTING": "n"}
    elif measures is None and is_built_in and clocksource in FALLBACK_CLOCKSOURCES:
        return None
    if config.get("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE") == "y":
        # vtime_flush passes the interrupt time to account_system_index_time, which adds it to the
        # current task's system time as well as to the CPU's irq and softirq.
        return Accounting("virt_native", hardirq=True, softirq=True, ksoftirqd=True)
    if config.get("CONFIG_IRQ_TIME_ACCOUNTING") == "y":
        return Accounting("irq_time", hardirq=False, softirq=False, ksoftirqd=True)
    if config.get("CONFIG_VIRT_CPU_ACCOUNTING_GEN") == "y":
        return Accounting("virt_gen", hardirq=True, softirq=True, ksoftirqd=True)
    if config.get("CONFIG_TICK_CPU_ACCOUNTING") == "y" or measures is False:
        return Accounting("tick", hardirq=True, softirq=True, ksoftirqd=True)
    return None


def tick_ms(config: dict[str, str]) -> float | None:
    """The length of a tick by CONFIG_HZ, in ms; None if the configuration does not say."""
    hertz = config.get("CONFIG_HZ", "")
    return 1000 / int(hertz) if hertz.isdigit() and 0 < int(hertz) < 10**6 else None
