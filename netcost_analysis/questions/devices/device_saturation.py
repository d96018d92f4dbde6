# Counters that grow where packets come faster than they are taken, queues full and budgets used up;
# and suspicions from these, and from how queues share the packets.

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ..._native import CaptureError
from ...answers.question import Answer, question
from ...capture.bundle import Bundle
from ...capture.interfaces import bundle_devices, listed_objects
from ...frames import most_first
from ...parsers.interfaces import QDISC_COUNTERS, QDISC_LEVELS, parse_ethtool_statistics, qdiscs
from ...snapshots.counters import counters, deltas
from ...timeline.reading import once
from .checks import ENOUGH_PACKETS, Flag, Row, flagged, number, severity_of
from .device_traffic import SATURATION, summed

_COLUMNS = ["layer", "namespace", "device", "cpu", "counter", "count", "interval_ns", "per_s"]
# Counters of softnet_stat: flag and severity.
_SOFTNET = {
    "dropped": ("backlog-full", "warning"),
    "time_squeeze": ("squeezed", "note"),
    "flow_limit_count": ("flow-limited", "warning"),
}
_SIDES = ("before", "after")
# These have no growth unless it is known when they were read.
_UNTIMED = ("net_dev", "net_softnet_stat")
# Drivers name their statistics as they like; these words are of packets that found no room.
_DRIVER = re.compile(
    r"drop|discard|miss|fifo|over(run|flow|_err)|no_?(buf|dma|desc)|alloc_(fail|err)|buff?_?fail"
    r"|out_of_buf|full|busy|stopped|wqe_err|timeout|kick_?miss",
    re.IGNORECASE,
)
_SATURATED_SHARE = 0.9
# The most counters named.
_MAX_NAMED = 4


@once
def _read(bundle: Bundle) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for namespace, ending in bundle.network_namespaces.items():
        for read in (_interface, _driver, _qdisc):
            rows += [{"namespace": namespace} | row for row in read(bundle, ending)]
    rows += _softnet(bundle)
    if not rows:
        kept = [name for name in _UNTIMED if all(bundle.text(f"{side}/{name}") for side in _SIDES)]
        lacks = (
            f"the bundle does not say when {' and '.join(kept)} in before/ and after/ were read"
            if kept
            else "the bundle has no counters from before and after"
        )
        raise CaptureError(
            f"{lacks}, so it is unknown whether queues were full: netcost-record saves counters "
            "and times"
        )
    return rows


@question(
    check=lambda bundle: _read(bundle),
    columns=("device", "counter", "cpu", "count", "per_s", "layer", "namespace"),
    rows=0,
)
def device_saturation(bundle: Bundle) -> Answer:
    """Every counter of packets that found a queue full, from before the load to after it.

    A row per counter, most first. A count of 0 is a counter that was read but did not grow; a layer
    without rows was not recorded. Source: before/ and after/ of net_dev, ethtool -S, tc and
    softnet_stat.
    """
    return Answer(tidy(_read(bundle)))


def tidy(rows: list[dict[str, Any]]) -> pd.DataFrame:
    # Rows of counters as a frame, those that grew most first. As objects: floats, which a column
    # with unknown counts would have, lose the last digits.
    frame = pd.DataFrame(rows, columns=_COLUMNS, dtype=object)
    frame = frame.astype(dict.fromkeys(("cpu", "count", "interval_ns"), "Int64"))
    # What went backwards was made anew, and what it had counted before is gone.
    frame["count"] = frame["count"].mask(frame["count"] < 0)
    seconds = frame["interval_ns"].astype("Float64") / 1e9
    rate = frame["count"].astype("Float64") / seconds.mask(seconds <= 0)
    frame["per_s"] = rate.mask(frame["counter"].isin(QDISC_LEVELS))
    return most_first(frame, "count")


def _row(layer: str, counter: str, count: Any, interval_ns: Any, **place: Any) -> dict[str, Any]:
    growth = {"counter": counter, "count": count, "interval_ns": interval_ns}
    return {"layer": layer, **growth, **place}


def _interface(bundle: Bundle, ending: str) -> Iterator[dict[str, Any]]:
    grown = deltas(counters(bundle, f"net_dev{ending}"))
    if not len(grown):
        return
    for row in summed(grown.assign(namespace="")).to_dict("records"):
        for name in SATURATION:
            yield _row("interface", name, row[name], row["interval_ns"], device=row["device"])


def _softnet(bundle: Bundle) -> Iterator[dict[str, Any]]:
    for cpu, part in deltas(counters(bundle, "softnet_stat")).groupby("cpu"):
        span_ns = int(part["end_ns"].max() - part["start_ns"].min())
        for name in _SOFTNET:
            if name in part:
                yield _row("softnet", name, part[name].sum(skipna=False), span_ns, cpu=cpu)


def _span_ns(bundle: Bundle, name: str) -> int | None:
    # Between the middles of the two readings of a file.
    first, last = (snapshot.reads.get(name) for snapshot in (bundle.before, bundle.after))
    return None if first is None or last is None else sum(last) // 2 - sum(first) // 2


def _driver(bundle: Bundle, ending: str) -> Iterator[dict[str, Any]]:
    for device in bundle_devices(bundle, "before", ending):
        name = f"ethtool{ending}/{device}/statistics"
        try:
            texts = [bundle.text(f"{side}/{name}") for side in _SIDES]
        except CaptureError:
            # "../eth0" is a name that only a forged file has.
            continue
        if texts[0] is None or texts[1] is None:
            continue
        first, last = (parse_ethtool_statistics(text or "") for text in texts)
        span_ns = _span_ns(bundle, name)
        for counter in last:
            if counter in first and _DRIVER.search(counter):
                count = last[counter] - first[counter]
                yield _row("driver", counter, count, span_ns, device=device)


def _qdisc(bundle: Bundle, ending: str) -> Iterator[dict[str, Any]]:
    name = f"tc_qdisc{ending}.json"
    first, last = (qdiscs(listed_objects(bundle, f"{side}/{name}")) for side in _SIDES)
    span_ns = _span_ns(bundle, name)
    for (device, kind, handle), fields in last.items():
        then = first.get((device, kind, handle), {})
        for counter in (*QDISC_COUNTERS, *QDISC_LEVELS):
            now, was = fields.get(counter), then.get(counter)
            if now is None or was is None:
                continue
            if counter in QDISC_LEVELS:
                yield _row("qdisc", counter, max(now, was), span_ns, device=device)
            else:
                yield _row("qdisc", f"{kind} {counter}", now - was, span_ns, device=device)


def saturated(row: Row, rows: list[Row]) -> Iterator[Flag]:
    # It carried as much as its link can.
    peak = row.get("peak_share")
    if peak is None or peak < _SATURATED_SHARE or row.get("speed_is_nominal"):
        return
    gbit_per_s = row["speed_bits_per_s"] / 1e9
    yield flagged(row, "saturated", "warning", peak_share=peak, speed_gbit_per_s=gbit_per_s)


def _grown(saturation: pd.DataFrame, row: Row, layer: str) -> list[tuple[str, int]]:
    if not len(saturation):
        return []
    place = {"layer": layer, "device": row["device"], "namespace": row["namespace"]}
    here = (saturation[list(place)] == pd.Series(place)).all(axis=1)
    grown = saturation[here & (saturation["count"] > 0)]
    return list(zip(map(str, grown["counter"]), map(int, grown["count"]), strict=True))


def dropped(row: Row, saturation: pd.DataFrame) -> Iterator[Flag]:
    # net/dev counted packets that were dropped.
    if not (grown := _grown(saturation, row, "interface")):
        return
    packets = number(row, "all_rx_packets") + number(row, "all_tx_packets")
    severity, share = severity_of(sum(grew for _, grew in grown), packets)
    figures = {"packets": packets, "dropped_share": share, "has_rx_drop": "rx_drop" in dict(grown)}
    yield flagged(row, "drops", severity, counters=grown, **figures)


def full(row: Row, saturation: pd.DataFrame) -> Iterator[Flag]:
    # The driver's or the qdisc's counters of full queues grew.
    for layer, tool in (("driver", "ethtool -S"), ("qdisc", "tc -s qdisc")):
        every = _grown(saturation, row, layer)
        grown = [(name, grew) for name, grew in every if name not in QDISC_LEVELS]
        if not grown:
            continue
        # Packets of a shaper's overlimits, and requeued ones, wait and are not lost.
        waits = all(name.endswith(("overlimits", "requeues")) for name, _ in grown)
        severity, named, more = "note" if waits else "clue", grown[:_MAX_NAMED], grown[_MAX_NAMED:]
        figures = {"layer": layer, "tool": tool, "more": len(more), "waits": waits}
        yield flagged(row, "queue-full", severity, counters=named, **figures)


def uneven(row: Row, queues: pd.DataFrame) -> Iterator[Flag]:
    # One of several receive queues has most of the packets.
    if not len(queues):
        return
    packets = queues.loc[queues["device"] == row["device"], "packets"]
    count = row.get("rx_queues") or len(packets)
    total = int(packets.sum())
    # More than it has: some are of another namespace's device of that name, or of a former one.
    if count < max(2, len(packets)) or total < 10 * ENOUGH_PACKETS:
        return
    most_share, even_share = float(packets.max() / total), 1 / count
    if most_share < 1.5 * even_share or most_share - even_share < 0.2:
        return
    shares = {"most_share": most_share, "even_share": even_share}
    yield flagged(row, "uneven-queues", "note", queues=count, packets=total, **shares)


def softnet(saturation: pd.DataFrame) -> Iterator[Flag]:
    # A CPU's backlog was full, or it stopped polling with packets left.
    if not len(saturation):
        return
    grown = (saturation["layer"] == "softnet") & (saturation["count"] > 0)
    for row in saturation[grown].to_dict("records"):
        if row["counter"] in _SOFTNET:
            flag, severity = _SOFTNET[row["counter"]]
            figures = {"cpu": int(row["cpu"]), "count": int(row["count"])}
            yield Flag(None, None, flag, severity, figures)
