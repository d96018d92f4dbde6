# Of the trace: how often idle CPUs were woken, by what, and how often for packets; and whose a
# domain's energy is, if it goes by busy time: an apportionment, never a measurement.

from typing import Any, NamedTuple

import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...capture.bundle import Bundle
from ...capture.requires import unrecorded
from ...display.tables import plain
from ...errors import AbsentError, no_such
from ...frames import to_frame
from ...plots.palette import FAINT, HATCH, KIND, PART, TASK
from ...timeline.aggregates import Aggregate
from ...timeline.owners import INTERRUPT_CONTEXTS, Owned, thief_label
from ...timeline.timeline import Timeline
from ..batches.poll_sizes import COUNTED, counted
from .power import domains_of, idle_watts, metered, require_energy, source_of, within

_KEYS = ["cpu", "waker", "woken_by"]
_COUNTS = ["wakeups", "network_wakeups", "task_wakeups"]
# Between an interrupt on an idle CPU and its softirqs, or the task that it woke, it is idle again.
# Nine in ten such stretches last less than 10 µs in the samples, and no new interrupt ends them.
_GAP_NS = 20_000
_TIMER = "local_timer"
_IPIS = ("reschedule", "call_function", "call_function_single")
# A picture has so many CPUs at most. What woke a CPU has the colour of what ran.
_MOST_CPUS = 24
_WAKERS = {
    "network interrupt": KIND["softirq"],
    "IPI": KIND["vector"],
    "timer": PART["scheduled"],
    "other interrupt": KIND["hardirq"],
    "unrecorded": KIND["unknown"],
}


class Wakeups(NamedTuple):
    """Native's aggregate: from an interrupt to what it led to the idle task runs no longer."""

    gap_ns: int


_WOKEN = Aggregate(lambda timeline: Wakeups(_GAP_NS))


@question(
    needs=("on_cpu", "interrupted"),
    inputs=(COUNTED, _WOKEN),
    main="idle_wakeups",
    columns=("cpu", "woken_by", "wakeups", "wakeups_per_s", "network_wakeups", "task_wakeups"),
)
def idle_wakeups(timeline: Timeline, gap_ns: int = _GAP_NS) -> Answer:
    """How often idle CPUs were woken, by what, and how often for packets.

    A row per CPU and cause, most wake-ups first; `by_cpu`, `by_waker`: sums of these. A wake-up
    ends a stretch in which a CPU's idle task ran. An idle stretch between an interrupt and a
    softirq or task, no longer than gap_ns, belongs to the same wake-up. A stretch before time
    without a known owner ends in no wake-up. Source: the trace's segments and polls.
    """
    woken = _WOKEN(timeline, Wakeups(gap_ns))
    # Native's counts under the names of wakers. before_ns: the time idle before.
    rows = to_frame(woken["wakeups"])
    names = rows[["context", "id", "name", "device", "is_network"]].astype(object)
    names = names.where(names.notna(), None)
    causes = [_cause(*cause) for cause in names.itertuples(index=False, name=None)]
    rows[_KEYS[1:]] = pd.DataFrame(causes, columns=_KEYS[1:], dtype=object)
    counts = rows.groupby(_KEYS)[[*_COUNTS, "before_ns"]].sum().reset_index()
    seconds = timeline.duration_ns / 1e9 or float("nan")
    total = counts[_COUNTS].sum()
    all_wakeups = int(total["wakeups"])
    counts["idle_before_ns"] = counts["before_ns"] / counts["wakeups"]
    counts["wakeups_share"] = counts["wakeups"] / (all_wakeups or float("nan"))
    counts["wakeups_per_s"] = counts["wakeups"] / seconds
    columns = ["wakeups", "wakeups_share", "wakeups_per_s", *_COUNTS[1:], "idle_before_ns"]
    frame = counts.sort_values("wakeups", ascending=False, kind="stable", ignore_index=True)
    by_waker = frame.groupby("waker")[["wakeups", "wakeups_share"]].sum()
    by_waker = by_waker.sort_values("wakeups", ascending=False, kind="stable").reset_index()
    by_cpu = counts.groupby("cpu")[_COUNTS].sum()
    by_cpu = by_cpu.reindex(timeline.summary["cpus"], fill_value=0).rename_axis("cpu")
    idle_ns = to_frame(woken["idle"]).set_index("cpu")["idle_ns"]
    by_cpu.insert(0, "idle_share", idle_ns.reindex(by_cpu.index, fill_value=0) / (seconds * 1e9))
    by_cpu.insert(2, "wakeups_per_s", by_cpu["wakeups"] / seconds)
    device, packets = packets_of(timeline)
    network_wakeups = int(total["network_wakeups"])
    return Answer(
        idle_wakeups=frame[[*_KEYS, *columns]],
        by_cpu=by_cpu.reset_index(),
        packets_device=device,
        packets=packets,
        all_wakeups=all_wakeups,
        all_wakeups_per_s=all_wakeups / seconds if timeline.duration_ns else None,
        all_network_wakeups=network_wakeups,
        network_wakeups_per_packet=network_wakeups / packets if packets else None,
        taskless_wakeups=all_wakeups - int(total["task_wakeups"]),
        by_waker=by_waker,
        vectors_recorded=not unrecorded(timeline.capture, "irq_vectors:local_timer_entry"),
    )


def _cause(context: str, id_: Any, name: Any, device: Any, is_network: Any) -> tuple[str, str]:
    if context == "task":
        return "unrecorded", "a task, and no interrupt seen"
    label = thief_label(context, id_, name, device)
    if context in ("softirq", "poll"):
        return "unrecorded", f"{label}, and no interrupt seen"
    if context == "vector" and (name == _TIMER or name in _IPIS):
        return "timer" if name == _TIMER else "IPI", label
    is_line = context == "hardirq" and is_network == "yes"
    return "network interrupt" if is_line else "other interrupt", label


def packets_of(timeline: Timeline) -> tuple[str | None, int | None]:
    # A packet that passes several devices is one: those of the device with most, and which.
    if unrecorded(timeline.capture, "napi:napi_poll"):
        return None, None
    packets = counted(timeline)["packets"].groupby(level="device").sum()
    return (str(packets.idxmax()), int(packets.max())) if len(packets) else (None, 0)


@idle_wakeups.plot(
    title="What woke each idle CPU, in wake-ups per second",
    height=lambda answer: 1.1 + 0.5 * min(len(answer["by_cpu"]), _MOST_CPUS),
)
def _plot_wakeups(ax: Axes, answer: Answer) -> None:
    from ...plots.marks import label_rows, legend_above, stacked_bars

    cpus = sorted(answer["by_cpu"].nlargest(_MOST_CPUS, "wakeups")["cpu"])
    rates = answer.frame.pivot_table("wakeups_per_s", "cpu", "waker", aggfunc="sum").reindex(cpus)
    looks = {waker: {"color": color, "label": waker} for waker, color in _WAKERS.items()}
    looks["unrecorded"]["hatch"] = HATCH
    stacked_bars(ax, rates, looks, 0.6)
    label_rows(ax, [f"CPU {cpu}" for cpu in cpus])
    ax.set_xlabel("wake-ups per second")
    ax.set_xlim(left=0)
    ax.grid(axis="x")
    legend_above(ax, columns=5)


# Kinds of owners, with their colours.
_OWNERS = {
    "task": TASK,
    "network": KIND["softirq"],
    "perhaps network": KIND["poll"],
    "other interrupts": KIND["vector"],
    "unknown": FAINT,
}
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
    """A domain's energy, charged by busy time to tasks, network work and other interrupts.

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
            f"energy_by_owner: all {bundle.host_cpus} CPUs of the host share a {domain}, but only "
            f"the time of {len(cpus)} is known here"
        )
    start_ns, end_ns = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
    joules, metered_ns = within(intervals, start_ns, end_ns)
    if not metered_ns:
        raise CaptureError("energy_by_owner: no energy was counted while the trace was recorded")
    floor, _ = idle_watts([intervals])
    dynamic_joules = joules - floor * metered_ns / 1e9
    keys = ["owner_kind", "owner"]
    busy = [(*_owner(row), row.ns) for row in timeline.owned_by() if row.context != "idle"]
    owners = pd.DataFrame(busy, columns=[*keys, "busy_ns"])
    owners = owners.groupby(keys, sort=False)["busy_ns"].sum().reset_index()
    owners["owner_share"] = owners["busy_ns"] / (owners["busy_ns"].sum() or float("nan"))
    owners["owner_joules"] = owners["owner_share"] * joules
    owners["owner_dynamic_joules"] = owners["owner_share"] * dynamic_joules
    owners = owners.sort_values("busy_ns", ascending=False, kind="stable", ignore_index=True)
    sums = ["busy_ns", "owner_share", "owner_joules", "owner_dynamic_joules"]
    kinds = owners.groupby("owner_kind")[sums].sum(min_count=1)
    device, packets = packets_of(timeline)
    uj_per_packet = None, None
    if packets and "network" in kinds.index:
        uj_per_packet = tuple(kinds.loc["network", sums[2:]] * 1e6 / packets)
    return Answer(
        energy_by_owner=owners,
        by_kind=kinds.reindex([kind for kind in _OWNERS if kind in kinds.index]).reset_index(),
        domain=domain,
        source=str(intervals["source"].iloc[0]),
        window_joules=joules,
        window_dynamic_joules=dynamic_joules,
        metered_share=metered_ns / (end_ns - start_ns),
        interval_error_ns=plain(intervals["interval_error_ns"].max()),
        packets_device=device,
        packets=packets,
        network_uj_per_packet=uj_per_packet[0],
        network_dynamic_uj_per_packet=uj_per_packet[1],
    )


def _owner(row: Owned) -> tuple[str, str]:
    if row.context == "unknown":
        return "unknown", "unknown"
    if row.context in INTERRUPT_CONTEXTS:
        return _NETWORK[row.is_network], row.thief
    if row.cost_class == "scheduled" and row.is_network == "yes":
        return "network", row.comm
    return "task", row.comm


@energy_by_owner.plot(
    title="A domain's energy by owner of busy time (an apportionment)", height=3.4
)
def _plot(ax: Axes, answer: Answer) -> None:
    from matplotlib.patches import Patch

    from ...plots.marks import label_rows, legend_above, short

    first = answer.frame.head(12)
    is_dynamic = first["owner_dynamic_joules"].notna().all()
    joules = first["owner_dynamic_joules" if is_dynamic else "owner_joules"]
    ax.barh(range(len(first)), joules, height=0.6, color=list(first["owner_kind"].map(_OWNERS)))
    label_rows(ax, [short(name, 36) for name in first["owner"]])
    above = " above its idle floor" if is_dynamic else ""
    ax.set_xlabel(f"joules of the {answer['domain']}{above}, by busy time")
    ax.grid(axis="x")
    kinds = [kind for kind in _OWNERS if kind in set(first["owner_kind"])]
    legend_above(ax, [Patch(facecolor=_OWNERS[kind], label=kind) for kind in kinds], columns=5)
