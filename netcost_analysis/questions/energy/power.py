# What the machine used of energy while it was recorded: joules and watts, idle and above that.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...capture.bundle import Bundle
from .meters import domains_of, idle_watts, metered, require_energy, source_of, split, totals

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@question(
    check=require_energy,
    main="power",
    columns=("zone", "joules", "watts", "idle_watts", "dynamic_watts", "source"),
)
def power(bundle: Bundle) -> Answer:
    """What the machine used of energy, by domain: joules, watts, and what idling takes of it.

    A row per source and zone; `over_time`: by interval; `by_domain`: all zones of a domain
    together, by its best source. All that was metered counts, which begins a little before the
    recording and ends after it. Without an idle interval the idle floor is not known, and nothing
    is assumed for it. Source: /sys/class/powercap, perf stat's power events, turbostat
    (netcost-record --profile energy), each by itself; busy time by /proc/stat.
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


@power.plot(title="Power over time by domain, with the idle floor dashed", height=3.2)
def _plot(ax: "Axes", answer: Answer) -> None:
    from .plots import watts_over_time

    watts_over_time(ax, answer["over_time"], answer["by_domain"], answer.start_ns)
