# The processor's counters over the steps of an experiment, as over sizes of I/O.

from typing import TYPE_CHECKING

import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...opening.experiment import Experiment
from ..io_steps import require_steps, steps_of
from .cpu_counters import by_cpu, counted_events, cpu_name, require_counters

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@question(
    check=lambda experiment: require_counters(require_steps(experiment)),
    rows=40,
    columns=(
        *("step", "io_bytes", "cpu", "ipc", "cycles_per_packet", "cache_misses_per_1000"),
        *("backend_stalls_per_1000", "softnet_packets_per_s", "context_switches_per_s"),
    ),
)
def counters_by_step(experiment: Experiment) -> Answer:
    """What each CPU's counters show in each step of an experiment, as over sizes of I/O.

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


def _curve(name: str, column: str, title: str, label: str) -> None:
    @counters_by_step.plot(
        name,
        title=title,
        panels=lambda answer: [{}] if answer.frame[column].notna().any() else [],
    )
    def _plot(ax: "Axes", answer: Answer) -> None:
        from ...plots.palette import KIND
        from ...plots.steps import over_steps

        colors = [KIND[kind] for kind in ("softirq", "poll", "hardirq", "vector", "softirq_other")]
        # The CPUs with most packets.
        by_cpu = answer.frame.groupby("cpu", dropna=False)
        packets = by_cpu["softnet_packets_per_s"].sum().nlargest(len(colors))
        curves = [
            (cpu_name(cpu), color, answer.frame[answer.frame["cpu"] == cpu])
            for cpu, color in zip(sorted(packets.index), colors, strict=False)
        ]
        over_steps(ax, curves, column, label)


_curve("", "ipc", "Instructions per cycle of each CPU over the steps", "instructions per cycle")
_curve(
    "packets",
    "cycles_per_packet",
    "Cycles per packet of each CPU over the steps",
    "cycles per packet",
)
