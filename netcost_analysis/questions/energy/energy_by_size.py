# Joules per gigabyte and per packet over the steps of an experiment, as over sizes of I/O.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...opening.experiment import Experiment
from ..io_steps import Step, require_steps, steps_of
from .power import (
    IDLE_BUSY,
    domains_of,
    idle_watts,
    metered,
    require_energy,
    source_of,
    split,
    within,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@question(
    # Only the first recording: to open all of a large experiment takes seconds.
    check=lambda experiment: require_energy(require_steps(experiment)),
    rows=40,
    columns=(
        *("step", "io_bytes", "domain", "watts", "joules_per_gb", "uj_per_packet"),
        *("dynamic_joules_per_gb", "dynamic_uj_per_packet"),
    ),
)
def energy_by_size(experiment: Experiment) -> Answer:
    """What a gigabyte and a packet cost in energy, in each step of an experiment, by domain.

    A row per domain and step, in their order. It covers the time in which the step's bytes and
    packets were counted, by the bundle's stamps; without stamps, all that was metered. The idle
    floor is that of all steps together. Source: as power; bytes and packets of the table of steps.
    """
    steps = steps_of(experiment)
    frames = {step.name: metered(step.bundle).frame for step in steps}
    rows = []
    for domain in domains_of(pd.concat(list(frames.values()))):
        metered_in = {name: source_of(frame, domain) for name, frame in frames.items()}
        floor, _ = idle_watts(list(metered_in.values()))
        idle_steps = ", ".join(
            name
            for name, intervals in metered_in.items()
            if (intervals["busy_cpu_share"] <= IDLE_BUSY).any()
        )
        for step in steps:
            row = {"domain": domain, "step": step.name, "io_bytes": step.io_bytes}
            rows.append(row | _cost(step, metered_in[step.name], floor, idle_steps))
    frame = pd.DataFrame(rows)
    return Answer(frame, ends=_ends(frame), measured_steps=frame["step"].nunique())


def _cost(step: Step, intervals: pd.DataFrame, floor: float, idle_steps: str) -> dict[str, Any]:
    start_ns, end_ns = step.counted_ns or (float("-inf"), float("inf"))
    joules, metered_ns = within(intervals, start_ns, end_ns)
    cost = {
        "source": str(intervals["source"].iloc[0]) if len(intervals) else None,
        **split(joules, metered_ns / 1e9, floor),
        "idle_steps": idle_steps,
        "received_bytes": step.received_bytes,
        "received_packets": step.received_packets,
    }
    if not metered_ns:
        cost["joules"] = cost["dynamic_joules"] = float("nan")
    for prefix in ("", "dynamic_"):
        watts = cost[f"{prefix}watts"]
        cost[f"{prefix}joules_per_gb"] = _ratio(watts, step.bytes_per_s / 1e9)
        cost[f"{prefix}uj_per_packet"] = _ratio(1e6 * watts, step.packets_per_s)
    return cost


def _ratio(watts: float, per_s: float) -> float:
    return watts / per_s if per_s > 0 else float("nan")


def _ends(frame: pd.DataFrame) -> pd.DataFrame:
    # For each domain the step whose gigabyte is cheapest, and that whose is dearest.
    by_cost = frame[frame["joules_per_gb"].notna()].sort_values("joules_per_gb", kind="stable")
    domains = by_cost.groupby("domain")
    least, most = (
        rows.set_index("domain")[["step", "joules_per_gb", "uj_per_packet"]].add_prefix(prefix)
        for rows, prefix in ((domains.head(1), "least_"), (domains.tail(1), "most_"))
    )
    named = [domain for domain in frame["domain"].unique() if domain in least.index]
    return least.join(most).loc[named].reset_index()


def _curve(name: str, column: str, title: str) -> None:
    @energy_by_size.plot(
        name,
        title=title,
        panels=lambda answer: [{}] if answer.frame[column].notna().any() else [],
    )
    def _plot(ax: "Axes", answer: Answer) -> None:
        from .plots import joules_over_size

        joules_over_size(ax, answer.frame, column)


_curve("", "joules_per_gb", "Energy of a gigabyte over the size of reads and writes")
_curve("packets", "uj_per_packet", "Energy of a packet over the size of reads and writes")
