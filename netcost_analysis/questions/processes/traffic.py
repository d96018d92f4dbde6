# Whose traffic softirqs were, in sums: what all questions about owners and endpoints read.

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...timeline.timeline import Timeline
from ..folds import fold
from ..inputs import added, once
from . import evidence as e
from . import recorded as r
from .softirq_time import softirq_rows
from .traffic_parts import ENDPOINTS, OWNER, longest_names, parts_of, renamed

_PAIR = [name for name in ENDPOINTS if name != "receiver_known_by"]
_STOLEN = ["cpu", "tid", "comm", "cost_class", *OWNER]


class Traffic(NamedTuple):
    """Sums over the parts of all softirqs, a part for each packet.

    Attributes
    ----------
    by_owner : pandas.DataFrame
        By tid and comm (in whose context), owner_tid, owner_comm, owner_known_by, is_network:
        softirqs (of which all or a part was this owner's), units, ns.
    by_pair : pandas.DataFrame
        By sender_tid, sender_comm, receiver_tid, receiver_comm: units, softirqs, ns, by_packet
        (units whose receiver the packet itself names).
    by_end : pandas.DataFrame
        By side ("sender", "receiver"), tid and comm, with its other end known or not: units.
    by_class : pandas.DataFrame
        Of the network's softirqs, by cpu, tid, comm, cost_class and owner: ns.
    """

    by_owner: pd.DataFrame
    by_pair: pd.DataFrame
    by_end: pd.DataFrame
    by_class: pd.DataFrame


@dataclass(frozen=True, eq=False)
class _Events:
    # What tells whose traffic it was, in order of time. packets: of evidence.packets_of().
    received: pd.DataFrame
    packets: pd.DataFrame
    wakings: pd.DataFrame
    ready: pd.DataFrame
    names: "pd.Series[str]"


@dataclass(frozen=True, eq=False)
class _Owners:
    # Of sockets: evidence.owners_of().
    of: pd.DataFrame


def traffic(timeline: Timeline) -> Traffic:
    """Sums over a timeline's softirqs by whose traffic they were.

    Parameters
    ----------
    timeline : Timeline
        What is asked.

    Returns
    -------
    Traffic
        Sums.

    Notes
    -----
    Source: softirqs and polls, and the events of packets, sockets and wake-ups. Rows are read in
    batches, once more before that where announcements on sockets were recorded; of the events a
    few columns are kept.
    """
    return _summed(timeline, events=_events(timeline), owners=_owners(timeline))


@once
def _events(timeline: Timeline) -> _Events:
    recorded = r.all_recorded(timeline.capture)
    received = recorded[r.RECEIVED]
    queued, taken = r.empty(), r.empty().assign(kind="")
    if len(received) and not timeline.missing["clocks"]:
        queued = recorded[r.QUEUED]
        kinds = {r.COPIED: "taken", r.CONSUMED: "taken", r.FREED: "freed"}
        frames = [recorded[event].assign(kind=kind) for event, kind in kinds.items()]
        frames = [one for one in frames if len(one)]
        taken = pd.concat(frames, ignore_index=True) if frames else taken
    woken = recorded.get(r.WOKEN, r.empty())
    if not len(woken):
        known = recorded.get(r.WAKE_UP)
        woken = r.recorded(timeline.capture, r.WAKE_UP) if known is None else known
    packets = e.packets_of(received, queued, taken).sort_values("start_ns", kind="stable")
    del queued, taken
    ready = _sorted(recorded.pop(r.READY))
    wakings = _sorted(e.of_clients(woken), "name")
    names = longest_names(timeline.sums())
    return _Events(_sorted(received), packets, wakings, ready, names)


def _sorted(events: pd.DataFrame, *more: str) -> pd.DataFrame:
    # Of millions of events no more than is asked of them.
    rows = events[["time_ns", "cpu", "tid", "in_hardirq", "what", *more]]
    return rows.sort_values("time_ns", kind="stable", ignore_index=True)


@once
def _owners(timeline: Timeline) -> _Owners:
    events = _events(timeline)
    if not len(events.ready):
        return _Owners(e.owners_of(pd.DataFrame()))
    return _Owners(e.owners_of(_announced(timeline, events=events)))


@fold("softirqs")
def _announced(pairs: pd.DataFrame | None, softirqs: pd.DataFrame, events: _Events) -> pd.DataFrame:
    # Softirqs are told by their place.
    softirqs = softirqs.reset_index(drop=True)
    near = _near(events, softirqs)
    frame = e.units(softirqs, near.received)
    sockets = e.sockets_in(frame, softirqs, near.ready)
    return added(pairs, e.announced(sockets, e.woken_in(frame, softirqs, near.wakings)))


@fold("softirqs", "polls")
def _summed(
    sums: Traffic | None,
    softirqs: pd.DataFrame,
    polls: pd.DataFrame,
    events: _Events,
    owners: _Owners,
) -> Traffic:
    softirqs = softirqs.reset_index(drop=True)
    near = _near(events, softirqs)
    frame = e.units(softirqs, near.received)
    by_waking = e.with_sockets(
        e.woken_in(frame, softirqs, near.wakings),
        e.sockets_in(frame, softirqs, near.ready),
        owners.of,
    )
    # A dispatch is the network's as well as what polled.
    rows = softirq_rows(softirqs, polls, polled=True)
    parts = renamed(
        parts_of(rows, frame, e.packets_in(frame, near.packets), by_waking), events.names
    )
    part = summed(parts, rows)
    if sums is None:
        return part
    return Traffic(*(added(one, more) for one, more in zip(sums, part, strict=True)))


def summed(parts: pd.DataFrame, rows: pd.DataFrame) -> Traffic:
    """traffic() of parts_of(), which are of softirq_rows()."""
    by_owner = _counted(parts.assign(units=1), ["tid", "comm", *OWNER, "is_network"], [])
    both = (parts["sender_tid"].notna() & parts["receiver_tid"].notna()).to_numpy()
    known = parts[both].assign(units=1)
    known["by_packet"] = (known["receiver_known_by"] == "packet").astype("int64")
    by_pair = _counted(known, _PAIR, ["by_packet"])
    ends = []
    for side in ("sender", "receiver"):
        end = parts[[f"{side}_tid", f"{side}_comm"]].set_axis(["tid", "comm"], axis=1)
        ends.append(end[end["tid"].notna().to_numpy()].assign(side=side))
    by_end = pd.concat(ends).groupby(["side", "tid", "comm"]).size().rename("units").to_frame()
    of = rows[["cpu", "cost_class"]].assign(inside=rows["softirqs"] > 0)
    network = parts[(parts["is_network"] == "yes").to_numpy()].join(of, on="softirq")
    # NAPI threads' polls are in no softirq, and nobody's loss.
    network = network[network["inside"].to_numpy(dtype=bool)]
    by_class = network.groupby(_STOLEN, dropna=False)[["ns"]].sum()
    return Traffic(by_owner, by_pair, by_end, by_class)


def _counted(units: pd.DataFrame, keys: list[str], more: list[str]) -> pd.DataFrame:
    # By keys: softirqs, units, ns, and sums of more columns.
    sums = units.groupby(keys, dropna=False)[["units", "ns", *more]].sum()
    softirqs = units.drop_duplicates([*keys, "softirq"]).groupby(keys, dropna=False).size()
    sums.insert(0, "softirqs", softirqs)
    return sums


def _near(events: _Events, softirqs: pd.DataFrame) -> _Events:
    # Those that can lie in a softirq of these.
    begins, ends = softirqs["entry_ns"].dropna(), softirqs["exit_ns"].dropna()
    since, until = (begins.min(), ends.max()) if len(begins) and len(ends) else (0, -1)

    def cut(frame: pd.DataFrame, time: str = "time_ns") -> pd.DataFrame:
        at = frame[time].to_numpy("int64")
        return frame.iloc[np.searchsorted(at, since) : np.searchsorted(at, until, side="right")]

    return _Events(
        cut(events.received),
        cut(events.packets, "start_ns"),
        cut(events.wakings),
        cut(events.ready),
        events.names,
    )
