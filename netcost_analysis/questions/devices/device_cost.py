# CPU time of devices and their traffic, over the same stretch of time.

from typing import Any

import pandas as pd

from ... import plots
from ..._native import CaptureError
from ...answers.question import Answer, question
from ...capture.bundle import Bundle
from ...capture.interfaces import empty, known_interfaces
from ...frames import most_first
from ...snapshots.counters import readings
from ...timeline.aggregates import Grouped
from ...timeline.by import MasterBy, check_by
from ...timeline.reading import bounds_of, once
from ...timeline.timeline import Timeline
from ...units import absent
from ..completeness.completeness import has_readings_clock
from .device_time import INPUTS as OF_TIMES
from .device_time import WHOLE, device_time
from .device_traffic import NoReadingsError, traffic_of
from .upper_bounds import not_all

_ALL_POLLS = Grouped("polls", by=("device",), sums=("self_ns",))
INPUTS = (*OF_TIMES, _ALL_POLLS)
_TIMES = ["hardirq_ns", "hardirq_max_ns", "poll_ns", "ns"]
_COUNTS = ["interrupts", "polls", "packets", "timed_packets"]
_ADDED = [*_TIMES, *_COUNTS, "cut_poll_ns"]
# A bond's are sums over its ports.
_TRAFFIC = ["rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "speed_bits_per_s"]
_MEANS = ["rx_packet_bytes", "tx_packet_bytes", "utilisation_share"]
_INTEGERS = [*_ADDED, *_TRAFFIC, "interval_error_ns"]
_COLUMNS = [
    *("namespace", "device", "start_ns", "end_ns", "interval_error_ns"),
    *_TIMES,
    *("cpu_share", "unknown_cpu_share", "interrupts", "interrupts_per_s", "polls"),
    *("packets", "timed_packets", "cut_poll_ns"),
    *("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_packet_bytes", "tx_packet_bytes"),
    *("speed_bits_per_s", "utilisation_share"),
    *("work_share", "ns_per_work", "ns_per_packet", "ns_per_byte"),
]
# The most devices in a picture.
_MOST = 8


@question(
    needs=(("interrupts", "polls"),),
    inputs=INPUTS,
    columns=(
        *("device", "cpu_share", "ns", "packets", "ns_per_work", "rx_packets", "tx_packets"),
        *("ns_per_packet", "interrupts_per_s"),
    ),
    rows=20,
)
def device_cost(timeline: Timeline, by: MasterBy = "device") -> Answer:
    """What a packet of each device costs: CPU time over what it carried in the same time.

    A row per interface that took time or carried anything, most ns first. by="master": one row for
    the ports of a bond, team or bridge, under the master's name. A packet that a bridge forwards is
    received by one port and sent by another. The master's own counters repeat its ports' traffic,
    and are left out; its own polls are not.

    Time and traffic cover the same stretch: from the first to the last reading of net/dev within
    the window. Without a bundle, without two such readings, or with another trace clock, the time
    covers the whole window and the traffic is NA. A device name that occurs in several recorded
    namespaces has no traffic, because a poll does not say which of them it was for.

    There is no cost per packet or byte:

    - for only some of the CPUs.
    - if 1 % of the packets or more came in polls of unknown length, or in no poll that was seen
      (net/dev counts those as well).
    - if handlers that were counted but not seen may be 1 % of ns.

    Source: device_time, device_traffic.
    """
    check_by(by, MasterBy)
    cost, ports = _cost(timeline), _masters_of(timeline.capture.bundle)
    if by == "master":
        cost = _priced(_by_master(cost, ports), timeline.cpus is None)
    return Answer(
        cost,
        against_counters=_against_counters(cost),
        ports=ports,
        traffic_unknown=_traffic(timeline)[1],
        by_master=by == "master",
    )


@once
def _cost(timeline: Timeline) -> pd.DataFrame:
    traffic, _ = _traffic(timeline)
    if traffic is None:
        return _joined(_times(timeline), None, timeline.cpus is None)
    # Namespaces are read one after another, and interfaces come and go, so that there are several
    # windows. Rows without traffic are of the longest.
    traffic = traffic.assign(shared=traffic["device"].duplicated(keep=False))
    length = (traffic["end_ns"] - traffic["start_ns"]).sort_values(ascending=False, kind="stable")
    frames, origin_ns = [], timeline.capture.start_ns
    for _, part in traffic.loc[length.index].groupby(["start_ns", "end_ns"], sort=False):
        start_ns, end_ns = (int(part[end].iloc[0]) - origin_ns for end in ("start_ns", "end_ns"))
        within = timeline.capture.timeline(start_ns / 1e9, end_ns / 1e9, timeline.cpus)
        frames.append(_joined(_times(within), part, timeline.cpus is None))
    frame = pd.concat(frames, ignore_index=True)
    unnamed = frame["namespace"].isna()
    again = frame["device"].duplicated() | frame["device"].isin(frame["device"][~unnamed])
    return most_first(frame[~(unnamed & again)], "ns")


def _times(timeline: Timeline) -> pd.DataFrame:
    # A row per device, and one of the backlog, over all CPUs. The question is asked, and not its
    # function, for then one pass over another window reads all its inputs.
    rows = device_time(timeline).frame.astype({"device": object})
    times = rows.groupby("device", as_index=False)[[*_TIMES, *_COUNTS]].sum(min_count=1)
    # Polls that do not lie whole in the window.
    polls_ns = _ALL_POLLS(timeline).frame.set_index("device")["ns"]
    whole_ns = WHOLE(timeline).frame.groupby("device")["ns"].sum()
    cut_ns = polls_ns - whole_ns.reindex(polls_ns.index, fill_value=0)
    cut_poll_ns = times["device"].map(cut_ns).fillna(0).astype("Int64")
    window, unknown = bounds_of(timeline), timeline.unknown_cpu_share
    return times.assign(
        cut_poll_ns=cut_poll_ns.mask(times["polls"].isna()),
        start_ns=window.start_ns,
        end_ns=window.end_ns,
        unknown_cpu_share=float("nan") if unknown is None else unknown,
    )


def _joined(times: pd.DataFrame, traffic: pd.DataFrame | None, all_cpus: bool) -> pd.DataFrame:
    # Times by device, traffic by (namespace, device), and what a packet costs. traffic: of
    # traffic_of(whole=True) for the same stretch, None where unknown; shared: whether another
    # namespace has a device of that name. all_cpus: whether times are of all CPUs, as traffic is.
    # Instants stay integers in the merge, for floats lose their last digits.
    times = frame = times.astype({"start_ns": "Int64", "end_ns": "Int64"})
    if traffic is not None:
        columns = ["namespace", "device", "interval_error_ns", *_TRAFFIC, *_MEANS]
        frame = times.merge(traffic.loc[~traffic["shared"], columns], on="device", how="outer")
        for name in ("start_ns", "end_ns"):
            frame[name] = frame[name].fillna(int(traffic[name].iloc[0]))
        if len(times):
            unknown = times["unknown_cpu_share"].iloc[0]
            frame["unknown_cpu_share"] = frame["unknown_cpu_share"].fillna(unknown)
    return _priced(frame, all_cpus)


def _priced(frame: pd.DataFrame, all_cpus: bool) -> pd.DataFrame:
    # The cost of a device without polls and interrupts is in the backlog's polls or in system
    # calls: it is unknown, and not 0.
    types: dict[str, Any] = {
        **dict.fromkeys(_INTEGERS, "Int64"),
        **dict.fromkeys(_MEANS, "Float64"),
        "start_ns": "int64",
        "end_ns": "int64",
        "unknown_cpu_share": "float64",
        "namespace": object,
        "device": object,
    }
    frame = frame.reindex(columns=_COLUMNS).astype(types)
    window_ns = (frame["end_ns"] - frame["start_ns"]).astype("Float64")
    window_ns = window_ns.mask(window_ns <= 0)
    known = frame[_INTEGERS].astype("Float64")
    packets = known["rx_packets"] + known["tx_packets"]
    ns = known["ns"].mask(known["ns"] <= 0)
    frame["cpu_share"] = (known["ns"] / window_ns).astype("float64")
    frame["interrupts_per_s"] = known["interrupts"] / window_ns * 1e9
    frame["work_share"] = _ratio(known["packets"], known["rx_packets"])
    # A poll that the window cuts has a part of its time in it, and none of its packets.
    frame["ns_per_work"] = _ratio(ns - known["cut_poll_ns"].fillna(0), known["timed_packets"])
    tolerance = (known["interval_error_ns"] / window_ns).fillna(0)
    unseen_ns = known["hardirq_max_ns"] - known["hardirq_ns"]
    is_part = (
        # ns lacks the time of some packets, of polls that were not seen (but for those outside the
        # readings), or of handlers that were not seen: a packet would look too cheap.
        not_all(known["timed_packets"], known["packets"])
        | not_all(known["packets"], known["rx_packets"], tolerance)
        | not_all(ns, ns + unseen_ns)
    )
    ns = ns.mask(is_part | (not all_cpus))
    frame["ns_per_packet"] = _ratio(ns, packets)
    frame["ns_per_byte"] = _ratio(ns, known["rx_bytes"] + known["tx_bytes"])
    busy = (packets > 0) | (known["ns"] > 0) | (known["polls"] > 0)
    return most_first(frame[busy], "ns")


def _ratio(value: "pd.Series[float]", of: "pd.Series[float]") -> "pd.Series[float]":
    return value / of.mask(of <= 0)


def _masters_of(bundle: Bundle | None) -> pd.DataFrame:
    # A row per port: namespace, device, master; empty where the bundle knows of none.
    try:
        known = empty() if bundle is None else known_interfaces(bundle)
    except CaptureError:
        known = empty()
    ports = known.loc[known["master"].notna(), ["namespace", "device", "master"]]
    return ports.astype(object).reset_index(drop=True)


def _by_master(rows: pd.DataFrame, ports: pd.DataFrame) -> pd.DataFrame:
    # Rows of ports as one of their master, others as they are. Times and counts are known where
    # they are of any row of the group, traffic where it is of all ports, over the same time. A
    # master's own traffic is that of its ports once more, and left out. ports: of _masters_of.
    keys = ["namespace", "device"]
    # A poll does not say which namespace its device is of.
    named = ports.drop_duplicates("device", keep=False).set_index("device")["master"].to_dict()
    exact = ports.set_index(keys)["master"].to_dict()
    masters = [
        named.get(device) if absent(namespace) else exact.get((namespace, device))
        for namespace, device in zip(rows["namespace"], rows["device"], strict=True)
    ]
    master = pd.Series(masters, index=rows.index, dtype=object)
    is_port, is_master = master.notna(), rows["device"].isin(ports["master"])
    grouped = rows.assign(device=master.fillna(rows["device"]))[is_port | is_master]
    if not len(grouped):
        return rows
    number = grouped.groupby(keys, dropna=False, sort=False).ngroup()
    groups = grouped.groupby(number)
    ports_of = grouped[is_port[grouped.index]].groupby(number)
    table = groups[_ADDED].sum(min_count=1).join(groups[keys].head(1).set_index(number.unique()))
    ends = {"start_ns": "min", "end_ns": "max"}
    table = table.join(groups.agg({**ends, "interval_error_ns": "max", "unknown_cpu_share": "max"}))
    same = (ports_of[list(ends)].nunique() == 1).all(axis=1)
    table = table.join(ports_of[_TRAFFIC].sum(skipna=False).where(same))
    for side in ("rx", "tx"):
        packets = table[f"{side}_packets"].astype("Float64")
        table[f"{side}_packet_bytes"] = table[f"{side}_bytes"] / packets.mask(packets <= 0)
    table["utilisation_share"] = pd.NA
    return pd.concat([rows[~(is_port | is_master)], table], ignore_index=True)


def _against_counters(cost: pd.DataFrame) -> pd.DataFrame:
    # Devices with packets in polls and in net/dev, and by how many the two differ.
    rows = cost[cost["work_share"].notna()]
    unpolled = rows["rx_packets"] - rows["packets"]
    window_ns = (rows["end_ns"] - rows["start_ns"]).clip(lower=1)
    beside_readings = rows["rx_packets"] / window_ns * rows["interval_error_ns"]
    table = rows[["device", "packets", "rx_packets"]].assign(
        unpolled_packets=unpolled.clip(lower=0),
        uncounted_packets=(-unpolled).clip(lower=0),
        is_explained=unpolled.abs() <= beside_readings,
        is_partly_priced=rows["ns_per_packet"].isna() & rows["ns_per_work"].notna(),
    )
    return table.reset_index(drop=True)


def _traffic(timeline: Timeline) -> tuple[pd.DataFrame | None, str | None]:
    # Traffic between the first and the last reading in the window, or why that is unknown.
    capture, bundle = timeline.capture, timeline.capture.bundle
    if bundle is None:
        why = "this is a bare recording: netcost-record saves the interfaces' counters beside it"
        return None, why
    if not has_readings_clock(capture):
        return None, (
            f"the trace's clock ({capture.header['clock']}) is not CLOCK_MONOTONIC, the clock of "
            "the interfaces' counters: netcost-record records with it"
        )
    try:
        return traffic_of(bundle, whole=True, within=bounds_of(timeline).span), None
    except NoReadingsError:
        endings = bundle.network_namespaces.values()
        if any(readings(bundle, f"net_dev{ending}") for ending in endings):
            return None, "the interfaces' counters were not read twice within the window"
        return None, "the interfaces' counters have no times: netcost-record saves them with times"
    except CaptureError as error:
        return None, str(error)


def _pictured(answer: Answer) -> int:
    return min(int(answer.frame["ns_per_work"].notna().sum()), _MOST)


device_cost.plot(
    title="CPU time per packet received, by device",
    height=lambda answer: 0.9 + 0.4 * _pictured(answer),
    panels=lambda answer: [{}] if _pictured(answer) else [],
)(lambda ax, answer: plots.devices.per_packet(ax, answer.frame, _MOST))
