# The processor's counters over the steps of an experiment, as over sizes of I/O.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...opening.experiment import Experiment
from ..batches.common import records
from ..io_steps import require_steps, steps_of
from .counted import by_cpu, counted, require_counters
from .plots import over_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer


@question(
    check=lambda experiment: require_counters(require_steps(experiment)),
    rows=40,
    columns=(
        *("step", "io_bytes", "cpu", "ipc", "cycles_per_packet", "cache_misses_per_1000"),
        *("backend_stalls_per_1000", "softnet_packets_per_s", "context_switches_per_s"),
    ),
)
def counters_by_step(experiment: Experiment) -> pd.DataFrame:
    """What each CPU's counters say in each step of an experiment, as over sizes of I/O.

    - experiment: Recordings with ``--profile counters``, as the lab's io-sizes.

    A row per step and CPU, in their order: step, io_bytes, then the columns of cpu_counters.

    Source: as cpu_counters(), of each step that has counters.
    """
    found = []
    for step in steps_of(experiment):
        if len(counted(step.bundle).frame):
            rows = by_cpu(step.bundle)
            size = pd.array([step.io_bytes] * len(rows), dtype="Int64")
            named = pd.DataFrame({"step": step.name, "io_bytes": size}, index=rows.index)
            found.append(named.join(rows))
    if not found:
        raise CaptureError(f"{experiment.path}: perf stat counted nothing in its steps")
    return pd.concat(found, ignore_index=True)


@counters_by_step.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # ipc_ends: of each CPU its steps with most and fewest instructions per cycle.
    rows = []
    for cpu, of in answer.frame[answer.frame["ipc"].notna()].groupby("cpu", dropna=False):
        ordered = of.sort_values("ipc", kind="stable")
        most, fewest = ordered.iloc[-1], ordered.iloc[0]
        rows.append((cpu, most["step"], most["ipc"], fewest["step"], fewest["ipc"]))
    columns = ["cpu", "highest_step", "highest_step_ipc", "lowest_step", "lowest_step_ipc"]
    return {"ipc_ends": pd.DataFrame(rows, columns=columns)}


@counters_by_step.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {"ends": records(answer.parts["ipc_ends"]), "steps": answer.frame["step"].nunique()}


@counters_by_step.plot(
    title="Instructions per cycle of each CPU over the steps",
    panels=lambda answer: [{}] if answer.frame["ipc"].notna().any() else [],
)
def _plot(ax: "Axes", answer: "Answer") -> None:
    over_size(ax, answer.frame, "ipc")


@counters_by_step.plot(
    "packets",
    title="Cycles per packet of each CPU over the steps",
    panels=lambda answer: [{}] if answer.frame["cycles_per_packet"].notna().any() else [],
)
def _plot_packets(ax: "Axes", answer: "Answer") -> None:
    over_size(ax, answer.frame, "cycles_per_packet")
