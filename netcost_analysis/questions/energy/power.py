# What the machine used of energy while it was recorded: joules and watts, idle and above that; and
# what its meters counted in a span of time, or while its CPUs idled.

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...capture.bundle import Bundle
from ...snapshots.counters import counters
from ...snapshots.energy import SOURCES, Energy, energy
from ...stats.resampling import Floats
from ...timeline.reading import once

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The whole before its parts; other domains follow, as they come.
_DOMAINS = ("package", "cores", "uncore", "dram", "psys")
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
        of = "" if machine in (None, "", "none") else f", a virtual machine ({machine}),"
        why = f"this host{of} has no energy counters that netcost-record found"
    raise CaptureError(f"energy was not measured: {why}. {_HOW}")


@question(
    check=require_energy,
    main="power",
    columns=("zone", "joules", "watts", "idle_watts", "dynamic_watts", "source"),
)
def power(bundle: Bundle) -> Answer:
    """How much energy the machine used, by domain: joules, watts, and the part of idling.

    A row per source and zone; `over_time`: by interval; `by_domain`: all zones of a domain
    together, by its best source. All that was metered counts; it begins a little before the
    recording and ends after it. Without an idle interval the idle floor is unknown, and none is
    assumed. Source: /sys/class/powercap, perf stat's power events, turbostat (netcost-record
    --profile energy), each by itself; busy time by /proc/stat.
    """
    found = metered(bundle)
    intervals = found.frame
    keys = ["source", "domain", "zone"]
    by_zone = [
        dict(zip(keys, names, strict=True)) | _used(zone)
        for names, zone in intervals.groupby(keys, sort=False)
    ]
    by_domain = []
    for domain in domains_of(intervals):
        best = source_of(intervals, domain)
        named = {
            "domain": domain,
            "source": best["source"].iloc[0],
            "zones": best["zone"].nunique(),
        }
        by_domain.append(named | _used(best))
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
    notes = []
    if "perf" in late_ns:
        late_ms = f"{int(late_ns['perf']) / 1e6:,.0f}"
        notes.append(f"perf's intervals may be up to {late_ms} ms later than they are said to be")
    if "turbostat" in late_ns:
        notes.append(
            "turbostat says no times: its watts stand for intervals as long as was asked for"
        )
    return notes


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
    return list(dict.fromkeys([*(name for name in _DOMAINS if name in found), *found]))


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
    joules = seconds = 0.0
    number = 0
    for part in parts:
        is_idle = (part["busy_cpu_share"] <= IDLE_BUSY) & (part["interval_ns"] >= _SHORTEST_NS)
        idle = part[is_idle]
        zones = max(idle["zone"].nunique(), 1)
        used, time = totals(idle)
        joules += used
        seconds += time / zones
        number += len(idle) // zones
    return (joules / seconds if seconds else float("nan")), number


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
def _plot(ax: "Axes", answer: Answer) -> None:
    from .plots import watts_over_time

    watts_over_time(ax, answer["over_time"], answer["by_domain"], answer.start_ns)
