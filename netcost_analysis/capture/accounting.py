"""What the kernel's own accounting charges a task with: what a monitor shows, not what it had.

Sources: kernel/sched/cputime.c and kernel/sched/core.c of Linux 6.12. ``/proc/PID/stat``, getrusage
and times(2) read ``task_cputime_adjusted``, whose sum is ``sum_exec_runtime`` (cputime_adjust:
"stime + utime == rtime") except under VIRT_CPU_ACCOUNTING_NATIVE, where user and system time are
measured at each boundary (vtime_flush in arch/powerpc/kernel/time.c, arch/s390/kernel/vtime.c).
"""

from typing import Literal, NamedTuple

Regime = Literal["tick", "irq_time", "virt_native", "virt_gen"]

_CHARGES: dict[Regime, str] = {
    "tick": "interrupts are charged to the task they ran on",
    "irq_time": "interrupts and softirqs are charged to no task, save softirqs in ksoftirqd",
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
        Whether a task is charged for those that run on top of it.
    ksoftirqd : bool
        Whether it is charged for the softirqs it runs.
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
        """Whom it charges with interrupts, in a sentence."""
        return _CHARGES[self.regime]


# With these on the command line, x86 does not measure interrupts (tsc_setup, mark_tsc_unstable).
_WITHOUT_IRQ_TIME = {"tsc=noirqtime", "tsc=unstable", "notsc"}
# What x86 falls back to where its TSC is found unstable, or is told to.
FALLBACK_CLOCKSOURCES = ("hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies")


# No interrupt takes less, and of so many ticks of USER_HZ (10 ms) some are counted as irq.
_INTERRUPT_NS, _TICK_NS, _ENOUGH_TICKS = 500, 10_000_000, 5


def measures_interrupts(irq_ticks: int, interrupts: int) -> bool | None:
    """Whether a kernel measures what interrupts take, by its counters; None where they are too few.

    irq_ticks: by how much irq of /proc/stat grew, over all CPUs; interrupts: the same of
    /proc/interrupts. A kernel that samples at its tick counts no irq: the tick cannot interrupt a
    handler (account_system_time), so irq stays 0, however many there were.
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
    """The accounting of a kernel with this configuration, None where it is not known.

    config: as parse_kernel_config returns it. command_line: the kernel's. clocksource: the host's
    as it was recorded. measures: as measures_interrupts() returns it, which goes before all of
    them. IRQ_TIME_ACCOUNTING goes before VIRT_CPU_ACCOUNTING_GEN, since both can be set and
    rq_clock_task leaves interrupts out of sum_exec_runtime under either (update_rq_clock_task); it
    excludes NATIVE by its Kconfig entry.
    Built in, it is off after a boot with tsc=noirqtime and where the TSC was found unstable;
    whether it was, a clocksource that x86 falls back to does not prove.
    """
    is_built_in = config.get("CONFIG_IRQ_TIME_ACCOUNTING") == "y"
    if measures is False or _WITHOUT_IRQ_TIME.intersection(command_line.split()):
        config = config | {"CONFIG_IRQ_TIME_ACCOUNTING": "n"}
    elif measures is None and is_built_in and clocksource in FALLBACK_CLOCKSOURCES:
        return None
    if config.get("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE") == "y":
        # vtime_flush hands what it measured in interrupts to account_system_index_time, which adds
        # it to the current task's system time as well as to the CPU's irq and softirq.
        return Accounting("virt_native", hardirq=True, softirq=True, ksoftirqd=True)
    if config.get("CONFIG_IRQ_TIME_ACCOUNTING") == "y":
        return Accounting("irq_time", hardirq=False, softirq=False, ksoftirqd=True)
    if config.get("CONFIG_VIRT_CPU_ACCOUNTING_GEN") == "y":
        return Accounting("virt_gen", hardirq=True, softirq=True, ksoftirqd=True)
    if config.get("CONFIG_TICK_CPU_ACCOUNTING") == "y" or measures is False:
        return Accounting("tick", hardirq=True, softirq=True, ksoftirqd=True)
    return None


def tick_ms(config: dict[str, str]) -> float | None:
    """How long a tick is, by CONFIG_HZ; None where the configuration does not say."""
    hertz = config.get("CONFIG_HZ", "")
    return 1000 / int(hertz) if hertz.isdigit() and 0 < int(hertz) < 10**6 else None
