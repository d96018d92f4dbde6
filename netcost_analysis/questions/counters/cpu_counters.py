# What perf stat counted on each CPU: instructions per cycle, misses, stalls, and per packet; and
# the same over the steps of an experiment, as over sizes of I/O.

from typing import Any

import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...capture.bundle import Bundle
from ...display.tables import listed
from ...opening.experiment import Experiment
from ...plots.palette import KIND
from ...snapshots.counters import counters
from ...snapshots.perf_stat import COUNTED, NOT_SUPPORTED, PerfStat, counted_in, plain_event
from ...timeline.reading import once
from ...units import absent
from ..io_steps import require_steps, steps_of

# The event of each column that is divided by thousands of instructions.
_PER_1000 = {
    "cache_misses_per_1000": "cache-misses",
    "llc_misses_per_1000": "LLC-load-misses",
    "branch_misses_per_1000": "branch-misses",
    "dtlb_misses_per_1000": "dTLB-load-misses",
    "frontend_stalls_per_1000": "stalled-cycles-frontend",
    "backend_stalls_per_1000": "stalled-cycles-backend",
}
_PER_PACKET = {
    "cycles_per_packet": "cycles",
    "instructions_per_packet": "instructions",
    "cache_misses_per_packet": "cache-misses",
}
# What the kernel counts by itself, on any machine.
_PER_SECOND = {
    "context_switches_per_s": "context-switches",
    "cpu_migrations_per_s": "cpu-migrations",
    "page_faults_per_s": "page-faults",
}
_OF_PROCESSOR = ["cycles", "instructions", *_PER_1000.values(), "cache-references", "branches"]
# A CPU with fewer packets has no figure per packet.
_FEWEST_PACKETS = 100
# A picture has so many CPUs at most.
_MOST_CPUS = 24
# groupby and unstack need a number for what perf added up over all CPUs.
_ALL_CPUS = -1


@once
def counted_events(bundle: Bundle) -> PerfStat:
    # As snapshots.perf_stat has them; events by their plain names.
    found = counted_in(bundle, "counters")
    return PerfStat(found.frame.assign(event=found.frame["event"].map(plain_event)), found.notes)


def require_counters(bundle: Bundle) -> None:
    # Raises CaptureError where perf stat counted nothing.
    if not (counted_events(bundle).frame["outcome"] == COUNTED).any():
        raise CaptureError(
            "the processor's counters were not measured: netcost-record --profile light,counters "
            "has perf stat read them; virtual machines have few or none"
        )


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
def cpu_counters(bundle: Bundle) -> Answer:
    """What each CPU's counters show: instructions per cycle, misses and stalls, also per packet.

    A row per CPU. It covers all intervals of perf stat, which begin a little before the recording
    and end after it, and all that ran on the CPU, tasks as well. A packet is one that the CPU's
    softnet_stat counted as processed. Source: counters.jsonl (netcost-record --profile counters),
    samples/softnet_stat.
    """
    rows, counted = by_cpu(bundle), counted_events(bundle)
    by_ipc = rows[rows["ipc"].notna()].sort_values("ipc", kind="stable")
    with_packets = rows[rows["cycles_per_packet"].notna()]
    events, outcome = counted.frame["event"], counted.frame["outcome"]
    # One that some CPU counts is supported.
    is_known = events.isin(events[outcome == COUNTED])
    unsupported = events[(outcome == NOT_SUPPORTED) & ~is_known].unique()
    machine = bundle.manifest.host.virtualization
    return Answer(
        cpu_counters=rows,
        unsupported_events=tuple(unsupported),
        notes=counted.notes,
        least_running_share=float(rows["running_share"].min()),
        lowest_ipc=_first(by_ipc),
        highest_ipc=_first(by_ipc[::-1]),
        busiest=_first(with_packets.nlargest(1, "softnet_packets_per_s")),
        virtualization=None if machine in ("", "none") else machine,
    )


def _first(rows: pd.DataFrame) -> dict[str, Any] | None:
    return next(iter(listed(rows[:1])), None)


@once
def by_cpu(bundle: Bundle) -> pd.DataFrame:
    # The rows of cpu_counters.
    frame = counted_events(bundle).frame
    frame = frame[frame["outcome"] == COUNTED]
    frame = frame.assign(cpu=frame["cpu"].fillna(_ALL_CPUS).astype("int64"))
    # On a hybrid processor several PMUs count an event in turn.
    keys = ["cpu", "event", "start_s", "end_s"]
    each = frame.groupby(keys).agg({"value": "sum", "running_share": "min"}).reset_index()
    each["seconds"] = each["end_s"] - each["start_s"]
    each["ran"] = each["running_share"] * each["seconds"]
    sums = each[each["seconds"] > 0].groupby(["cpu", "event"])[["value", "seconds", "ran"]].sum()
    rates, shares = ((sums[name] / sums["seconds"]).unstack("event") for name in ("value", "ran"))
    rates = rates.reindex(columns=[*_OF_PROCESSOR, *_PER_SECOND.values()])
    instructions = rates["instructions"]
    packets = _packets(bundle).reindex(rates.index)
    per_s = packets["per_s"].where(packets["packets"] >= _FEWEST_PACKETS)
    table = pd.DataFrame(
        {
            "cycles_per_s": rates["cycles"],
            "ipc": _ratio(instructions, rates["cycles"]),
            **{
                name: _ratio(1_000 * rates[event], instructions)
                for name, event in _PER_1000.items()
            },
            "softnet_packets_per_s": packets["per_s"],
            **{name: _ratio(rates[event], per_s) for name, event in _PER_PACKET.items()},
            **{name: rates[event] for name, event in _PER_SECOND.items()},
            "running_share": shares.reindex(columns=_OF_PROCESSOR).min(axis=1),
        }
    )
    table = table.rename_axis("cpu").reset_index().astype({"cpu": "Int64"})
    table["cpu"] = table["cpu"].mask(table["cpu"] == _ALL_CPUS)
    return table


def _ratio(value: "pd.Series[float]", of: "pd.Series[float]") -> "pd.Series[float]":
    return value / of.where(of > 0)


def _packets(bundle: Bundle) -> pd.DataFrame:
    # For each CPU the packets that softnet_stat counted, and packets a second.
    frame = counters(bundle, "softnet_stat")
    if "processed" not in frame:
        return pd.DataFrame(columns=["packets", "per_s"], dtype="float64")
    ends = frame.sort_values("at_ns").groupby("cpu")[["at_ns", "processed"]].agg(["first", "last"])
    packets = (ends["processed"]["last"] - ends["processed"]["first"]).astype("float64")
    seconds = (ends["at_ns"]["last"] - ends["at_ns"]["first"]) / 1e9
    known = packets.where((packets >= 0) & (seconds > 0))
    return pd.DataFrame({"packets": known, "per_s": known / seconds.where(seconds > 0)})


@cpu_counters.plot(
    title="Instructions per cycle of each CPU",
    height=lambda answer: 1.1 + 0.4 * min(len(answer.frame), _MOST_CPUS),
    panels=lambda answer: [{}] if answer.frame["ipc"].notna().any() else [],
)
def _plot(ax: Axes, answer: Answer) -> None:
    from ...plots.marks import label_rows

    known = answer.frame[answer.frame["ipc"].notna()].head(_MOST_CPUS)
    ax.barh(range(len(known)), known["ipc"], height=0.6, color=KIND["softirq"])
    label_rows(ax, [cpu_name(cpu) for cpu in known["cpu"]])
    ax.set_xlabel("instructions per cycle")
    ax.grid(axis="x")


def cpu_name(cpu: object) -> str:
    return "all CPUs" if absent(cpu) else f"CPU {cpu}"


@question(
    check=lambda experiment: require_counters(require_steps(experiment)),
    rows=40,
    columns=(
        *("step", "io_bytes", "cpu", "ipc", "cycles_per_packet", "cache_misses_per_1000"),
        *("backend_stalls_per_1000", "softnet_packets_per_s", "context_switches_per_s"),
    ),
)
def counters_by_step(experiment: Experiment) -> Answer:
    """What each CPU's counters show in each step of an experiment, such as sizes of I/O.

    A row per step and CPU, in their order, with the columns of cpu_counters. Source: cpu_counters
    of each step that has counters.
    """
    frames = []
    for step in steps_of(experiment):
        if len(counted_events(step.bundle).frame):
            rows = by_cpu(step.bundle)
            size = pd.array([step.io_bytes] * len(rows), dtype="Int64")
            named = pd.DataFrame({"step": step.name, "io_bytes": size}, index=rows.index)
            frames.append(named.join(rows))
    if not frames:
        raise CaptureError(f"{experiment.path}: perf stat counted nothing in its steps")
    frame = pd.concat(frames, ignore_index=True)
    by_ipc = frame[frame["ipc"].notna()].sort_values("ipc", kind="stable")
    ends = by_ipc.groupby("cpu", dropna=False).agg(
        highest_step=("step", "last"),
        highest_step_ipc=("ipc", "last"),
        lowest_step=("step", "first"),
        lowest_step_ipc=("ipc", "first"),
    )
    return Answer(frame, ipc_ends=ends.reset_index(), measured_steps=frame["step"].nunique())


def _curve(name: str, column: str, label: str) -> None:
    @counters_by_step.plot(
        name,
        title=f"{label.capitalize()} of each CPU over the steps",
        panels=lambda answer: [{}] if answer.frame[column].notna().any() else [],
    )
    def _plot(ax: Axes, answer: Answer) -> None:
        from ...plots.marks import over_steps

        colors = [KIND[kind] for kind in ("softirq", "poll", "hardirq", "vector", "softirq_other")]
        # The CPUs with most packets.
        by_cpu = answer.frame.groupby("cpu", dropna=False)
        packets = by_cpu["softnet_packets_per_s"].sum().nlargest(len(colors))
        curves = [
            (cpu_name(cpu), color, answer.frame[answer.frame["cpu"] == cpu])
            for cpu, color in zip(sorted(packets.index), colors, strict=False)
        ]
        over_steps(ax, curves, column, label)


_curve("", "ipc", "instructions per cycle")
_curve("packets", "cycles_per_packet", "cycles per packet")
