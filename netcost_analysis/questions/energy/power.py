# What the machine used of energy while it was recorded: joules and watts, idle and above that; what
# its meters counted in a span of time, or while its CPUs idled; and joules per gigabyte and packet
# over the steps of an experiment.

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...capture.bundle import Bundle
from ...opening.experiment import Experiment
from ...plots.palette import FAINT, KIND, PART
from ...snapshots.counters import counters
from ...snapshots.energy import SOURCES, Energy, energy
from ...stats.resampling import Floats
from ...timeline.reading import once
from ..io_steps import Step, require_steps, steps_of

# Domains with their colours: the whole before its parts. Others follow, as they come.
_COLORS = {
    "package": KIND["softirq"],
    "cores": KIND["poll"],
    "uncore": KIND["softirq_other"],
    "dram": PART["stolen_network"],
    "psys": KIND["hardirq"],
}
# An interval with less of the CPUs' time busy is idle, and one that is shorter than this says
# little: /proc/stat counts ticks.
IDLE_BUSY, _SHORTEST_NS = 0.05, 100_000_000
_NOT_HERE = "profile energy, not on this host:"
_HOW = (
    "netcost-record --profile light,energy records it on hardware that counts energy (RAPL); "
    "virtual machines have no such counters"
)


def require_energy(bundle: Bundle) -> None:
    # Raises CaptureError where no energy was counted, with the reason.
    if len(metered(bundle).frame):
        return
    why = "no energy counters were recorded"
    if any(note.startswith(_NOT_HERE) for note in bundle.manifest.notes):
        machine = bundle.manifest.host.virtualization
        of = "" if machine in (None, "", "none") else f", a virtual machine ({machine})"
        why = f"netcost-record found no energy counters on this host{of}"
    raise CaptureError(f"energy was not measured: {why}. {_HOW}")


@question(
    check=require_energy,
    main="power",
    columns=("zone", "joules", "watts", "idle_watts", "dynamic_watts", "source"),
)
def power(bundle: Bundle) -> Answer:
    """How much energy the machine used, by domain: joules, watts and the idle floor.

    A row per source and zone; `over_time`: by interval; `by_domain`: all zones of a domain
    together, from its best source. It covers all that was metered, which begins a little before the
    recording and ends after it. Without an idle interval the idle floor is unknown, and none is
    assumed. Source: /sys/class/powercap, perf stat's power events, turbostat (netcost-record
    --profile energy), each by itself; busy time from /proc/stat.
    """
    found = metered(bundle)
    intervals = found.frame
    keys = ["source", "domain", "zone"]
    by_zone = [
        dict(zip(keys, names, strict=True)) | _used(zone)
        for names, zone in intervals.groupby(keys, sort=False)
    ]
    best = {domain: source_of(intervals, domain) for domain in domains_of(intervals)}
    by_domain = [
        {"domain": domain, "source": rows["source"].iloc[0], "zones": rows["zone"].nunique()}
        | _used(rows)
        for domain, rows in best.items()
    ]
    return Answer(
        power=pd.DataFrame(by_zone),
        over_time=intervals,
        notes=(*found.notes, *_timing_notes(intervals)),
        by_domain=pd.DataFrame(by_domain),
    )


def _used(intervals: pd.DataFrame) -> dict[str, Any]:
    # Of one zone, or of all zones of a domain, which were metered at the same time.
    floor, number = idle_watts([intervals])
    joules, seconds = totals(intervals)
    return split(joules, seconds / intervals["zone"].nunique(), floor) | {"idle_intervals": number}


def _timing_notes(intervals: pd.DataFrame) -> list[str]:
    late_ns = intervals.groupby("source")["interval_error_ns"].max()
    notes = {
        "perf": f"perf's intervals may be up to {late_ns.get('perf', 0) / 1e6:,.0f} ms later than "
        "their recorded times",
        "turbostat": "turbostat gives no times: its watts are taken to cover the intervals that it "
        "was asked for",
    }
    return [note for source, note in notes.items() if source in late_ns]


@once
def metered(bundle: Bundle) -> Energy:
    # As snapshots.energy has it, the best source first, with busy_cpu_share.
    found = energy(bundle)
    frame = found.frame.sort_values(
        "source", key=lambda names: names.map(SOURCES.index), kind="stable", ignore_index=True
    )
    return Energy(frame.assign(busy_cpu_share=busy_shares(bundle, frame)), found.notes)


def busy_shares(bundle: Bundle, frame: pd.DataFrame) -> Floats:
    # The busy share of all CPUs' time from each start_ns to end_ns, by /proc/stat; NaN where it was
    # not read.
    shares = np.full(len(frame), np.nan)
    ticks = counters(bundle, "stat") if len(frame) else pd.DataFrame()
    kinds = [name for name in ticks.columns[4:] if not name.startswith("guest")]
    if not {"idle", "iowait"} <= set(kinds):
        return shares
    of_all = ticks.groupby("at_ns")[kinds].sum(min_count=1).astype("float64").dropna()
    if len(of_all) < 2:
        return shares
    at, total = of_all.index.to_numpy("float64"), of_all.sum(axis=1).to_numpy()
    idle = of_all[["idle", "iowait"]].sum(axis=1).to_numpy()
    start, end = frame["start_ns"].to_numpy("float64"), frame["end_ns"].to_numpy("float64")
    passed, rested = (np.interp(end, at, of) - np.interp(start, at, of) for of in (total, idle))
    # The first and the last reading may lie up to a tenth of an interval inside it.
    margin = 0.1 * (end - start)
    known = (start >= at[0] - margin) & (end <= at[-1] + margin) & (passed > 0) & (rested >= 0)
    shares[known] = np.clip(1 - rested[known] / passed[known], 0.0, 1.0)
    return shares


def source_of(frame: pd.DataFrame, domain: str) -> pd.DataFrame:
    # The intervals of a domain by the best source that has it, of all its zones.
    rows = frame[frame["domain"] == domain]
    return rows[rows["source"] == rows["source"].iloc[0]] if len(rows) else rows


def domains_of(frame: pd.DataFrame) -> list[str]:
    found = frame["domain"].unique()
    return list(dict.fromkeys([*(name for name in _COLORS if name in found), *found]))


def within(intervals: pd.DataFrame, start_ns: float, end_ns: float) -> tuple[float, float]:
    # The joules of a domain in a span, and how many ns of it were metered, in the mean of its
    # zones. Of an interval that reaches beyond the span the part inside counts.
    begin = intervals["start_ns"].clip(lower=start_ns)
    inside = (intervals["end_ns"].clip(upper=end_ns) - begin).clip(lower=0)
    joules = float((intervals["watts"] * inside / 1e9).sum())
    return joules, float(inside.sum()) / max(intervals["zone"].nunique(), 1)


def idle_watts(parts: Sequence[pd.DataFrame]) -> tuple[float, int]:
    # The mean power in intervals in which the CPUs idled, and how many there were; NaN without any.
    # parts: of one domain, its zones together, or of one zone.
    joules, seconds, number = 0.0, 0.0, 0
    for part in parts:
        is_idle = (part["busy_cpu_share"] <= IDLE_BUSY) & (part["interval_ns"] >= _SHORTEST_NS)
        used, time = totals(part[is_idle])
        zones = max(part.loc[is_idle, "zone"].nunique(), 1)
        joules, seconds = joules + used, seconds + time / zones
        number += int(is_idle.sum()) // zones
    return joules / (seconds or float("nan")), number


def totals(intervals: pd.DataFrame) -> tuple[float, float]:
    # Joules and seconds of all zones. Joules by watts: turbostat's intervals have no joules.
    joules = (intervals["watts"] * (intervals["interval_ns"] / 1e9)).sum()
    return float(joules), float(intervals["interval_ns"].sum()) / 1e9


def split(joules: float, seconds: float, floor: float) -> dict[str, Any]:
    # The energy of a time, and how much of it is above the idle floor.
    watts = joules / seconds if seconds else float("nan")
    return {
        "metered_ns": round(seconds * 1e9),
        "joules": joules,
        "watts": watts,
        "idle_watts": floor,
        "dynamic_watts": watts - floor,
        "dynamic_joules": joules - floor * seconds,
    }


@power.plot(title="Power over time by domain, with the idle floor dashed", height=3.2)
def _plot_watts(ax: Axes, answer: Answer) -> None:
    from ...plots.marks import legend_above

    over_time, by_domain = answer["over_time"], answer["by_domain"]
    named = zip(*(by_domain[name] for name in ("domain", "source", "idle_watts")), strict=True)
    for domain, source, floor in named:
        color = _COLORS.get(domain, FAINT)
        rows = over_time[(over_time["domain"] == domain) & (over_time["source"] == source)]
        each = rows.groupby(["start_ns", "end_ns"])["watts"].sum()
        # An interval a line, joined where the next begins at its end.
        x = (each.index.to_frame().to_numpy("int64").ravel() - answer.start_ns) / 1e9
        ax.plot(x, np.repeat(each.to_numpy(), 2), color=color, label=domain)
        if floor == floor:
            ax.axhline(floor, color=color, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("time since the capture's start, s")
    ax.set_ylabel("watts")
    ax.grid(axis="y")
    legend_above(ax, columns=5)


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
    floor is that of all steps together. Source: as power; bytes and packets from the table of
    steps.
    """
    steps = steps_of(experiment)
    frames = {step.name: metered(step.bundle).frame for step in steps}
    rows = []
    for domain in domains_of(pd.concat(list(frames.values()))):
        metered_in = {name: source_of(frame, domain) for name, frame in frames.items()}
        floor, _ = idle_watts(list(metered_in.values()))
        busy = {name: of["busy_cpu_share"] for name, of in metered_in.items()}
        idle = {name: (shares <= IDLE_BUSY).any() for name, shares in busy.items()}
        idle_steps = ", ".join(name for name, is_any in idle.items() if is_any)
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
    gb_per_s, packets_per_s = (
        per_s if per_s > 0 else float("nan")
        for per_s in (step.bytes_per_s / 1e9, step.packets_per_s)
    )
    for prefix in ("", "dynamic_"):
        cost[f"{prefix}joules_per_gb"] = cost[f"{prefix}watts"] / gb_per_s
        cost[f"{prefix}uj_per_packet"] = 1e6 * cost[f"{prefix}watts"] / packets_per_s
    return cost


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


def _curve(name: str, column: str, what: str, unit: str) -> None:
    @energy_by_size.plot(
        name,
        title=f"Energy of a {what} over the size of reads and writes",
        panels=lambda answer: [{}] if answer.frame[column].notna().any() else [],
    )
    def _plot(ax: Axes, answer: Answer) -> None:
        from ...plots.marks import over_steps

        above = f"dynamic_{column}"
        curves, thin = [], []
        for domain, steps in answer.frame.groupby("domain", sort=False):
            color = _COLORS.get(str(domain), FAINT)
            curves.append((str(domain), color, steps))
            if steps[above].notna().any():
                shown = steps.assign(**{column: steps[above]})
                thin.append((f"{domain}, above idle", color, shown))
        over_steps(ax, curves, column, unit, thin)


_curve("", "joules_per_gb", "gigabyte", "joules per gigabyte")
_curve("packets", "uj_per_packet", "packet", "microjoules per packet")
