# Whose traffic softirqs were, in sums: what all questions about owners and endpoints read.

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...spans import Flags
from ...timeline import reading
from ...timeline.by import By, victim_keys
from ...timeline.reading import added, once
from ...timeline.timeline import Timeline
from . import evidence as e
from . import recorded as r
from .packets import ENDS, packets_in, unknown_ends
from .traffic_parts import ENDPOINTS, OWNER, longest_names, parts_of, renamed, softirq_rows
from .witnesses import Sources, Witnesses, sources_of

_PAIR = [name for name in ENDPOINTS if name != "receiver_known_by"]
# Softirqs.
_AT_ONCE = 50_000
_STOLEN = ["cpu", "tid", "comm", "cost_class", *OWNER]


class Traffic(NamedTuple):
    """Sums over the parts of all softirqs, a part for each packet.

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


class _Units(NamedTuple):
    # rows: softirq_rows() of softirqs. units: units() with the columns of with_sockets() and ENDS;
    # is_open: whether the packet's end is yet to come.
    rows: pd.DataFrame
    units: pd.DataFrame


@dataclass(frozen=True, eq=False)
class _By:
    # What tells whose traffic it was. owners: of sockets, evidence.owners_of(); names:
    # longest_names().
    sources: Sources
    owners: pd.DataFrame
    names: "pd.Series[str]"


@once
def traffic(timeline: Timeline) -> Traffic:
    """Sums over a timeline's softirqs by whose traffic they were.

    Softirqs and polls are read in batches, once more before that where announcements on sockets
    were recorded, and the events beside them; packets on their way are kept.
    """
    summed = _Summed(_by(timeline))
    for softirqs, polls in reading.batches(timeline, "softirqs", "polls"):
        for some, theirs in _pieces(softirqs, polls):
            summed.add(some, theirs)
    return summed.over()


@once
def _by(timeline: Timeline) -> _By:
    sources = sources_of(timeline, with_packets=False)
    pairs: pd.DataFrame | None = None
    if r.READY in sources.events:
        witnesses = Witnesses(sources)
        for (softirqs,) in reading.batches(timeline, "softirqs"):
            for some, _ in _pieces(softirqs):
                near = witnesses.near(some)
                frame = e.units(some, near.received)
                sockets = e.sockets_in(frame, some, near.ready)
                pairs = added(pairs, e.announced(sockets, e.woken_in(frame, some, near.wakings)))
        witnesses.close()
    owners = e.owners_of(pd.DataFrame() if pairs is None else pairs)
    return _By(sources_of(timeline), owners, longest_names(timeline.sums()))


class _Summed:
    # Softirqs whose packets' ends are all known, in sums; the rest waits, no more of them than
    # there are packets on their way.
    def __init__(self, by: _By) -> None:
        self._witnesses, self._by = Witnesses(by.sources), by
        self._waiting: _Units | None = None
        self._sums: Traffic | None = None

    def add(self, softirqs: pd.DataFrame, polls: pd.DataFrame) -> None:
        near = self._witnesses.near(softirqs)
        frame = e.units(softirqs, near.received)
        woken = e.with_sockets(
            e.woken_in(frame, softirqs, near.wakings),
            e.sockets_in(frame, softirqs, near.ready),
            self._by.owners,
        )
        rows = softirq_rows(softirqs, polls)
        units = frame.join(woken)
        units[[*ENDS]] = unknown_ends(len(units))
        units["is_open"] = frame["what"].notna() & self._by.sources.follows
        of, threads = rows.iloc[: len(softirqs)], rows.iloc[len(softirqs) :]
        self._settle(_joined(self._waiting, _Units(of, units)), threads)

    def over(self) -> Traffic:
        # All of it; nothing comes any more.
        while self._waiting is not None and len(self._waiting.rows):
            goes_on = self._witnesses.read_on()
            self._settle(self._waiting, self._waiting.rows[:0], goes_on)
        self._witnesses.close()
        assert self._sums is not None
        return self._sums

    def _settle(self, of: _Units, threads: pd.DataFrame, goes_on: bool = True) -> None:
        # threads: rows of NAPI threads' polls. goes_on: events are yet to come.
        rows, units = of
        open_ = units[units["is_open"].to_numpy(dtype=bool)]
        ends = packets_in(open_, self._witnesses.receipts())
        ends = ends[ends["is_told"].to_numpy(dtype=bool)]
        for name in ENDS:
            units[name] = units[name].where(units[name].notna(), ends[name].reindex(units.index))
        units.loc[ends.index, "is_open"] = False
        units["is_open"] &= goes_on
        waits = np.zeros(len(rows), dtype=bool)
        waits[units["softirq"].to_numpy()[units["is_open"].to_numpy(dtype=bool)]] = True
        self._waiting = _part(of, waits)
        rows, units = _part(of, ~waits)
        rows = pd.concat([rows, threads], ignore_index=True)
        woken = units[["tid", "comm", "known_by"]]
        parts = renamed(parts_of(rows, units, units[[*ENDS]], woken), self._by.names)
        part = summed(parts, rows)
        if self._sums is not None:
            part = Traffic(*(added(old, new) for old, new in zip(self._sums, part, strict=True)))
        self._sums = part


def _joined(first: _Units | None, then: _Units) -> _Units:
    if first is None or not len(first.rows):
        return then
    units = then.units.assign(softirq=then.units["softirq"] + len(first.rows))
    return _Units(
        pd.concat([first.rows, then.rows], ignore_index=True),
        pd.concat([first.units, units], ignore_index=True),
    )


def _part(of: _Units, which: Flags) -> _Units:
    # Some of the softirqs, with their units.
    place = np.cumsum(which) - 1
    softirq = of.units["softirq"].to_numpy("int64")
    units = of.units[which[softirq]]
    units = units.assign(softirq=place[softirq[which[softirq]]]).reset_index(drop=True)
    return _Units(of.rows[which].reset_index(drop=True), units)


def _pieces(
    softirqs: pd.DataFrame, polls: pd.DataFrame | None = None
) -> "Iterator[tuple[pd.DataFrame, pd.DataFrame]]":
    # Of a batch some after the other, by when they were over: with fewer of them come fewer events.
    # Softirqs are told by their place. Polls come with the first.
    ends = softirqs["exit_ns"].fillna(0).to_numpy("int64")
    order = np.argsort(ends, kind="stable")
    polls = pd.DataFrame() if polls is None else polls
    for first in range(0, len(order) or 1, _AT_ONCE):
        rows = softirqs.take(np.sort(order[first : first + _AT_ONCE]))
        yield rows.reset_index(drop=True), polls[: None if first == 0 else 0]


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
    network = parts[(parts["is_network"] == "yes").to_numpy()]
    network = network.join(rows[["cpu", "cost_class", "in_softirq"]], on="softirq")
    # NAPI threads' polls are in no softirq, and nobody's loss.
    network = network[network["in_softirq"].to_numpy(dtype=bool)]
    by_class = network.groupby(_STOLEN, dropna=False)[["ns"]].sum()
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
