# Whose traffic softirqs were, in sums: what all questions about owners and endpoints read.

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...timeline import reading
from ...timeline.by import By, victim_keys
from ...timeline.owners import plain_names
from ...timeline.reading import added, once
from ...timeline.timeline import Timeline
from . import softirq_owners as owners
from .event_window import EventWindow
from .packet_ends import ENDS, packets_in

_PAIR = [name for name in owners.ENDPOINTS if name != "receiver_known_by"]
# Softirqs that are looked at together: with fewer of them come fewer events.
_PIECE = 50_000


class Traffic(NamedTuple):
    """Sums over the units of all softirqs, a unit for each packet.

    by_owner: by tid and comm (in whose context), owner and is_network: softirqs (of which all or a
    part was this owner's), units, ns. by_pair: by sender and receiver: units, softirqs, ns,
    by_packet (units whose receiver the packet itself names). by_end: by side ("sender",
    "receiver"), tid and comm, with its other end known or not: units. by_class: of the network's
    softirqs, by cpu, tid, comm, cost_class and owner: ns.
    """

    by_owner: pd.DataFrame
    by_pair: pd.DataFrame
    by_end: pd.DataFrame
    by_class: pd.DataFrame


@once
def traffic(timeline: Timeline) -> Traffic:
    """Sums over a timeline's softirqs by whose traffic they were.

    Softirqs and polls are read in batches, once more before that where announcements on sockets
    were recorded, and the events beside them; packets on their way are kept.
    """
    sums = _TrafficSums(timeline)
    for softirqs, polls in reading.batches(timeline, "softirqs", "polls"):
        for number, piece in enumerate(_pieces(softirqs)):
            sums.add(piece, polls if number == 0 else polls[:0])
    return sums.finish()


class _TrafficSums:
    # Sums of the softirqs whose packets' ends are all known; the others wait, no more of them than
    # there are packets on their way.
    def __init__(self, timeline: Timeline) -> None:
        self._owners = _socket_owners(timeline)
        self._names = _longest_names(timeline.sums())
        self._window = EventWindow(timeline)
        self.waiting: pd.DataFrame | None = None
        self._sums: Traffic | None = None
        self._softirqs = 0

    def add(self, softirqs: pd.DataFrame, polls: pd.DataFrame) -> None:
        near = self._window.near(softirqs)
        units = owners.units(softirqs, near["received"])
        woken = owners.woken_in(units, softirqs, near["woken"])
        sockets = owners.sockets_in(units, softirqs, near["ready"])
        units = units.join(owners.with_sockets(woken, sockets, self._owners))
        rows = owners.softirq_rows(softirqs, polls)
        units = units.join(rows.drop(columns="ns"), on="softirq")
        threads = rows.iloc[len(softirqs) :]
        # Numbers of softirqs, and of polls outside of any, are of all batches.
        threads = threads.assign(softirq=threads.index + self._softirqs)
        units["softirq"] += self._softirqs
        self._softirqs += len(rows)
        units[[*ENDS]] = _unknown_ends(len(units))
        units["is_open"] = units["what"].notna() & self._window.follows_packets
        if self.waiting is not None and len(self.waiting):
            units = pd.concat([self.waiting, units], ignore_index=True)
        self._settle(units, threads)

    def finish(self) -> Traffic:
        while self.waiting is not None and len(self.waiting):
            goes_on = self._window.read_on()
            self._settle(self.waiting, self.waiting[:0], goes_on)
        self._window.close()
        assert self._sums is not None
        return self._sums

    def _settle(self, units: pd.DataFrame, threads: pd.DataFrame, goes_on: bool = True) -> None:
        # threads: rows of NAPI threads' polls. goes_on: whether more events will be read.
        ends = packets_in(units[units["is_open"].to_numpy(dtype=bool)], self._window.receipts())
        ends = ends[ends["is_told"].to_numpy(dtype=bool)]
        for name in ENDS:
            units[name] = units[name].where(units[name].notna(), ends[name].reindex(units.index))
        units.loc[ends.index, "is_open"] = False
        units["is_open"] &= goes_on
        open_softirqs = units.loc[units["is_open"].to_numpy(dtype=bool), "softirq"]
        waits = units["softirq"].isin(open_softirqs).to_numpy()
        self.waiting = units[waits].reset_index(drop=True)
        parts = _renamed(owners.owned(units[~waits], threads), self._names)
        sums = _summed(parts)
        if self._sums is not None:
            sums = Traffic(*(added(old, new) for old, new in zip(self._sums, sums, strict=True)))
        self._sums = sums


def _socket_owners(timeline: Timeline) -> pd.DataFrame:
    # owners.socket_owners() by all softirqs of the timeline.
    window = EventWindow(timeline, follow_packets=False)
    pairs: pd.DataFrame | None = None
    if window.has_sockets:
        for (softirqs,) in reading.batches(timeline, "softirqs"):
            for piece in _pieces(softirqs):
                near = window.near(piece)
                units = owners.units(piece, near["received"])
                sockets = owners.sockets_in(units, piece, near["ready"])
                woken = owners.woken_in(units, piece, near["woken"])
                pairs = added(pairs, owners.announced(sockets, woken))
    window.close()
    if pairs is None:
        return pd.DataFrame(columns=["woken_tid", "woken_comm"])
    return owners.socket_owners(pairs)


def _unknown_ends(many: int) -> pd.DataFrame:
    tids = pd.array([pd.NA] * many, dtype="Int64")
    return pd.DataFrame({name: tids if name.endswith("tid") else None for name in ENDS})


def _pieces(softirqs: pd.DataFrame) -> Iterator[pd.DataFrame]:
    # A batch in pieces, by when softirqs were over.
    order = np.argsort(softirqs["exit_ns"].fillna(0).to_numpy("int64"), kind="stable")
    for first in range(0, len(order) or 1, _PIECE):
        piece = softirqs.take(np.sort(order[first : first + _PIECE]))
        yield piece.reset_index(drop=True)


def _longest_names(sums: pd.DataFrame) -> "pd.Series[str]":
    # By tid the name that it had longest.
    named = sums[sums["comm"].notna().to_numpy()]
    ns = named["ns"].groupby([named["tid"], plain_names(named["comm"])]).sum().sort_values()
    return ns.reset_index().drop_duplicates("tid", keep="last").set_index("tid")["comm"]


def _renamed(parts: pd.DataFrame, longest: "pd.Series[str]") -> pd.DataFrame:
    # Tasks other than the current one under the name they had longest: ftrace's events name them
    # by any name they ever had.
    for side in ("owner", "sender", "receiver"):
        name = parts[f"{side}_tid"].map(longest)
        other = (parts[f"{side}_tid"] != parts["tid"]).fillna(False) & name.notna()
        parts[f"{side}_comm"] = parts[f"{side}_comm"].mask(other.to_numpy(dtype=bool), name)
    return parts


def _summed(parts: pd.DataFrame) -> Traffic:
    parts = parts.assign(units=1)
    by_owner = _counted(parts, ["tid", "comm", *owners.OWNER, "is_network"], [])
    both = (parts["sender_tid"].notna() & parts["receiver_tid"].notna()).to_numpy()
    known = parts[both]
    known = known.assign(by_packet=(known["receiver_known_by"] == "packet").astype("int64"))
    by_pair = _counted(known, _PAIR, ["by_packet"])
    ends = []
    for side in ("sender", "receiver"):
        end = parts[[f"{side}_tid", f"{side}_comm"]].set_axis(["tid", "comm"], axis=1)
        ends.append(end[end["tid"].notna().to_numpy()].assign(side=side))
    by_end = pd.concat(ends).groupby(["side", "tid", "comm"]).size().rename("units").to_frame()
    # NAPI threads' polls are in no softirq, and nothing that they take is stolen.
    network = (parts["is_network"] == "yes") & parts["in_softirq"].astype(bool)
    keys = ["cpu", "tid", "comm", "cost_class", *owners.OWNER]
    by_class = parts[network.to_numpy()].groupby(keys, dropna=False)[["ns"]].sum()
    return Traffic(by_owner, by_pair, by_end, by_class)


def _counted(units: pd.DataFrame, keys: list[str], more: list[str]) -> pd.DataFrame:
    # By keys: softirqs, units, ns, and sums of more columns.
    sums = units.groupby(keys, dropna=False)[["units", "ns", *more]].sum()
    softirqs = units.drop_duplicates([*keys, "softirq"]).groupby(keys, dropna=False).size()
    sums.insert(0, "softirqs", softirqs)
    return sums


def own_stolen(timeline: Timeline, by: By) -> pd.DataFrame:
    # What stolen network softirqs did for the very victim that they ran on top of. by: as for
    # stolen(). own_ns and own_max_ns (int64) by victim: of class stolen the parts whose owner, by
    # its socket or its packet, is the task or one of the same command; and with those that have no
    # such owner, and what of class stolen_or_synchronous is not another's.
    parts = traffic(timeline).by_class.reset_index()
    is_stolen = parts["cost_class"].isin(["stolen", "stolen_or_synchronous"])
    parts = parts[is_stolen & (parts["tid"] != 0).fillna(False)]
    own = (parts["owner_tid"] == parts["tid"]).fillna(False).astype(bool)
    if by in ("comm", "device"):
        own |= parts["owner_comm"] == parts["comm"]
    # Whom a softirq woke may be whom it had no packet for.
    known = parts["owner_known_by"].isin(["socket", "packet"])
    surely = known & own & (parts["cost_class"] == "stolen")
    keys = victim_keys(by)
    ns = {"own_ns": parts["ns"].where(surely, 0), "own_max_ns": parts["ns"].where(own | ~known, 0)}
    return parts[keys].assign(**ns).groupby(keys, dropna=False)[list(ns)].sum().astype("int64")
