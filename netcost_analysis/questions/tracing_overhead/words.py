"""What the report says of its own cost, computed; HTML as in story."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...display.tables import Table
from ...units import absent, duration, ranges, share
from ..words import filled
from .corrected_stolen import DOUBTFUL_SHARE, corrected_stolen
from .event_cost import chosen, event_cost
from .tracing_cost import InAll, in_all, tracing_cost

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline

_FIGURES = {
    "on_cpu_ns": "on CPU",
    "task_ns": "the task itself",
    "stolen_ns": "stolen",
    "stolen_network_ns": "stolen, network",
    "stolen_network_max_ns": "stolen, perhaps network",
}
_NETWORK = ("stolen_network_ns", "stolen_network_max_ns")


def looking_text(timeline: "Timeline", victim: str | None) -> str:
    """What tracing took, from where that is known, and the victim's figures without it."""
    costs = event_cost(timeline.capture)
    cost = chosen(costs)
    by_cpu = tracing_cost(timeline)
    total = in_all(by_cpu, timeline.duration_ns)
    text = filled(
        "<p>{source}.{refused} {events} events on {cpus} are then {cost} of CPU time{worst}.</p>",
        source=f"{cost_text(cost)}{_extrapolated(cost, by_cpu)}",
        refused=_refused(costs),
        events=f"{total.events:,}",
        cpus=f"{len(by_cpu)} CPU{'s' if len(by_cpu) != 1 else ''}",
        cost=_range(total),
        worst=_worst(by_cpu),
    )
    if victim is None:
        return text
    own = _shown(timeline, victim)
    return f"{text}{''.join(warned(own, victim))}{_table(own)}"


def beside_answer(timeline: "Timeline", victim: str | None) -> str:
    """How much of what packet processing took is tracing itself; empty below 5 %.

    It is of the same time as what looking_text says of it.
    """
    own = _shown(timeline, victim)
    own = own[own["figure"].isin(_NETWORK)]
    row = own.iloc[0] if len(own) else None
    if row is None or row["doubtful"] == "no":
        return ""
    sure = row["doubtful"] == "yes"
    return filled(
        "<p>Of the {ns} that packet processing {took}, tracing itself {is_} {share}: see "
        "“{figure}” at the end of this page.</p>",
        ns=duration(row["ns"]),
        took="surely took" if row["figure"] == _NETWORK[0] else "may have taken",
        figure=_FIGURES[row["figure"]],
        is_="is at least" if sure else "may be up to",
        share=share(row["cost_low_share"] if sure else row["cost_high_share"]),
    )


def _shown(timeline: "Timeline", victim: str | None) -> pd.DataFrame:
    # The figures of corrected_stolen of which is told; what may be network where none surely is.
    figures = corrected_stolen(timeline)
    own = figures[(figures["comm"] == victim) & figures["figure"].isin(_FIGURES)]
    surely = (own["figure"] == _NETWORK[0]).any()
    return own[own["figure"] != _NETWORK[1]] if surely else own


def _refused(costs: pd.DataFrame) -> str:
    # What the bundle's own loaded runs are not taken for.
    own = costs[(costs["source"] == "calibration, load") & ~costs["usable"]]
    return f" Its own calibration is not taken: {own['why'].iloc[0]}." if len(own) else ""


def _extrapolated(cost: "pd.Series[Any]", by_cpu: pd.DataFrame) -> str:
    # What a victim lost on one CPU says less of another.
    if absent(cost["cpu"]):
        return ""
    others = [cpu for cpu in by_cpu.index if cpu != cost["cpu"]]
    if not others:
        return ""
    return (
        f". It was measured on CPU {cost['cpu']}: for CPU {ranges(others)} it is an extrapolation"
    )


def cost_text(cost: "pd.Series[Any]") -> str:
    """What an event is taken to cost, in a clause. cost: a row of event_cost."""
    low, high = duration(cost["event_low_ns"]), duration(cost["event_high_ns"])
    source = str(cost["source"])
    if source == "published":
        return (
            f"Tracing costs time of its own. Nobody measured it here: {low} an event with hot "
            f"caches and {high} with cold ones is what the kernel's own benchmark gives"
        )
    each = f"{duration(cost['event_ns'])} an event ({low} to {high})"
    if source.startswith("calibration"):
        return f"Tracing costs time of its own: {each}, by the bundle's own runs: {cost['why']}"
    where = "as netcost-record assumes of its tool" if "elsewhere" in source else "measured here"
    return f"Tracing costs time of its own: {each}, {where}"


def warned(figures: pd.DataFrame, victim: str) -> list[str]:
    """Of which figures tracing is more than 5 %: a large paragraph where it surely is, and another.

    figures: rows of corrected_stolen, the victim's.
    """
    said = []
    for much, is_, name in (
        ("yes", "is at least", "cost_low_share"),
        ("perhaps", "may be up to", "cost_high_share"),
    ):
        listed = [
            filled(
                "{share} of {what}“{figure}”",
                share=share(row[name]),
                what="" if place else "what is shown as ",
                figure=_FIGURES.get(row["figure"], row["figure"]),
            )
            for place, (_, row) in enumerate(figures[figures["doubtful"] == much].iterrows())
        ]
        if not listed:
            continue
        listed[0] += filled(" for {victim}", victim=victim)
        large = " class='answer'" if much == "yes" else ""
        said.append(f"<p{large}>Tracing {is_} {', and '.join(listed)}: beware of it.</p>")
    return said


def _range(total: InAll) -> str:
    if absent(total.high_share):
        return "an unknown part"
    low, high = (share(end) or "0 %" for end in (total.low_share, total.high_share))
    if total.share:
        return f"{share(total.share)} ({low} to {high})"
    return f"{low} to {high}"


def _worst(by_cpu: pd.DataFrame) -> str:
    if len(by_cpu) < 2:
        return ""
    first = by_cpu.iloc[0]
    return f", most on CPU {by_cpu.index[0]} with {first['events_per_s']:,.0f} events/s"


def _table(own: pd.DataFrame) -> str:
    if not len(own):
        return ""
    rows = []
    row: Any
    for row in own.itertuples():
        ends = f"{duration(row.corrected_low_ns)} – {duration(row.corrected_high_ns)}"
        cost = f"{share(row.cost_low_share) or '0 %'} – {share(row.cost_high_share) or '0 %'}"
        middle = [] if absent(row.corrected_ns) else [duration(row.corrected_ns)]
        rows.append(
            [_FIGURES[row.figure], duration(row.ns), f"{row.events:,}", cost, *middle, ends]
        )
    header = [
        "",
        "as traced",
        "events in it",
        f"their share (beware above {share(DOUBTFUL_SHARE)})",
    ]
    one = absent(own["corrected_ns"].iloc[0])
    header += ["without tracing"] if one else ["without tracing", "between"]
    return Table(header, rows).html()
