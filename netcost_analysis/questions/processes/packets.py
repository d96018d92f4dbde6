# Who queued each packet before it was received, and who took it after, as the events come.

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...spans import Flags, Ints

ENDS = ("sender_tid", "sender_comm", "receiver_tid", "receiver_comm")
# What was done with a packet.
_OTHER, _QUEUED, _RECEIVED, _TAKEN = range(4)
_UNKNOWN = -1


Column = npt.NDArray[Any]


class _Done(NamedTuple):
    # What was done with the packets at some addresses; sender_tid, sender_comm: of a receipt that
    # events before told of.
    what: Column
    time_ns: Column
    tid: Column
    comm: Column
    kind: Column
    sender_tid: Column
    sender_comm: Column

    def at(self, places: Ints | Flags) -> "_Done":
        return _Done(*(column[places] for column in self))


class Packets:
    # An address is used again and again: a receipt belongs to what was done with its address just
    # before and just after. Only what tasks do counts, not what softirqs do in their time.
    #
    #   address A   queued by 7 | received | taken by 9 | received |   the last is open until the
    #                             7 -> 9                               next event of A
    #
    # In memory are packets on their way: no more than there are addresses.
    def __init__(self) -> None:
        self._open = _done(_nothing(), np.zeros(0, dtype="int64"))

    def add(
        self, received: pd.DataFrame, queued: pd.DataFrame, taken: pd.DataFrame, freed: pd.DataFrame
    ) -> pd.DataFrame:
        # The next events, none before those that were. received, queued, taken, freed: recorded()
        # netif_receive_skb; net_dev_queue; skb_copy_datagram_iovec and consume_skb; kfree_skb.
        # Returns the receipts whose next event came: what, start_ns (Int64) and ENDS, NA where not
        # known.
        known = (
            np.where(_by_task(queued), _QUEUED, _OTHER),
            np.full(len(received), _RECEIVED),
            np.where(_by_task(taken), _TAKEN, _OTHER),
            np.full(len(freed), _OTHER),
        )
        new = map(_done, (queued, received, taken, freed), known)
        every = _Done(*map(np.concatenate, zip(self._open, *new, strict=True)))
        rows = every.at(np.lexsort((every.time_ns, every.what)))
        same = np.ones(len(rows.what) + 1, dtype=bool)
        same[[0, -1]] = False
        same[1:-1] = rows.what[1:] == rows.what[:-1]
        # Of each row, whether that before it and that after it are of its address.
        before, after = same[:-1], same[1:]
        received_again = before & (rows.kind == _RECEIVED) & (_shifted(rows.kind) == _RECEIVED)
        rows.kind[received_again & (rows.time_ns == _shifted(rows.time_ns))] = _OTHER
        sent = before & (_shifted(rows.kind) == _QUEUED)
        rows.sender_tid[sent] = _shifted(rows.tid)[sent]
        rows.sender_comm[sent] = _shifted(rows.comm)[sent]
        self._open = rows.at(~after & np.isin(rows.kind, (_QUEUED, _RECEIVED)))
        over = np.flatnonzero(after & (rows.kind == _RECEIVED))
        return _receipts(rows.at(over), rows.at(over + 1))

    def rest(self) -> pd.DataFrame:
        # Receipts of which no later event came; as add().
        over = self._open.at(self._open.kind == _RECEIVED)
        self._open = self._open.at(self._open.kind == _QUEUED)
        return _receipts(over, over)


def _receipts(rows: _Done, following: _Done) -> pd.DataFrame:
    taken = following.kind == _TAKEN
    sent = rows.sender_tid != _UNKNOWN
    columns: dict[str, Any] = {"what": rows.what, "start_ns": rows.time_ns}
    for side, tid, comm, known in (
        ("sender", rows.sender_tid, rows.sender_comm, sent),
        ("receiver", following.tid, following.comm, taken),
    ):
        columns[f"{side}_tid"] = pd.arrays.IntegerArray(tid, ~known)
        columns[f"{side}_comm"] = np.where(known, comm, np.array(None))
    return pd.DataFrame(columns).astype({"what": "Int64", "start_ns": "Int64"})


def _shifted(column: Column) -> Column:
    # The row before.
    return np.concatenate((column[:1], column[:-1]))


def _nothing() -> pd.DataFrame:
    return pd.DataFrame({name: [] for name in ("what", "time_ns", "tid", "comm")})


def _done(events: pd.DataFrame, kind: Column) -> _Done:
    what, times, tids = (events[name].to_numpy("int64") for name in ("what", "time_ns", "tid"))
    comms = events["comm"].to_numpy(dtype=object)
    nobody = np.full(len(events), _UNKNOWN), np.full(len(events), None, dtype=object)
    return _Done(what, times, tids, comms, kind.astype("int64"), *nobody)


def _by_task(events: pd.DataFrame) -> Flags:
    # What tasks did, outside of interrupts.
    inside = (events["in_hardirq"] | events["in_softirq"]).fillna(True).to_numpy(dtype=bool)
    own: Flags = ~inside & (events["tid"].to_numpy("int64") > 0)
    return own


def unknown_ends(many: int) -> pd.DataFrame:
    # ENDS of packets of which nothing is known.
    tids = pd.array([pd.NA] * many, dtype="Int64")
    return pd.DataFrame({name: tids if name.endswith("tid") else None for name in ENDS})


def packets_in(frame: pd.DataFrame, receipts: pd.DataFrame) -> pd.DataFrame:
    # ENDS of each of units()'s packets, of what add() returned; is_told: whether it is one of them.
    joined = frame[["what", "start_ns"]].merge(
        receipts, on=["what", "start_ns"], how="left", indicator="is_told"
    )
    told = joined["is_told"] == "both"
    return joined[[*ENDS]].assign(is_told=told).set_index(frame.index)
