# Counters that grow where packets come faster than they are taken: queues full, budgets used up.

import re
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...capture.links import bundle_devices, listed_objects
from ...parsers.ethtool import parse_ethtool_statistics
from ...parsers.iproute import QDISC_COUNTERS, QDISC_LEVELS, qdiscs
from ...snapshots.counters import counters, deltas
from ...timeline.reading import once
from .device_traffic import summed

if TYPE_CHECKING:
    from ...answers.answer import Answer
    from ...capture.bundle import Bundle

COLUMNS = ["layer", "namespace", "device", "cpu", "counter", "count", "interval_ns", "per_s"]
_NET_DEV = ["rx_drop", "rx_fifo", "tx_drop", "tx_fifo", "tx_colls"]
_SOFTNET = ["dropped", "time_squeeze", "flow_limit_count"]
_SIDES = ("before", "after")
# Of which a growth needs to know when they were read.
_UNTIMED = ("net_dev", "net_softnet_stat")
# So many that grew are listed.
_MOST = 12
# Drivers name their statistics as they like; these words are of packets that found no room.
_DRIVER = re.compile(
    r"drop|discard|miss|fifo|over(run|flow|_err)|no_?(buf|dma|desc)|alloc_(fail|err)|buff?_?fail"
    r"|out_of_buf|full|busy|stopped|wqe_err|timeout|kick_?miss",
    re.IGNORECASE,
)


@once
def _read(bundle: "Bundle") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for namespace, ending in bundle.network_namespaces.items():
        for found in (_interface(bundle, ending), _driver(bundle, ending), _qdisc(bundle, ending)):
            rows += [{"namespace": namespace} | row for row in found]
    rows += _softnet(bundle)
    if not rows:
        kept = [name for name in _UNTIMED if all(bundle.text(f"{side}/{name}") for side in _SIDES)]
        lacks = (
            f"the bundle does not say when {' and '.join(kept)} of before and after were read"
            if kept
            else "the bundle has no counters of before and after"
        )
        raise CaptureError(
            f"{lacks}, so whether queues were full is unknown: netcost-record keeps them, with "
            "their times"
        )
    return rows


@question(
    check=lambda bundle: _read(bundle),
    columns=("device", "counter", "cpu", "count", "per_s", "layer", "namespace"),
    rows=0,
)
def device_saturation(bundle: "Bundle") -> pd.DataFrame:
    """Every counter that says packets found no room, from before the load to after it.

    A row per counter, most first: layer ("interface": net/dev; "driver": ethtool -S; "qdisc": tc;
    "softnet": softnet_stat), namespace, device (None for softnet), cpu (NA but for softnet),
    counter, count (growth; for backlog and qlen, which are levels, the higher of both readings),
    interval_ns, per_s (NA for levels).

    A count of 0 is a counter that was read and did not grow; a layer without rows was not recorded.

    Source: before/ and after/ of net_dev, ethtool -S, tc and softnet_stat.
    """
    return tidy(_read(bundle))


@device_saturation.figures
def _grown(answer: "Answer") -> dict[str, Any]:
    # layers: that were read; grown: the counters that grew most, by rows; more: others that did.
    rows = answer.frame
    grown = rows[(rows["count"] > 0).fillna(False)]
    return {
        "layers": list(rows["layer"].drop_duplicates()),
        "grown": grown[:_MOST].to_dict("records"),
        "more": len(grown[_MOST:]),
        "several_namespaces": grown["namespace"].nunique() > 1,
    }


def tidy(rows: list[dict[str, Any]]) -> pd.DataFrame:
    # Rows of counters as a frame, those that grew most first.
    frame = pd.DataFrame(rows, columns=COLUMNS)
    for name in ("cpu", "count", "interval_ns"):
        # From the rows: beside None a frame has floats, which lose the last digits.
        values = [row.get(name) for row in rows]
        frame[name] = pd.array([None if pd.isna(one) else int(one) for one in values], "Int64")
    for name in ("layer", "namespace", "device", "counter"):
        frame[name] = frame[name].astype(object).where(frame[name].notna(), None)
    seconds = frame["interval_ns"].astype("Float64") / 1e9
    rate = frame["count"].astype("Float64") / seconds.mask(seconds <= 0)
    frame["per_s"] = rate.mask(frame["counter"].isin(QDISC_LEVELS))
    return frame.sort_values("count", ascending=False, kind="stable", ignore_index=True)


def _interface(bundle: "Bundle", ending: str) -> list[dict[str, Any]]:
    grown = deltas(counters(bundle, f"net_dev{ending}"))
    if not len(grown):
        return []
    total = summed(grown.assign(namespace=""))
    return [
        {
            "layer": "interface",
            "device": row["device"],
            "counter": name,
            "count": row[name],
            "interval_ns": row["interval_ns"],
        }
        for row in total.to_dict("records")
        for name in _NET_DEV
    ]


def _softnet(bundle: "Bundle") -> list[dict[str, Any]]:
    grown = deltas(counters(bundle, "softnet_stat"))
    rows = []
    for cpu, part in grown.groupby("cpu"):
        span = int(part["end_ns"].max() - part["start_ns"].min())
        for name in _SOFTNET:
            if name in part:
                count = part[name].sum() if part[name].notna().all() else None
                row = {"layer": "softnet", "cpu": cpu, "counter": name, "count": count}
                rows.append(row | {"interval_ns": span})
    return rows


def _span(bundle: "Bundle", name: str) -> int | None:
    # Between the middles of the two readings of a file.
    reads = [snapshot.reads.get(name) for snapshot in (bundle.before, bundle.after)]
    if reads[0] is None or reads[1] is None:
        return None
    return sum(reads[1]) // 2 - sum(reads[0]) // 2


def _driver(bundle: "Bundle", ending: str) -> list[dict[str, Any]]:
    rows = []
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
        span = _span(bundle, name)
        for counter in last:
            if counter in first and _DRIVER.search(counter):
                count = last[counter] - first[counter]
                rows.append(
                    {
                        "layer": "driver",
                        "device": device,
                        "counter": counter,
                        "count": count if count >= 0 else None,
                        "interval_ns": span,
                    }
                )
    return rows


def _qdisc(bundle: "Bundle", ending: str) -> list[dict[str, Any]]:
    name = f"tc_qdisc{ending}.json"
    first, last = (qdiscs(listed_objects(bundle, f"{side}/{name}")) for side in _SIDES)
    span = _span(bundle, name)
    rows = []
    for (device, kind, handle), fields in last.items():
        # Made anew meanwhile: what it counted before is gone.
        then = first.get((device, kind, handle))
        base = {"layer": "qdisc", "device": device, "interval_ns": span}
        for counter in (*QDISC_COUNTERS, *QDISC_LEVELS):
            now, was = fields.get(counter), None if then is None else then.get(counter)
            if now is None or was is None:
                continue
            count = max(now, was) if counter in QDISC_LEVELS else now - was
            row = base | {"counter": counter if counter in QDISC_LEVELS else f"{kind} {counter}"}
            rows.append(row | {"count": count if count >= 0 else None})
    return rows
