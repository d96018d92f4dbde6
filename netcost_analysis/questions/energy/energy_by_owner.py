# Whose a domain's energy is, if it goes by busy time: an apportionment, never a measurement.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...capture.bundle import Bundle
from ...errors import AbsentError, no_such
from ...timeline.owners import INTERRUPT_CONTEXTS
from ...timeline.timeline import Timeline
from ..batches.common import called, records
from ..batches.poll_sizes import COUNTED
from .metered import (
    domains_of,
    idle_watts,
    metered,
    packets_of,
    require_energy_beside,
    source_of,
    within,
)
from .plots import joules_by_owner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...timeline.owners import Owned

OWNERS = ("task", "network", "perhaps network", "other interrupts", "unknown")
_NETWORK = {"yes": "network", "unknown": "perhaps network", "no": "other interrupts"}


class EnergyByOwner(NamedTuple):
    """Answer of `energy_by_owner`.

    Attributes
    ----------
    energy_by_owner : pandas.DataFrame
        A row per owner of CPU time, most first: owner_kind, owner, busy_ns, owner_share,
        owner_joules, owner_dynamic_joules.
    by_kind : pandas.DataFrame
        The same by owner_kind.
    domain, source : str
        What was metered, and by what.
    window_joules, window_dynamic_joules : float
        Its energy in the window, and what of that is above the idle floor, NaN where none is known.
    metered_share : float
        Of the window's time, what intervals of the counter cover.
    interval_error_ns : int
        By as much these may be off.
    packets_device : str or None
        The device that most packets were polled of, None without polls.
    packets : int or None
        Those.
    network_uj_per_packet, network_dynamic_uj_per_packet : float or None
        What falls to the network, over them.
    """

    energy_by_owner: pd.DataFrame
    by_kind: pd.DataFrame
    domain: str
    source: str
    window_joules: float
    window_dynamic_joules: float
    metered_share: float
    interval_error_ns: int
    packets_device: str | None
    packets: int | None
    network_uj_per_packet: float | None
    network_dynamic_uj_per_packet: float | None


@question(
    needs=("on_cpu", "softirqs"),
    check=require_energy_beside,
    inputs=(COUNTED,),
    main="energy_by_owner",
    columns=("owner_kind", "owner", "owner_share", "owner_joules", "owner_dynamic_joules"),
    rows=12,
)
def energy_by_owner(timeline: Timeline, bundle: Bundle, domain: str | None = None) -> EnergyByOwner:
    """Whose a domain's energy would be by busy time: tasks, network work, other interrupts.

    - timeline: The window; all CPUs of the host have to be in it.
    - bundle: Recorded with ``--profile energy``.
    - domain: "package", "cores", "dram" or another that was metered; unless given, the first of
      these.

    The domain's energy in the window, laid at the owners of time.

    An apportionment and no measurement: a domain has one counter, and this lays its energy at
    owners by their share of the CPUs' busy time, as if each busy nanosecond cost the same. The idle
    tasks own none of it. owner_dynamic_joules lays only what is above the idle floor.

    Source: the trace's sums and polls, and the counters of power().
    """
    frame = metered(bundle).frame
    known = domains_of(frame)
    domain = known[0] if domain is None else domain
    if domain not in known:
        raise AbsentError(no_such("domain", domain, known))
    own = source_of(frame, domain)
    cpus = timeline.summary["cpus"]
    if bundle.host_cpus is not None and len(cpus) < bundle.host_cpus:
        raise CaptureError(
            f"energy_by_owner: a {domain} is shared by all {bundle.host_cpus} CPUs of the host, "
            f"and the time of {len(cpus)} is known here"
        )
    start_ns, end_ns = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
    joules, metered_ns = within(own, start_ns, end_ns)
    if not metered_ns:
        raise CaptureError("energy_by_owner: no energy was counted while the trace was recorded")
    floor, _ = idle_watts([own])
    dynamic = joules - floor * metered_ns / 1e9
    owners = _owners(timeline.owned_by(), joules, dynamic)
    sums = ["busy_ns", "owner_share", "owner_joules", "owner_dynamic_joules"]
    kinds = owners.groupby("owner_kind")[sums].sum(min_count=1)
    kinds = kinds.reindex([one for one in OWNERS if one in kinds.index]).reset_index()
    device, packets = packets_of(timeline)
    network = kinds[kinds["owner_kind"] == "network"]
    each = [
        float(network[name].sum(min_count=1)) * 1e6 / packets if packets and len(network) else None
        for name in sums[2:]
    ]
    return EnergyByOwner(
        owners,
        kinds,
        domain,
        str(own["source"].iloc[0]),
        joules,
        dynamic,
        metered_ns / (end_ns - start_ns),
        int(own["interval_error_ns"].max()),
        device,
        packets,
        *each,
    )


def _owners(rows: "list[Owned]", joules: float, dynamic: float) -> pd.DataFrame:
    busy: dict[tuple[str, str], int] = {}
    for row in rows:
        if row.context != "idle":
            key = _owner(row)
            busy[key] = busy.get(key, 0) + row.ns
    frame = pd.DataFrame([(*key, ns) for key, ns in busy.items()],
                         columns=["owner_kind", "owner", "busy_ns"])  # fmt: skip
    frame["owner_share"] = frame["busy_ns"] / (frame["busy_ns"].sum() or float("nan"))
    frame["owner_joules"] = frame["owner_share"] * joules
    frame["owner_dynamic_joules"] = frame["owner_share"] * dynamic
    return frame.sort_values("busy_ns", ascending=False, kind="stable", ignore_index=True)


def _owner(row: "Owned") -> tuple[str, str]:
    if row.context == "unknown":
        return "unknown", "unknown"
    if row.context in INTERRUPT_CONTEXTS:
        return _NETWORK[row.is_network], row.thief
    if row.cost_class == "scheduled" and row.is_network == "yes":
        return "network", row.comm
    return "task", row.comm


@energy_by_owner.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    parts = answer.parts
    names = (
        *("domain", "source", "window_joules", "window_dynamic_joules", "metered_share"),
        "interval_error_ns",
        *("packets", "network_uj_per_packet", "network_dynamic_uj_per_packet"),
    )
    return {
        **{name: parts[name] for name in names},
        "device": called(parts["packets_device"]),
        "kinds": records(parts["by_kind"]),
    }


@energy_by_owner.plot(title="A domain's energy by owner of busy time, an apportionment", height=3.4)
def _plot(ax: "Axes", answer: "Answer") -> None:
    joules_by_owner(ax, answer.frame, answer.parts["domain"])
