# What softnet_stat and /proc/softirqs counted, beside what the trace shows over the same time; and
# NET_RX softirqs that polled nothing, for they only steer packets to another CPU.

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...answers.question import Answer, question
from ...capture.bundle import Bundle
from ...capture.capture import Capture
from ...display.templates import as_text, render
from ...snapshots.counters import counters
from ...stats.histogram import narrowed, spread_of
from ...timeline.aggregates import Grouped
from ...timeline.reading import bounds_of
from ...timeline.timeline import Timeline
from ..completeness.completeness import has_readings_clock
from ..completeness.unrecorded import proved
from .softirqs import NET_RX

# A CPU's missing NET_RX are mentioned from this share of them on.
_FEW = 0.01
_WHY = Path(__file__).with_name("softnet_why.md")
_COUNTERS = {
    "time_squeeze": "softnet_squeezes",
    "processed": "packets_counted",
    "received_rps": "received_rps",
}
_NET_RX = Grouped("softirqs", by=("cpu", "is_dispatch"), lengths="self_ns", where=NET_RX)


@question(needs=("softirqs", "polls"), inputs=(_NET_RX,), rows=0)
def rps_dispatch(timeline: Timeline) -> Answer:
    """NET_RX that polled nothing and that no interrupt raised: the sending side of RPS.

    A row per CPU. received_rps is what softnet_stat counted between its readings in the window.
    Source: softirqs, and the bundle's softnet_stat.
    """
    net_rx = _NET_RX(timeline)
    sent = narrowed(net_rx.lengths, ["cpu"], {"is_dispatch": True})
    table = pd.DataFrame(index=pd.Index(sorted(timeline.summary["cpus"]), name="cpu"))
    table["net_rx"] = net_rx.frame.groupby("cpu")["softirqs"].sum()
    table["dispatches"] = sent.totals["count"]
    table = table.fillna(0).astype("int64")
    table["dispatch_share"] = table["dispatches"] / table["net_rx"].where(table["net_rx"] > 0)
    table["ns"] = sent.totals["total"].reindex(table.index, fill_value=0)
    table = table.join(spread_of(sent)[["median_ns", "longest_ns"]])
    counted, _ = readings_of(timeline)
    table["received_rps"] = pd.NA if counted is None else counted["received_rps"]
    return Answer(with_missing(table.reset_index(), timeline.capture))


def with_missing(table: pd.DataFrame, capture: Capture, name: str = "net_rx") -> pd.DataFrame:
    # A table of CPUs with NAME_max: its NET_RX in column NAME, and those that the kernel counted
    # and no event shows.
    missing = {row.cpu: row.missing_least for row in proved(capture) if row.counter == "NET_RX"}
    most = table[name] + table["cpu"].map(missing).fillna(0).astype("Int64")
    table.insert(list(table.columns).index(name) + 1, f"{name}_max", most)
    return table


def readings_of(timeline: Timeline) -> tuple[pd.DataFrame | None, str | None]:
    # What the kernel counted within the timeline's window, by CPU; or why that is unknown, as a
    # reason of softnet_why.md.
    if timeline.capture.bundle is None:
        return None, "no bundle"
    if not has_readings_clock(timeline.capture):
        return None, "clock"
    counted = _grown(timeline.capture.bundle, bounds_of(timeline).span)
    return counted, "no readings" if counted is None else None


def _grown(bundle: Bundle, window: tuple[int, int]) -> pd.DataFrame | None:
    # Growth between the first and the last reading inside the window, by CPU, with the times of
    # _between(); None without two readings.
    softnet = _between(counters(bundle, "softnet_stat"), "cpu", window)
    if softnet is None:
        return None
    grown, times = softnet
    grown = grown.reindex(columns=list(_COUNTERS)).rename(columns=_COUNTERS)
    grown["softirqs_counted"] = pd.NA
    softirqs, around = _between(counters(bundle, "softirqs"), "action", window) or (None, times)
    if softirqs is not None and "NET_RX" in softirqs.index:
        by_cpu = softirqs.loc["NET_RX"]
        grown["softirqs_counted"] = by_cpu[[isinstance(name, int) for name in by_cpu.index]]
    grown = grown.astype("Int64")
    # A counter goes backwards where a CPU was taken offline and back.
    grown = grown.mask(grown < 0).assign(**times)
    return grown.assign(softirqs_from_ns=around["from_ns"], softirqs_to_ns=around["to_ns"])


def _between(
    counted: pd.DataFrame, key: str, window: tuple[int, int]
) -> tuple[pd.DataFrame, dict[str, int]] | None:
    # Growth from the first to the last reading inside the window, by key, and when these were made:
    # from_ns to inner_from_ns and inner_to_ns to to_ns; start_ns and end_ns are the middles.
    inside = counted[(counted["begin_ns"] >= window[0]) & (counted["end_ns"] <= window[1])]
    if inside["at_ns"].nunique() < 2:
        return None
    first, last = (inside[inside["at_ns"] == at] for at in inside["at_ns"].agg(["min", "max"]))
    times = {
        "start_ns": first["at_ns"],
        "end_ns": last["at_ns"],
        "from_ns": first["begin_ns"],
        "inner_from_ns": first["end_ns"],
        "inner_to_ns": last["begin_ns"],
        "to_ns": last["end_ns"],
    }
    before, after = (
        part.set_index(key).drop(columns=["at_ns", "begin_ns", "end_ns"]).astype("Int64")
        for part in (first, last)
    )
    return after - before, {name: int(of.iloc[0]) for name, of in times.items()}


def times_of(counted: pd.DataFrame | None) -> dict[str, int] | None:
    # When the counters were read, by the names of _between(), which is the same for every CPU.
    if counted is None or not len(counted):
        return None
    return {str(name): int(ns) for name, ns in counted.filter(like="_ns").iloc[0].items()}


def count_of(sums: pd.DataFrame, name: str) -> "pd.Series[int]":
    # How many NET_RX have a mark, by CPU; NA where that is unknown of any. sums: of squeezed().
    counts = sums[name].astype("Int64")
    return counts.mask(sums[f"{name}_unknown"] > 0) if f"{name}_unknown" in sums else counts


# The sum of squeezed() for each count.
_TRACED = {
    "squeezes_low": "inner_low",
    "squeezes_high": "outer_high",
    "softirqs_traced": "entered",
    "packets_traced": "packets",
}
_COMPARED = [
    *("start_ns", "end_ns", "squeezes_low", "squeezes_high", "softnet_squeezes"),
    *("softirqs_traced", "softirqs_counted", "packets_traced", "packets_counted"),
]


def compared(
    sums: pd.DataFrame, cpus: list[int], counted: pd.DataFrame | None, why: str | None
) -> pd.DataFrame:
    # A row per recorded CPU: both counts over the same time, and what explains the difference. A
    # NET_RX that ended while the counters were read may be in that reading or not: low counts those
    # between the readings, high those during a reading too. sums: of squeezed().
    table = pd.DataFrame(index=pd.Index(sorted(cpus), name="cpu"))
    if counted is None:
        table = table.reindex(columns=_COMPARED).astype("Int64")
        return table.assign(verdict="unknown", why=_sentence(why)).reset_index()
    table = table.join(counted)
    for name, mark in _TRACED.items():
        counts = count_of(sums, mark) if mark in sums else pd.Series(dtype="Int64")
        counts = counts.reindex(table.index, fill_value=0)
        table[name] = counts.mask(table["from_ns"].isna())
    table = table[_COMPARED].astype("Int64")
    verdicts = [_verdict(row) for row in table.to_dict("records")]
    table[["verdict", "why"]] = np.array(verdicts, dtype=object).reshape(-1, 2)
    return table.reset_index()


def _verdict(row: dict[Any, Any]) -> tuple[str, str | None]:
    low, high, kernel = row["squeezes_low"], row["squeezes_high"], row["softnet_squeezes"]
    if pd.isna(kernel):
        return "unknown", _sentence("no count")
    if pd.isna(low) or pd.isna(high):
        return "unknown", _sentence("no limits")
    traced, counted = row["softirqs_traced"], row["softirqs_counted"]
    missing = 0 if pd.isna(counted) else counted - traced
    figures = {"missing": missing, "counted": counted}
    if low <= kernel <= high:
        few = missing <= 0 or missing <= _FEW * counted
        return "agree", None if few else _sentence("missing", **figures)
    if kernel < low:
        return "differ", _sentence("more traced")
    if kernel - high <= missing:
        return "explained", _sentence("explained", **figures)
    return "differ", _sentence("more counted")


def _sentence(reason: str | None, **figures: int) -> str:
    return as_text(render(_WHY, {"reason": reason, **figures}))
