# CPU time of devices against what they carried, both over the same stretch of time.

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...display.templates import as_text, render
from ...snapshots.counters import readings
from ...timeline.by import MasterBy, check_by
from ...timeline.owners import NO_DEVICE
from ...timeline.reading import once
from ...units import absent
from .device_time import INPUTS, device_time
from .device_traffic import NoReadingsError, carried, comparable
from .masters import by_master, masters_of
from .parts import ALL, cut_ns
from .upper_ends import not_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...capture.bundle import Bundle
    from ...timeline.timeline import Timeline

_LACKING = Path(__file__).with_name("why_no_traffic.md")
_TIMES = ["hardirq_ns", "hardirq_max_ns", "poll_ns", "ns"]
_COUNTS = ["interrupts", "polls", "packets", "timed_packets"]
_TRAFFIC = [
    *("rx_packets", "tx_packets", "rx_bytes", "tx_bytes"),
    *("rx_packet_bytes", "tx_packet_bytes"),
    *("speed_bits_per_s", "utilisation_share"),
]
# Of these a group's is the sum.
_CARRIED = [*_TRAFFIC[:4], "speed_bits_per_s"]
COLUMNS = [
    *("namespace", "device", "start_ns", "end_ns", "interval_error_ns"),
    *_TIMES,
    *("cpu_share", "unknown_cpu_share", "interrupts", "interrupts_per_s", "polls"),
    *("packets", "timed_packets", "cut_poll_ns"),
    *_TRAFFIC,
    *("work_share", "ns_per_work", "ns_per_packet", "ns_per_byte"),
]


# A picture has so many devices at most.
_MOST = 8


@question(
    needs=(("interrupts", "polls"),),
    inputs=(*INPUTS, ALL),
    columns=(
        "device",
        "cpu_share",
        "ns",
        "packets",
        "ns_per_work",
        "rx_packets",
        "tx_packets",
        "ns_per_packet",
        "interrupts_per_s",
    ),
    rows=20,
)
def device_cost(timeline: "Timeline", by: MasterBy = "device") -> pd.DataFrame:
    """What a packet of each device costs: its CPU time against what it carried meanwhile.

    - by: "master": ports of a bond, team or bridge as one row, called as that is.

    A row per (namespace, device) that took time or carried anything, most ns first: start_ns,
    end_ns, interval_error_ns (what the readings took), hardirq_ns, hardirq_max_ns, poll_ns, ns,
    cpu_share (of one CPU), unknown_cpu_share, interrupts, interrupts_per_s, polls, packets,
    timed_packets, cut_poll_ns, rx_packets, tx_packets, rx_bytes, tx_bytes, rx_packet_bytes,
    tx_packet_bytes, speed_bits_per_s, utilisation_share, work_share, ns_per_work, ns_per_packet,
    ns_per_byte; NA where unknown.

    By master a port's time and traffic are its master's; what the master counts itself is the same
    traffic once more, and left out, its own polls are not. Which device is a port of which is known
    of a bundle alone. Of a bridge, a packet that it forwards is received by one port and sent by
    another.

    Time and traffic are of the same stretch: from the first to the last reading of net/dev within
    the window. Where the bundle has no two such readings, there is no bundle, or the trace has
    another clock, the time is of the whole window and the traffic NA. A device that several
    recorded namespaces have by the same name has no traffic: a poll does not say which it was of.
    There is no cost per packet or byte of some CPUs only; nor where 1 % of the packets or more came
    in polls of unknown length, or in none that was seen (net/dev counts those as well); nor where
    handlers that were counted and not seen may be 1 % of ns. Source: device_time, device_traffic.
    """
    check_by(by, MasterBy)
    cost = _cost(timeline)
    if by == "device":
        return cost.copy()
    rows = by_master(
        cost, masters_of(timeline.capture.bundle), [*_TIMES, *_COUNTS, "cut_poll_ns"], _CARRIED
    )
    return _priced(rows, timeline.cpus is None)


# Of one timeline several questions of a page ask it.
@once
def _cost(timeline: "Timeline") -> pd.DataFrame:
    bundle = timeline.capture.bundle
    traffic = None
    if bundle is not None:
        with suppress(CaptureError):
            traffic = _traffic(timeline, bundle)
    if traffic is None:
        return joined(_times(timeline), None)
    # Namespaces are read one after another, and an interface may come or go: several windows.
    shared = traffic["device"].duplicated(keep=False)
    # What has no traffic is told of the longest.
    order = traffic.assign(length=traffic["end_ns"] - traffic["start_ns"], shared=shared)
    order = order.sort_values("length", ascending=False, kind="stable")
    frames = []
    for _, part in order.groupby(["start_ns", "end_ns"], sort=False):
        window = int(part["start_ns"].iloc[0]), int(part["end_ns"].iloc[0])
        frames.append(joined(_times(_between(timeline, *window)), part, timeline.cpus is None))
    frame = pd.concat(frames, ignore_index=True)
    alone = frame["namespace"].isna() & frame["device"].duplicated(keep="first")
    known = set(frame.loc[frame["namespace"].notna(), "device"])
    frame = frame[~alone & ~(frame["namespace"].isna() & frame["device"].isin(known))]
    return frame.sort_values("ns", ascending=False, kind="stable", ignore_index=True)


def _between(timeline: "Timeline", start_ns: int, end_ns: int) -> "Timeline":
    origin_ns = timeline.capture.start_ns
    return timeline.capture.timeline(
        (start_ns - origin_ns) / 1e9, (end_ns - origin_ns) / 1e9, timeline.cpus
    )


def _times(timeline: "Timeline") -> pd.DataFrame:
    summary, unknown = timeline.summary, timeline.unknown_cpu_share
    times = per_device(device_time(timeline))
    cut = cut_ns(timeline)
    return times.assign(
        cut_poll_ns=times["device"].map(cut).fillna(0).astype("Int64").mask(times["polls"].isna()),
        start_ns=int(summary["start_ns"]),
        end_ns=int(summary["end_ns"]),
        unknown_cpu_share=float("nan") if unknown is None else unknown,
    )


def per_device(rows: pd.DataFrame) -> pd.DataFrame:
    # device_time's rows of devices and the backlog, over all CPUs: a row per device.
    devices = rows[rows["device"].notna()]
    # A sum is known where any part was recorded; all rows of a device lack the same.
    return devices.groupby("device", as_index=False)[[*_TIMES, *_COUNTS]].sum(min_count=1)


def joined(
    times: pd.DataFrame, traffic: pd.DataFrame | None, all_cpus: bool = True
) -> pd.DataFrame:
    # Times by device with traffic by (namespace, device), and what a packet costs. times: as
    # per_device returns it, with start_ns, end_ns, unknown_cpu_share. traffic: as
    # carried(whole=True) returns it for the same stretch, None where it is unknown; shared, if it
    # is there, says of which rows a device of another stretch has the name. all_cpus: whether times
    # are of all CPUs, as traffic is.
    if traffic is None:
        frame = times.reindex(columns=COLUMNS)
        frame["namespace"] = None
    else:
        shared = traffic["device"].duplicated(keep=False)
        if "shared" in traffic:
            shared |= traffic["shared"]
        named = traffic[~shared]
        carried = named[["namespace", "device", "interval_error_ns", *_TRAFFIC]]
        frame = times.merge(carried, on="device", how="outer")
        for name in ("start_ns", "end_ns"):
            frame[name] = frame[name].fillna(int(traffic[name].iloc[0])).astype("int64")
        frame["unknown_cpu_share"] = frame["unknown_cpu_share"].fillna(
            times["unknown_cpu_share"].iloc[0] if len(times) else float("nan")
        )
        frame = frame.reindex(columns=COLUMNS)
    frame["namespace"] = frame["namespace"].astype(object).where(frame["namespace"].notna(), None)
    return _priced(frame, all_cpus)


def _priced(frame: pd.DataFrame, all_cpus: bool = True) -> pd.DataFrame:
    # A device that was not polled and has no interrupts is paid for in the backlog's polls, or in
    # somebody's system calls: what it costs is not known, and not 0.
    integers = [
        *_TIMES,
        *_COUNTS,
        "cut_poll_ns",
        "interval_error_ns",
        *_TRAFFIC[:4],
        "speed_bits_per_s",
    ]
    frame[integers] = frame[integers].astype("Int64")
    # Without rows a frame has whatever types it likes.
    frame = frame.astype({"namespace": object, "device": object})
    frame = frame.astype({"start_ns": "int64", "end_ns": "int64", "unknown_cpu_share": "float64"})
    window = (frame["end_ns"] - frame["start_ns"]).astype("Float64")
    window = window.mask(window <= 0)
    frame["cpu_share"] = (
        (frame["ns"].astype("Float64") / window)
        .astype("Float64")
        .to_numpy("float64", na_value=float("nan"))
    )
    frame["interrupts_per_s"] = frame["interrupts"].astype("Float64") / window * 1e9
    ns = frame["ns"].astype("Float64")
    timed = frame["timed_packets"].astype("Float64")
    received = frame["rx_packets"].astype("Float64")
    packets = received + frame["tx_packets"].astype("Float64")
    carried = frame["rx_bytes"].astype("Float64") + frame["tx_bytes"].astype("Float64")
    worked = frame["packets"].astype("Float64")
    frame["work_share"] = worked / received.mask(received <= 0)
    ns = ns.mask(ns <= 0)
    # Of a poll that the window cuts there is a part of the time, and no part of the packets.
    whole = ns - frame["cut_poll_ns"].astype("Float64").fillna(0)
    frame["ns_per_work"] = whole / timed.mask(timed <= 0)
    # Packets of which the time is not in ns would make the others cheap.
    part = not_all(timed, worked)
    # So would packets of which no poll was seen, but for those tolerance the readings.
    tolerance = (frame["interval_error_ns"].astype("Float64") / window).fillna(0)
    part |= not_all(worked, received, tolerance)
    # So would handlers that were counted and not seen.
    most = ns + (frame["hardirq_max_ns"] - frame["hardirq_ns"]).astype("Float64")
    part |= not_all(ns, most)
    ns = ns.mask(part | (not all_cpus))
    frame["ns_per_packet"] = ns / packets.mask(packets <= 0)
    frame["ns_per_byte"] = ns / carried.mask(carried <= 0)
    for name in ("rx_packet_bytes", "tx_packet_bytes", "utilisation_share"):
        frame[name] = frame[name].astype("Float64")
    busy = (packets > 0) | (frame["ns"] > 0) | (frame["polls"] > 0)
    frame = frame[busy.fillna(False).astype(bool)]
    return frame.sort_values("ns", ascending=False, kind="stable", ignore_index=True)[COLUMNS]


def _traffic(timeline: "Timeline", bundle: "Bundle") -> pd.DataFrame | None:
    # What was carried between the first and the last reading in the window; None where the clock
    # does not say which those are. Raises CaptureError where it is unknown for another reason.
    if not comparable(timeline.capture):
        return None
    summary = timeline.summary
    within = int(summary["start_ns"]), int(summary["end_ns"])
    return carried(bundle, whole=True, within=within)


def why_no_traffic(timeline: "Timeline") -> str | None:
    # Why device_cost has no traffic for this timeline, as a sentence; None where it has.
    bundle, capture = timeline.capture.bundle, timeline.capture
    found: dict[str, Any] = {"reason": None}
    if bundle is None:
        found["reason"] = "no bundle"
    elif not comparable(capture):
        found = {"reason": "clock", "clock": capture.header["clock"]}
    else:
        endings = bundle.network_namespaces.values()
        try:
            if any(readings(bundle, f"net_dev{ending}") for ending in endings):
                _traffic(timeline, bundle)
            else:
                found["reason"] = "no times"
        except NoReadingsError:
            found["reason"] = "few readings"
        except CaptureError as error:
            found = {"reason": "error", "error": error}
    return as_text(render(_LACKING, found)) if found["reason"] else None


@device_cost.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # against_counters: devices whose polls took packets that net/dev counted; ports: of which
    # master each is; traffic_unknown: why there is no traffic, None where there is.
    cost = answer.frame[answer.frame["work_share"].notna()]
    rows = [_counted(row) for _, row in cost.iterrows()]
    return {
        "against_counters": pd.DataFrame(rows, columns=_COUNTED),
        "ports": masters_of(answer.timeline.capture.bundle),
        "traffic_unknown": why_no_traffic(answer.timeline),
    }


@device_cost.figures
def _agreement(answer: "Answer") -> dict[str, Any]:
    # counted: devices whose polls took packets that net/dev counted; unpolled: those of which
    # neither poll nor time is known; unknown: why there is no traffic, None where there is.
    cost = answer.frame
    grouped = answer.options.get("by") == "master"
    ports = answer.tables["ports"].to_dict("records") if grouped else []
    polled = (cost["polls"] > 0).fillna(False)
    unpolled = cost.loc[cost["ns"].isna() & ~polled & (cost["device"] != "lo"), "device"]
    return {
        "counted": answer.tables["against_counters"].to_dict("records"),
        "backlog": bool((cost["device"] == NO_DEVICE).any()),
        "unpolled": list(map(str, unpolled)),
        "unknown": answer.parts["traffic_unknown"],
        "ports": ports,
    }


_COUNTED = [
    *("device", "packets", "rx_packets", "unpolled_packets", "uncounted_packets"),
    *("is_explained", "is_partly_priced"),
]


def _counted(row: "pd.Series[Any]") -> dict[str, Any]:
    # unpolled_packets: those that net/dev counted and polls did not; uncounted_packets: the other
    # way round. is_explained: whether the readings' own time explains as many. is_partly_priced:
    # only polled ones have a price.
    off = int(row["rx_packets"]) - int(row["packets"])
    window_ns = max(1, int(row["end_ns"]) - int(row["start_ns"]))
    tolerance = int(row["rx_packets"]) / window_ns * int(row["interval_error_ns"])
    return {
        "device": row["device"],
        "packets": int(row["packets"]),
        "rx_packets": int(row["rx_packets"]),
        "unpolled_packets": max(off, 0),
        "uncounted_packets": max(-off, 0),
        "is_explained": abs(off) <= tolerance,
        "is_partly_priced": absent(row["ns_per_packet"]) and not absent(row["ns_per_work"]),
    }


def _priced_rows(answer: "Answer") -> int:
    return min(int(answer.frame["ns_per_work"].notna().sum()), _MOST)


@device_cost.plot(
    title="CPU time per packet received, by device",
    height=lambda answer: 0.9 + 0.4 * _priced_rows(answer),
    panels=lambda answer: [{}] if _priced_rows(answer) else [],
)
def _per_packet(ax: "Axes", answer: "Answer") -> None:
    from .plots import per_packet

    per_packet(ax, answer.frame, _MOST)
