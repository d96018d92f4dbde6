# Who queued each packet before it was received, and who took it after, as the events come.

from typing import Any

import numpy as np
import pandas as pd

from ...spans import Flags, Ints

ENDS = ("sender_tid", "sender_comm", "receiver_tid", "receiver_comm")
# What happened to a packet. Only what tasks do outside of interrupts tells an end.
_OTHER, _QUEUED, _RECEIVED, _TAKEN = range(4)
_COLUMNS = ["what", "time_ns", "tid", "comm", "kind"]


class Packets:
    # Addresses of packets are reused: the ends of a receipt are the events of its address just
    # before and just after it.
    #
    #   address A   queued by 7 | received | taken by 9 | received |   the last stays open until
    #                             7 -> 9                               the next event of A
    #
    # Kept are the packets on their way: at most two rows for each address.
    def __init__(self) -> None:
        self.on_their_way = pd.DataFrame({name: [] for name in _COLUMNS}, dtype="int64")

    def add(
        self, received: pd.DataFrame, queued: pd.DataFrame, taken: pd.DataFrame, freed: pd.DataFrame
    ) -> pd.DataFrame:
        # The next events, by time: netif_receive_skb; net_dev_queue; skb_copy_datagram_iovec and
        # consume_skb; kfree_skb. Returns what, start_ns (Int64) and ENDS, NA where unknown, of the
        # receipts whose next event is among them.
        new = (
            queued.assign(kind=np.where(_by_task(queued), _QUEUED, _OTHER)),
            received.assign(kind=_RECEIVED),
            taken.assign(kind=np.where(_by_task(taken), _TAKEN, _OTHER)),
            freed.assign(kind=_OTHER),
        )
        frames = [frame[_COLUMNS] for frame in (self.on_their_way, *new) if len(frame)]
        rows = pd.concat(frames) if frames else self.on_their_way
        rows = rows.take(np.lexsort((rows["time_ns"], rows["what"])))
        what, times, kind = (rows[name].to_numpy("int64") for name in ("what", "time_ns", "kind"))
        # Whether the row before is of the same packet.
        follows = np.append(False, what[1:] == what[:-1])[: len(what)]
        twice = follows & (kind == _RECEIVED) & (np.roll(kind, 1) == _RECEIVED)
        kind = np.where(twice & (times == np.roll(times, 1)), _OTHER, kind)
        rows = rows.assign(kind=kind)
        is_last = ~np.append(follows[1:], False)[: len(what)]
        is_open = is_last & np.isin(kind, (_QUEUED, _RECEIVED))
        was_sent = follows & (kind == _RECEIVED) & (np.roll(kind, 1) == _QUEUED)
        self.on_their_way = rows[is_open | np.roll(is_open & was_sent, -1)]
        return _receipts(rows, ~is_last & (kind == _RECEIVED))

    def rest(self) -> pd.DataFrame:
        # The receipts that no later event follows; as add().
        rows, self.on_their_way = self.on_their_way, self.on_their_way[:0]
        return _receipts(rows, (rows["kind"] == _RECEIVED).to_numpy(dtype=bool))


def _receipts(rows: pd.DataFrame, which: Flags) -> pd.DataFrame:
    # Some rows, with the ends that the rows around them tell.
    place = np.flatnonzero(which)
    result: dict[str, Any] = {"what": rows["what"], "start_ns": rows["time_ns"]}
    result = {name: column.iloc[place].astype("Int64").array for name, column in result.items()}
    for side, step, kind in (("sender", -1, _QUEUED), ("receiver", 1, _TAKEN)):
        end = rows.take((place + step).clip(0, max(len(rows) - 1, 0)))
        known = _equal(end["kind"], kind) & _equal(end["what"], rows["what"].to_numpy()[place])
        result[f"{side}_tid"] = pd.arrays.IntegerArray(end["tid"].to_numpy("int64"), ~known)
        result[f"{side}_comm"] = end["comm"].astype(object).where(known, None).array
    return pd.DataFrame(result)


def _equal(column: pd.Series, other: Ints | int) -> Flags:
    flags: Flags = column.to_numpy("int64") == other
    return flags


def _by_task(events: pd.DataFrame) -> Flags:
    inside = (events["in_hardirq"] | events["in_softirq"]).fillna(True).to_numpy(dtype=bool)
    by_task: Flags = ~inside & (events["tid"].to_numpy("int64") > 0)
    return by_task


def packets_in(units: pd.DataFrame, receipts: pd.DataFrame) -> pd.DataFrame:
    # ENDS of the packet of each of units(), from the receipts of Packets; is_told: whether it is
    # one of them.
    joined = units[["what", "start_ns"]].merge(
        receipts, on=["what", "start_ns"], how="left", indicator="is_told"
    )
    joined["is_told"] = joined["is_told"] == "both"
    return joined[[*ENDS, "is_told"]].set_index(units.index)
