# What the machine used of energy while it was recorded: joules and watts, idle and above that.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.question import question
from ...capture.bundle import Bundle
from ..batches.common import records
from .metered import DOMAINS, domains_of, idle_watts, metered, require_energy, source_of
from .plots import watts_over_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

_OVER_TIME = ("source", "domain", "zone", "start_ns", "end_ns", "interval_ns")


class Power(NamedTuple):
    """Answer of `power`.

    Attributes
    ----------
    power : pandas.DataFrame
        A row per source and zone: source, domain, zone, metered_ns, joules, watts, idle_watts,
        idle_intervals, dynamic_watts, dynamic_joules.
    over_time : pandas.DataFrame
        A row per source, zone and interval: source, domain, zone, start_ns, end_ns, interval_ns,
        interval_error_ns, joules, watts, busy_cpu_share.
    notes : tuple of str
        What was left out, and how the times are known.
    """

    power: pd.DataFrame
    over_time: pd.DataFrame
    notes: tuple[str, ...]


@question(
    check=require_energy,
    main="power",
    columns=("zone", "joules", "watts", "idle_watts", "dynamic_watts", "source"),
)
def power(bundle: Bundle) -> Power:
    """What the machine used of energy, by domain: joules, watts, and what idling takes of it.

    - bundle: Recorded with ``--profile energy``, or beside turbostat.

    Energy by zone, and over time.

    Of all that was metered, which begins a little before the recording and ends behind it. The idle
    floor is the mean power of those intervals in which at most 5 % of the CPUs' time was busy;
    without any it is not known, and nothing stands for it.

    Source: /sys/class/powercap, perf stat's power events, turbostat, each by itself; busy time by
    /proc/stat.
    """
    found = metered(bundle)
    zones = found.frame.groupby(["source", "domain", "zone"], sort=False)
    table = pd.DataFrame([_row(keys, of) for keys, of in zones])
    return Power(table, found.frame, (*found.notes, *_times(found.frame)))


def _row(keys: tuple[Any, ...], intervals: pd.DataFrame) -> dict[str, Any]:
    seconds = float(intervals["interval_ns"].sum()) / 1e9
    joules = float((intervals["watts"] * intervals["interval_ns"] / 1e9).sum())
    floor, number = idle_watts([intervals])
    return {
        **dict(zip(("source", "domain", "zone"), keys, strict=True)),
        **split(joules, seconds, floor),
        "idle_intervals": number,
    }


def split(joules: float, seconds: float, floor: float) -> dict[str, Any]:
    # The energy of a time, and what of it is above the idle floor.
    watts = joules / seconds if seconds else float("nan")
    return {
        "metered_ns": round(seconds * 1e9),
        "joules": joules,
        "watts": watts,
        "idle_watts": floor,
        "dynamic_watts": watts - floor,
        "dynamic_joules": joules - floor * seconds,
    }


def _times(frame: pd.DataFrame) -> list[str]:
    notes = []
    if (frame["source"] == "perf").any():
        late = int(frame.loc[frame["source"] == "perf", "interval_error_ns"].max())
        notes.append(
            f"perf's intervals may be up to {late / 1e6:,.0f} ms later than they are said to be"
        )
    if (frame["source"] == "turbostat").any():
        notes.append(
            "turbostat says no times: its watts stand for intervals as long as was asked for"
        )
    return notes


@power.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # by_domain: of the best source of each domain all its zones, packages first.
    frame = answer.result.over_time
    rows = []
    for domain in domains_of(frame):
        own = source_of(frame, domain)
        zones = own["zone"].nunique()
        joules = float((own["watts"] * own["interval_ns"] / 1e9).sum())
        floor, number = idle_watts([own])
        rows.append(
            {
                "domain": domain,
                "source": own["source"].iloc[0],
                "zones": zones,
                **split(joules, float(own["interval_ns"].sum()) / 1e9 / zones, floor),
                "idle_intervals": number,
            }
        )
    return {"by_domain": pd.DataFrame(rows)}


@power.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {"domains": records(answer.parts["by_domain"]), "known": DOMAINS}


@power.plot(title="Power over time by domain, with the idle floor dashed", height=3.2)
def _plot(ax: "Axes", answer: "Answer") -> None:
    watts_over_time(ax, answer.result.over_time, answer.parts["by_domain"], answer.start_ns)
