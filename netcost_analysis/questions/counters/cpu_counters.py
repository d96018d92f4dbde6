# What the processor did on each CPU: instructions per cycle, misses, stalls, and per packet.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.question import question
from ...capture.bundle import Bundle
from ..batches.common import records
from .counted import by_cpu, counted, not_supported, require_counters
from .plots import ipc_by_cpu

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer


class CpuCounters(NamedTuple):
    """Answer of `cpu_counters`.

    Attributes
    ----------
    cpu_counters : pandas.DataFrame
        A row per CPU: cpu, cycles_per_s, ipc, cache_misses_per_1000, llc_misses_per_1000,
        branch_misses_per_1000, dtlb_misses_per_1000, frontend_stalls_per_1000,
        backend_stalls_per_1000, softnet_packets_per_s, cycles_per_packet, instructions_per_packet,
        cache_misses_per_packet, context_switches_per_s, cpu_migrations_per_s, page_faults_per_s,
        running_share; null where it was not counted.
    unsupported_events : tuple of str
        Those of which perf says that this processor has none.
    notes : tuple of str
        What was left out.
    """

    cpu_counters: pd.DataFrame
    unsupported_events: tuple[str, ...]
    notes: tuple[str, ...]


@question(
    check=require_counters,
    main="cpu_counters",
    columns=(
        *("cpu", "ipc", "cycles_per_packet", "cache_misses_per_1000", "llc_misses_per_1000"),
        *("branch_misses_per_1000", "backend_stalls_per_1000", "softnet_packets_per_s"),
        *("context_switches_per_s", "running_share"),
    ),
    rows=16,
)
def cpu_counters(bundle: Bundle) -> CpuCounters:
    """What each CPU's counters say: instructions per cycle, misses and stalls, also per packet.

    - bundle: Recorded with ``--profile counters``.

    Rates and ratios by CPU.

    Of all intervals of perf stat, which begin a little before the recording and end behind it; all
    that ran on the CPU is in them, tasks as well. A packet is one that the CPU's
    /proc/net/softnet_stat counted as processed; of a CPU with fewer than 100 there is no figure for
    each. Where running_share is below 1 events shared a counter, and perf scaled their counts up.

    Source: counters.jsonl, samples/softnet_stat.
    """
    return CpuCounters(by_cpu(bundle), tuple(not_supported(bundle)), counted(bundle).notes)


@cpu_counters.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # least_running_share: of all CPUs; lowest_ipc, highest_ipc: the CPUs with these, or none.
    frame = answer.result.cpu_counters
    known = frame[frame["ipc"].notna()].sort_values("ipc", kind="stable")
    packets = frame[frame["cycles_per_packet"].notna()]
    return {
        "least_running_share": float(frame["running_share"].min()),
        "lowest_ipc": records(known.head(1))[0] if len(known) else None,
        "highest_ipc": records(known.tail(1))[0] if len(known) else None,
        "busiest": records(packets.nlargest(1, "softnet_packets_per_s"))[0]
        if len(packets)
        else None,
    }


@cpu_counters.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    parts = answer.parts
    bundle = answer.bundle
    machine = bundle.manifest.host.virtualization if bundle else None
    names = ("least_running_share", "lowest_ipc", "highest_ipc", "busiest")
    return {
        **{name: parts[name] for name in names},
        "unsupported": parts["unsupported_events"],
        "machine": None if machine in (None, "", "none") else machine,
        "cpus": len(answer.frame),
    }


@cpu_counters.plot(
    title="Instructions per cycle of each CPU",
    height=lambda answer: 1.1 + 0.4 * min(len(answer.frame), 24),
    panels=lambda answer: [{}] if answer.frame["ipc"].notna().any() else [],
)
def _plot(ax: "Axes", answer: "Answer") -> None:
    ipc_by_cpu(ax, answer.frame)
