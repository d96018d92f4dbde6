# What softnet_stat and /proc/softirqs counted, beside what the trace shows over the same time.

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...display.templates import as_text, render
from ...snapshots.counters import counters
from ...timeline.timeline import Timeline

if TYPE_CHECKING:
    from ...capture.bundle import Bundle

# Of a CPU's NET_RX: so many may be missing without a word.
_FEW = 0.01
# Clocks whose times are those of the counters' readings.
_READINGS_CLOCK = ("monotonic", "mono")
_WHY = Path(__file__).with_name("softnet_why.md")


def with_missing(
    table: pd.DataFrame, proved: pd.DataFrame | None, name: str = "net_rx"
) -> pd.DataFrame:
    # A table of CPUs with what its NET_RX, of that column, may be at most, where the kernel counted
    # some that no event shows. proved: as proved_softirqs returns it.
    most = {}
    if proved is not None:
        own = proved[proved["counter"] == "NET_RX"]
        most = {int(row["cpu"]): int(row["missing_least"]) for row in own.to_dict("records")}
    more = table["cpu"].map(most).fillna(0).astype("Int64")
    table.insert(list(table.columns).index(name) + 1, f"{name}_max", table[name] + more)
    return table


def readings_of(timeline: Timeline) -> tuple[pd.DataFrame | None, str | None]:
    # What the kernel counted within the timeline's window, or, as a reason of softnet_why.md, why
    # that is not known.
    bundle = timeline.capture.bundle
    if bundle is None:
        return None, "no bundle"
    if timeline.capture.header.get("clock") not in _READINGS_CLOCK:
        return None, "clock"
    window = (int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"]))
    found = grown(bundle, window)
    return found, "no readings" if found is None else None


def grown(bundle: "Bundle", window: tuple[int, int]) -> pd.DataFrame | None:
    # What the kernel counted between the first and the last reading inside the window, by CPU;
    # for softnet_stat and softirqs each, from_ns and to_ns are when the first reading began and the
    # last one ended, and inner_from_ns, inner_to_ns when it ended and began. None without two.
    softnet = _ends(counters(bundle, "softnet_stat"), "cpu", window)
    if softnet is None:
        return None
    first, last, times = softnet
    names = {
        "time_squeeze": "softnet_squeezes",
        "processed": "packets_counted",
        "received_rps": "received_rps",
    }
    table = pd.DataFrame(
        {name: last[of] - first[of] if of in first else pd.NA for of, name in names.items()},
        index=first.index,
    ).astype("Int64")
    table["softirqs_counted"] = pd.array([pd.NA] * len(table), dtype="Int64")
    softirqs = _ends(counters(bundle, "softirqs"), "action", window)
    if softirqs is not None and "NET_RX" in softirqs[0].index:
        by_cpu = (softirqs[1] - softirqs[0]).loc["NET_RX"]
        by_cpu = by_cpu[[name for name in by_cpu.index if isinstance(name, int)]]
        table["softirqs_counted"] = by_cpu.astype("Int64").reindex(table.index)
    # A counter that went backwards belongs to a CPU that was made anew.
    table = table.mask(table < 0).assign(**times)
    around = softirqs[2] if softirqs is not None else times
    return table.assign(softirqs_from_ns=around["from_ns"], softirqs_to_ns=around["to_ns"])


def _ends(
    counted: pd.DataFrame, key: str, window: tuple[int, int]
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, int]] | None:
    # The first and the last reading inside the window, by key, and their times.
    inside = counted[(counted["begin_ns"] >= window[0]) & (counted["end_ns"] <= window[1])]
    if inside["at_ns"].nunique() < 2:
        return None
    first = inside[inside["at_ns"] == inside["at_ns"].min()]
    last = inside[inside["at_ns"] == inside["at_ns"].max()]
    times = {
        "start_ns": int(first["at_ns"].iloc[0]),
        "end_ns": int(last["at_ns"].iloc[0]),
        "from_ns": int(first["begin_ns"].iloc[0]),
        "inner_from_ns": int(first["end_ns"].iloc[0]),
        "inner_to_ns": int(last["begin_ns"].iloc[0]),
        "to_ns": int(last["end_ns"].iloc[0]),
    }
    values = [name for name in counted.columns if name not in ("begin_ns", "end_ns", "at_ns", key)]
    begun, ended = (part.set_index(key)[values].astype("Int64") for part in (first, last))
    return begun, ended, times


class Times(NamedTuple):
    # When softnet_stat was read first and last: the first reading's begin and end, the last one's;
    # and when the first reading of /proc/softirqs began, and the last one ended.
    from_ns: int
    inner_from_ns: int
    inner_to_ns: int
    to_ns: int
    softirqs_from_ns: int
    softirqs_to_ns: int


def times_of(counted: pd.DataFrame | None) -> Times | None:
    # Of grown(): the same for every CPU.
    if counted is None or not len(counted):
        return None
    return Times(*(int(counted[name].iloc[0]) for name in Times._fields))


def count_of(sums: pd.DataFrame, name: str) -> "pd.Series[int]":
    # How many have a mark, by CPU; NA where that is not known of each. sums: of squeezed.py.
    return sums[name].astype("Int64").mask(sums[f"{name}_unknown"] > 0)


def compared(
    sums: pd.DataFrame, cpus: list[int], counted: pd.DataFrame | None, why: str | None
) -> pd.DataFrame:
    # A row per recorded CPU: both counts over the same time, and what explains the difference. A
    # reading takes its time: what ended between its begin and its end may be in it or not, so low
    # is of the time between the readings, high of that and both readings. sums: of squeezed.py.
    table = pd.DataFrame({"cpu": sorted(cpus)})
    if counted is None:
        for name in _COMPARED[1:-2]:
            table[name] = pd.array([pd.NA] * len(table), dtype="Int64")
        return table.assign(verdict="unknown", why=_sentence(why))
    table = table.merge(counted.drop(columns="received_rps").reset_index(), on="cpu", how="left")
    known = table["from_ns"].notna().to_numpy(dtype=bool)
    for name, of in _TRACED.items():
        if of not in sums:
            table[name] = pd.array([pd.NA] * len(table), dtype="Int64")
            continue
        counts = count_of(sums, of) if f"{of}_unknown" in sums else sums[of].astype("Int64")
        here = table["cpu"].isin(counts.index).to_numpy(dtype=bool)
        values = counts.reindex(table["cpu"]).array
        table[name] = pd.Series(values, index=table.index).mask(~here, 0).mask(~known)
    verdicts = [_verdict(row) for row in table.to_dict("records")]
    table[["verdict", "why"]] = np.array(verdicts, dtype=object).reshape(-1, 2)
    return table[list(_COMPARED)].astype({"start_ns": "Int64", "end_ns": "Int64"})


_COMPARED = (
    *("cpu", "start_ns", "end_ns", "squeezes_low", "squeezes_high", "softnet_squeezes"),
    *("softirqs_traced", "softirqs_counted", "packets_traced", "packets_counted"),
    *("verdict", "why"),
)


# From which sum each count comes.
_TRACED = {
    "squeezes_low": "inner_low",
    "squeezes_high": "outer_high",
    "softirqs_traced": "entered",
    "packets_traced": "packets",
}


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
