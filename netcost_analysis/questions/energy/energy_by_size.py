# Joules per gigabyte and per packet over the steps of an experiment, as over sizes of I/O.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...opening.experiment import Experiment
from ..batches.common import records
from ..io_steps import Step, require_steps, steps_of
from .metered import (
    IDLE_BUSY,
    domains_of,
    idle_watts,
    metered,
    require_energy,
    source_of,
    within,
)
from .plots import joules_over_size
from .power import split

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer


def _require(experiment: Experiment) -> None:
    # Of the first recording alone: who opens all of a large one waits for seconds.
    require_energy(require_steps(experiment))


@question(
    check=_require,
    rows=40,
    columns=(
        *("step", "io_bytes", "domain", "watts", "joules_per_gb", "uj_per_packet"),
        *("dynamic_joules_per_gb", "dynamic_uj_per_packet"),
    ),
)
def energy_by_size(experiment: Experiment) -> pd.DataFrame:
    """What a gigabyte and a packet cost in energy, in each step of an experiment, by domain.

    - experiment: Recordings with ``--profile energy``, as the lab's io-sizes.

    A row per domain and step, in their order: domain, step, io_bytes, source, then metered_ns,
    joules, watts, idle_watts, idle_steps, dynamic_watts, dynamic_joules, received_bytes,
    received_packets, joules_per_gb, dynamic_joules_per_gb, uj_per_packet, dynamic_uj_per_packet;
    null where nothing says.

    Of the time in which the step's bytes and packets were counted, as the bundle's stamps have it;
    where they have none, of all that was metered. The idle floor is the mean power of all steps'
    intervals in which at most 5 % of the CPUs' time was busy.

    Source: as power(); bytes and packets of the table of steps.
    """
    steps = steps_of(experiment)
    frames = {one.name: metered(one.bundle).frame for one in steps}
    found = []
    for domain in domains_of(pd.concat(list(frames.values()))):
        parts = {name: source_of(frame, domain) for name, frame in frames.items()}
        floor, _ = idle_watts(list(parts.values()))
        idle = ", ".join(
            name for name, one in parts.items() if (one["busy_cpu_share"] <= IDLE_BUSY).any()
        )
        for step in steps:
            row = {"domain": domain, "step": step.name, "io_bytes": step.io_bytes}
            found.append(row | _figures_of(step, parts[step.name], floor, idle))
    return pd.DataFrame(found)


def _figures_of(step: Step, own: pd.DataFrame, floor: float, idle: str) -> dict[str, Any]:
    start_ns, end_ns = step.counted_ns or (float("-inf"), float("inf"))
    joules, metered_ns = within(own, start_ns, end_ns)
    figures = split(joules, metered_ns / 1e9, floor)
    known = {
        "source": str(own["source"].iloc[0]) if len(own) else None,
        **figures,
        "idle_steps": idle,
        "received_bytes": step.received_bytes,
        "received_packets": step.received_packets,
    }
    if not metered_ns:
        known["joules"] = known["dynamic_joules"] = float("nan")
    for kind, prefix in (("watts", ""), ("dynamic_watts", "dynamic_")):
        gb, packets = step.bytes_per_s / 1e9, step.packets_per_s
        known[f"{prefix}joules_per_gb"] = known[kind] / gb if gb > 0 else float("nan")
        known[f"{prefix}uj_per_packet"] = (
            1e6 * known[kind] / packets if packets > 0 else float("nan")
        )
    return known


@energy_by_size.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # ends: of each domain the step whose gigabyte is cheapest, and dearest.
    rows = []
    for domain, of in answer.frame.groupby("domain", sort=False):
        known = of[of["joules_per_gb"].notna()].sort_values("joules_per_gb", kind="stable")
        if len(known):
            least, most = known.iloc[0], known.iloc[-1]
            ends = {f"least_{name}": least[name] for name in _ENDS}
            ends |= {f"most_{name}": most[name] for name in _ENDS}
            rows.append({"domain": domain, **ends})
    columns = ["domain", *(f"{end}_{name}" for end in ("least", "most") for name in _ENDS)]
    return {"ends": pd.DataFrame(rows, columns=columns)}


_ENDS = ("step", "joules_per_gb", "uj_per_packet")


@energy_by_size.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    first = answer.frame.iloc[0]
    return {
        "steps": answer.frame["step"].nunique(),
        "ends": records(answer.parts["ends"]),
        "idle_watts": first["idle_watts"],
        "idle_steps": first["idle_steps"],
        "domain": first["domain"],
    }


@energy_by_size.plot(
    title="Energy of a gigabyte over the size of reads and writes",
    panels=lambda answer: [{}] if answer.frame["joules_per_gb"].notna().any() else [],
)
def _plot(ax: "Axes", answer: "Answer") -> None:
    joules_over_size(ax, answer.frame, "joules_per_gb")


@energy_by_size.plot(
    "packets",
    title="Energy of a packet over the size of reads and writes",
    panels=lambda answer: [{}] if answer.frame["uj_per_packet"].notna().any() else [],
)
def _plot_packets(ax: "Axes", answer: "Answer") -> None:
    joules_over_size(ax, answer.frame, "uj_per_packet")
