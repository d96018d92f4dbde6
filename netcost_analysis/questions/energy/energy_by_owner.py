# Whose a domain's energy is, if it goes by busy time: an apportionment, never a measurement. And
# joules per gigabyte and per packet over the steps of an experiment, as over sizes of I/O.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...capture.bundle import Bundle
from ...errors import AbsentError, no_such
from ...opening.experiment import Experiment
from ...timeline.owners import INTERRUPT_CONTEXTS
from ...timeline.timeline import Timeline
from ..batches.poll_sizes import COUNTED
from ..io_steps import Step, require_steps, steps_of
from .idle_wakeups import packets_of
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

    from ...timeline.owners import Owned


_OWNERS = ("task", "network", "perhaps network", "other interrupts", "unknown")
_NETWORK = {"yes": "network", "unknown": "perhaps network", "no": "other interrupts"}


@question(
    needs=("on_cpu", "softirqs"),
    check=lambda timeline: require_energy(timeline.capture.bundle),
    inputs=(COUNTED,),
    main="energy_by_owner",
    columns=("owner_kind", "owner", "owner_share", "owner_joules", "owner_dynamic_joules"),
    rows=12,
)
def energy_by_owner(timeline: Timeline, bundle: Bundle, domain: str | None = None) -> Answer:
    """Whose a domain's energy would be by busy time: tasks, network work, other interrupts.

    A row per owner of CPU time, most first. It is an apportionment, not a measurement. A domain has
    one counter, and its energy is charged to owners by their share of the CPUs' busy time, as if
    each busy nanosecond cost the same. The idle tasks own none of it. domain: by default the
    package, or the first domain that was metered. All CPUs of the host have to be in the window.
    Source: the trace's sums and polls, and the counters of power.
    """
    intervals = metered(bundle).frame
    known = domains_of(intervals)
    domain = known[0] if domain is None else domain
    if domain not in known:
        raise AbsentError(no_such("domain", domain, known))
    intervals = source_of(intervals, domain)
    cpus = timeline.summary["cpus"]
    if bundle.host_cpus is not None and len(cpus) < bundle.host_cpus:
        raise CaptureError(
            f"energy_by_owner: a {domain} is shared by all {bundle.host_cpus} CPUs of the host, "
            f"and the time of {len(cpus)} is known here"
        )
    start_ns, end_ns = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
    joules, metered_ns = within(intervals, start_ns, end_ns)
    if not metered_ns:
        raise CaptureError("energy_by_owner: no energy was counted while the trace was recorded")
    floor, _ = idle_watts([intervals])
    dynamic_joules = joules - floor * metered_ns / 1e9
    owners = _owners(timeline.owned_by(), joules, dynamic_joules)
    sums = ["busy_ns", "owner_share", "owner_joules", "owner_dynamic_joules"]
    kinds = owners.groupby("owner_kind")[sums].sum(min_count=1)
    device, packets = packets_of(timeline)
    uj_per_packet = {"owner_joules": None, "owner_dynamic_joules": None}
    if packets and "network" in kinds.index:
        uj_per_packet = {name: kinds[name]["network"] * 1e6 / packets for name in uj_per_packet}
    return Answer(
        energy_by_owner=owners,
        by_kind=kinds.reindex([kind for kind in _OWNERS if kind in kinds.index]).reset_index(),
        domain=domain,
        source=str(intervals["source"].iloc[0]),
        window_joules=joules,
        window_dynamic_joules=dynamic_joules,
        metered_share=metered_ns / (end_ns - start_ns),
        interval_error_ns=int(intervals["interval_error_ns"].max()),
        packets_device=device,
        packets=packets,
        network_uj_per_packet=uj_per_packet["owner_joules"],
        network_dynamic_uj_per_packet=uj_per_packet["owner_dynamic_joules"],
    )


def _owners(rows: "list[Owned]", joules: float, dynamic_joules: float) -> pd.DataFrame:
    keys = ["owner_kind", "owner"]
    busy = [(*_owner(row), row.ns) for row in rows if row.context != "idle"]
    frame = pd.DataFrame(busy, columns=[*keys, "busy_ns"])
    frame = frame.groupby(keys, sort=False)["busy_ns"].sum().reset_index()
    frame["owner_share"] = frame["busy_ns"] / (frame["busy_ns"].sum() or float("nan"))
    frame["owner_joules"] = frame["owner_share"] * joules
    frame["owner_dynamic_joules"] = frame["owner_share"] * dynamic_joules
    return frame.sort_values("busy_ns", ascending=False, kind="stable", ignore_index=True)


def _owner(row: "Owned") -> tuple[str, str]:
    if row.context == "unknown":
        return "unknown", "unknown"
    if row.context in INTERRUPT_CONTEXTS:
        return _NETWORK[row.is_network], row.thief
    if row.cost_class == "scheduled" and row.is_network == "yes":
        return "network", row.comm
    return "task", row.comm


@energy_by_owner.plot(title="A domain's energy by owner of busy time, an apportionment", height=3.4)
def _plot(ax: "Axes", answer: Answer) -> None:
    from .plots import joules_by_owner

    joules_by_owner(ax, answer.frame, answer["domain"])


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
