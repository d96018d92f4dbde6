# The network interfaces of the recorded host, and which look wrong: each suspicion with the figures
# that it rests on.

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import pandas as pd

from ..._native import CaptureError
from ...answers.question import Answer, question
from ...capture.bundle import Bundle
from ...capture.interfaces import empty, known_interfaces
from ...display.tables import listed
from ...timeline.aggregates import Grouped
from ...timeline.group import KNOWN
from ...timeline.owners import NO_DEVICE
from ...timeline.timeline import Timeline
from ..completeness.completeness import has_readings_clock
from .checks import Flag, for_others, no_replies, promiscuous, same_mac, unlisted, without_use
from .device_cost import INPUTS as OF_COST
from .device_cost import device_cost
from .device_saturation import device_saturation, dropped, full, saturated, softnet, uneven
from .device_traffic import traffic_of

_KEYS = ["namespace", "device"]
_COLUMNS = [*_KEYS, "flag", "severity", "why"]
_SEVERITIES = ["warning", "clue", "note"]
# Packets that each NAPI instance received.
QUEUES: Grouped = Grouped(
    "polls",
    by=("device", "napi"),
    sums=("work",),
    where={"work": (1, None), "device": KNOWN, "napi": KNOWN},
)
INPUTS = (*OF_COST, QUEUES)


@question()
def interfaces(bundle: Bundle) -> Answer:
    """What is known about each network interface of the host, before and after recording.

    A row per network namespace and device; link_kind is NA for hardware. A state that changed while
    recording is NA, as is what was not recorded. promiscuity and addresses are the greater of both
    readings. Sources: before/ and after/ of ip_link.json, settings/ip_addr.json, settings/queues,
    settings/ethtool/DEVICE/driver, net_dev.
    """
    known = known_interfaces(bundle)
    if not len(known):
        raise CaptureError(
            "the bundle does not describe its host's network interfaces: netcost-record saves "
            "net/dev and ip's output in before/ and after/"
        )
    return Answer(known)


class Facts(NamedTuple):
    # Evidence of a host's interfaces. rows: of described. saturation: of device_saturation. queues:
    # of QUEUES. listed: whether the bundle says which interfaces there are.
    rows: pd.DataFrame
    saturation: pd.DataFrame
    queues: pd.DataFrame
    listed: bool


@question(
    inputs=INPUTS,
    columns=("device", "flag", "severity", "why", "namespace"),
    rows=0,
)
def device_flags(timeline: Timeline) -> Answer:
    """What looks wrong with the network interfaces, and why.

    A row per suspicion, the most serious first; among equals, the device that took most time first.
    A clue points to something wrong, but may have an innocent reason. What was not recorded raises
    no suspicion (`not_recorded`: state, addresses, traffic), so without a bundle only queues are
    compared. lo is never suspected, and a port of a bridge or bond needs no address. Source:
    interfaces, device_cost, device_saturation and polls.
    """
    bundle = timeline.capture.bundle
    cost = device_cost(timeline)
    known, saturation, peaks, whole = empty(), pd.DataFrame(), pd.DataFrame(), None
    if bundle is not None:
        known = known_interfaces(bundle)
        with suppress(CaptureError):
            saturation = device_saturation(bundle).frame
        with suppress(CaptureError):
            peaks, whole = traffic_of(bundle), traffic_of(bundle, whole=True)
    facts = Facts(
        rows=described(known, cost.frame, peaks, whole, has_readings_clock(timeline.capture)),
        saturation=saturation,
        queues=pd.DataFrame() if timeline.missing["polls"] else QUEUES(timeline).frame,
        listed=len(known) > 0,
    )
    is_recorded = {
        "state": known["up"].notna().any(),
        "addresses": known["addresses"].notna().any(),
        "traffic": cost["traffic_unknown"] is None,
    }
    return Answer(
        suspicions(facts), not_recorded=[name for name, is_so in is_recorded.items() if not is_so]
    )


@question(
    needs=(("interrupts", "polls"),),
    inputs=INPUTS,
    columns=("device", "cpu_share", "ns", "packets", "ns_per_work"),
    rows=0,
)
def device_summary(timeline: Timeline) -> Answer:
    """Which device costs most CPU time, and the most serious problem found with any.

    `costs`: the rows of device_cost; `flags`: the rows of device_flags, None where the bundle's
    files are damaged. Source: device_cost, device_flags.
    """
    costs, flags = device_cost(timeline), None
    # device_flags says what is damaged.
    with suppress(CaptureError):
        flags = device_flags(timeline)
    return Answer(
        costs=costs.frame,
        flags=None if flags is None else flags.frame,
        not_recorded=[] if flags is None else flags["not_recorded"],
        traffic_unknown=costs["traffic_unknown"],
        polls_recorded=not timeline.missing["polls"],
    )


def described(
    known: pd.DataFrame,
    cost: pd.DataFrame,
    traffic: pd.DataFrame,
    whole: pd.DataFrame | None = None,
    placed: bool = True,
) -> pd.DataFrame:
    # A row per interface that is known or took time: columns of interfaces and of device_cost, and
    # peak_share, the highest utilisation of an interval, all_rx_packets and all_tx_packets, those
    # of the whole recording, which its drops are of. traffic, whole: of traffic_of, by interval,
    # and of the whole recording. placed: whether the trace's clock says what of it is the
    # timeline's; if not, the whole is what there is.
    shared = [name for name in cost.columns if name in known.columns and name not in _KEYS]
    # Without counters a device's namespace is known where a single one has that name.
    only = known.drop_duplicates("device", keep=False).set_index("device")["namespace"]
    cost = cost.assign(namespace=cost["namespace"].astype(object).fillna(cost["device"].map(only)))
    frame = known.merge(cost.drop(columns=shared), on=_KEYS, how="outer")
    if len(traffic):
        # Short intervals, beside the time of their readings, have no reliable rate.
        sure = traffic[traffic["interval_error_ns"] * 10 <= traffic["interval_ns"]]
        peaks = sure.groupby(_KEYS)["utilisation_share"].max().rename("peak_share")
        frame = frame.merge(peaks.reset_index(), on=_KEYS, how="left")
    # A poll does not name the namespace of its device, so that namesakes have no cost.
    named = frame["namespace"].notna()
    frame["has_namesake"] = frame["device"].where(named).duplicated(keep=False) & named
    if whole is not None:
        counts = {"rx_packets": "all_rx_packets", "tx_packets": "all_tx_packets"}
        frame = frame.merge(whole[[*_KEYS, *counts]].rename(columns=counts), on=_KEYS, how="left")
        unplaced = frame["rx_packets"].isna() & (frame["has_namesake"] | (not placed))
        for name, of_all in counts.items():
            frame[name] = frame[name].mask(unplaced, frame[of_all])
        ends = ["start_ns", "end_ns"]
        frame[ends] = frame[ends].astype("Int64").mask(unplaced)
    # "eth0 (1)" is one of several called eth0.
    names = frame["device"].astype(str).str.replace(r" \(\d+\)$", "", regex=True)
    return frame.assign(is_listed=names.isin(known["device"]))


def suspicions(facts: Facts) -> pd.DataFrame:
    # The flags that these facts raise, the gravest first, among those the device that costs most,
    # then the one that carried most.
    flags = [[getattr(flag, name) for name in _COLUMNS] for flag in _flags(facts)]
    frame = pd.DataFrame(flags, columns=_COLUMNS, dtype=object)
    figures = facts.rows[["ns", "rx_packets", "tx_packets"]].astype("Float64").fillna(0)
    weights = facts.rows[_KEYS].assign(
        ns=figures["ns"], packets=figures["rx_packets"] + figures["tx_packets"]
    )
    order = frame.merge(weights.drop_duplicates(_KEYS), on=_KEYS, how="left")
    order["severity"] = order["severity"].map(_SEVERITIES.index)
    order = order.fillna({"ns": 0, "packets": 0}).sort_values(
        ["severity", "ns", "packets"], ascending=[True, False, False], kind="stable"
    )
    return frame.loc[order.index].reset_index(drop=True)


def _flags(facts: Facts) -> Iterator[Flag]:
    # lo only brings packets back to where they came from.
    rows = listed(facts.rows[~facts.rows["device"].isin(["lo", NO_DEVICE])])
    for row in rows:
        for check in (without_use, no_replies, for_others, promiscuous, saturated):
            yield from check(row, rows)
        yield from dropped(row, facts.saturation)
        yield from full(row, facts.saturation)
        yield from uneven(row, facts.queues)
        if facts.listed:
            yield from unlisted(row)
    yield from same_mac(rows)
    yield from softnet(facts.saturation)
