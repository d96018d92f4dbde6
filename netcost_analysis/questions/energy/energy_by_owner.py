# Whose a domain's energy is, if it goes by busy time: an apportionment, never a measurement.

from typing import TYPE_CHECKING

import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...capture.bundle import Bundle
from ...errors import AbsentError, no_such
from ...timeline.owners import INTERRUPT_CONTEXTS
from ...timeline.timeline import Timeline
from ..batches.poll_sizes import COUNTED
from .idle_wakeups import packets_of
from .power import domains_of, idle_watts, metered, require_energy, source_of, within

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
