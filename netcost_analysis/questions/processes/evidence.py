"""Who sent and who received what a softirq worked on: from packets, sockets and wake-ups.

```text
  CPU 0  client   | net_dev_queue A | softirq: netif_receive_skb A | sk_data_ready S | waking server
  CPU 1  server                                          | skb_copy_datagram_iovec A |
```
A unit is a packet that a softirq received, from its netif_receive_skb to the next one's; a softirq
without any is one unit. Whom a unit was for is known, from the strongest witness to the weakest:

- packet: the same buffer was queued by a task before, or copied to a task after, and no other
  packet had its address in between;
- socket: the unit announced data on a socket that, elsewhere in the capture, woke one task;
- wake-up: the unit woke a task.
"""

import re

import numpy as np
import pandas as pd

from ...spans import Spans, columns, spans_of
from ...timeline.owners import of_tasks, plain_names

NET = ("NET_RX", "NET_TX")
# They exist to run softirqs and interrupts; waking one says nothing of whose packets these are.
SERVANTS = r"^(?:ksoftirqd/|ktimers/|rcuc?[_/]|rcu[a-z_]*$|migration/|napi/|irq/|backlog_napi/)"


def inside(events: pd.DataFrame, softirqs: pd.DataFrame) -> "pd.Series[int]":
    # The softirq that each event happened in: its place in softirqs, -1 outside of any. events: as
    # recorded() returns them. softirqs: cpu, tid, entry_ns, exit_ns (Int64). In a softirq is what
    # lies between its entry and its exit on its CPU, in the task that it ran in, and in no hardirq
    # on top of it.
    place = np.full(len(events), -1, dtype="int64")
    whole = softirqs["entry_ns"].notna() & softirqs["exit_ns"].notna()
    known = softirqs[whole.to_numpy()].assign(place=np.flatnonzero(whole.to_numpy()))
    known = known.sort_values(["cpu", "entry_ns"], kind="stable")
    entered = spans_of(known, "entry_ns", "exit_ns", "cpu")
    cpus, times = columns(events, "cpu", "time_ns")
    index = entered.last_begun(cpus, times)
    at = np.flatnonzero(index >= 0)
    owners = known["tid"].fillna(-1).to_numpy(dtype="int64")[index[at]]
    held = (times[at] <= entered.ends[index[at]]) & (owners == events["tid"].to_numpy()[at])
    place[at[held]] = known["place"].to_numpy()[index[at[held]]]
    place[events["in_hardirq"].fillna(False).to_numpy(dtype=bool)] = -1
    return pd.Series(place, index=events.index)


def units(softirqs: pd.DataFrame, received: pd.DataFrame) -> pd.DataFrame:
    # What softirqs worked on, unit by unit.
    # softirqs: with cpu, entry_ns, exit_ns, tid, action, self_ns. received: recorded()
    # netif_receive_skb. Returns softirq (place in softirqs), start_ns (Int64), what (address of the
    # packet, Int64), ns (int64: the softirq's own time, shared evenly; sums are exact), ordered by
    # softirq and start. Softirqs other than NET_RX and NET_TX have one unit.
    place = inside(received, softirqs)
    network = plain_names(softirqs["action"]).isin(NET).to_numpy()
    of_net = (place >= 0) & network[place.clip(lower=0)]
    packets = pd.DataFrame(
        {
            "softirq": place[of_net],
            "start_ns": received["time_ns"][of_net].astype("Int64"),
            "what": received["what"][of_net].astype("Int64"),
        }
    )
    others = np.setdiff1d(np.arange(len(softirqs)), packets["softirq"].to_numpy())
    rest = pd.DataFrame({"softirq": others})
    rest["start_ns"] = softirqs["entry_ns"].to_numpy()[others]
    rest["what"] = pd.array([pd.NA] * len(rest), dtype="Int64")
    frame = pd.concat([packets, rest.astype({"start_ns": "Int64"})], ignore_index=True)
    frame = frame.sort_values(["softirq", "start_ns"], kind="stable", ignore_index=True)
    ns = softirqs["self_ns"].to_numpy(dtype="int64")[frame["softirq"]]
    groups = frame.groupby("softirq")["softirq"]
    count, number = groups.transform("size").to_numpy(), groups.cumcount().to_numpy()
    # What does not divide goes to the first units, a nanosecond each.
    frame["ns"] = ns // count + (number < ns % count)
    return frame


def in_units(events: pd.DataFrame, frame: pd.DataFrame, softirqs: pd.DataFrame) -> "pd.Series[int]":
    # The unit that each event happened in: its place in units(), -1 where in none.
    place = inside(events, softirqs)
    starts = frame["start_ns"].fillna(0).to_numpy(dtype="int64")
    # Units are ordered by softirq, then start; -1 is no softirq.
    begun = Spans(frame["softirq"].to_numpy(dtype="int64"), starts, starts)
    unit = begun.last_begun(*columns(events.assign(place=place), "place", "time_ns"))
    return pd.Series(unit, index=events.index, dtype="int64")


def of_clients(woken: pd.DataFrame) -> pd.DataFrame:
    # Of sched_waking those of tasks that do not exist for softirqs.
    tasks = of_tasks(woken.assign(tid=woken["what"]).astype({"tid": "Int64"}))
    # Names are few, and events many.
    servants = [name for name in tasks["name"].unique() if re.search(SERVANTS, str(name))]
    return woken.loc[tasks.index[~tasks["name"].isin(servants).to_numpy(dtype=bool)]]


def woken_in(frame: pd.DataFrame, softirqs: pd.DataFrame, wakings: pd.DataFrame) -> pd.DataFrame:
    # The task that each unit woke: tid (Int64), comm, known_by ("wake-up", or None); index as
    # frame: units(). wakings: recorded() sched_waking, of of_clients().
    first = _first(wakings, in_units(wakings, frame, softirqs))
    tid = first["what"].reindex(frame.index).astype("Int64")
    comm = first["name"].reindex(frame.index)
    result = pd.DataFrame({"tid": tid, "comm": comm, "known_by": None}, index=frame.index)
    result.loc[tid.notna().to_numpy(), "known_by"] = "wake-up"
    return result


def sockets_in(
    frame: pd.DataFrame, softirqs: pd.DataFrame, ready: pd.DataFrame
) -> "pd.Series[int]":
    # The socket that each unit first announced data on, by unit; those that announced any.
    return _first(ready, in_units(ready, frame, softirqs))["what"]


def _first(events: pd.DataFrame, unit: "pd.Series[int]") -> pd.DataFrame:
    # The first event of each unit, by unit.
    inside = events.assign(unit=unit)[(unit >= 0).to_numpy()]
    inside = inside.sort_values("time_ns", kind="stable")
    return inside.drop_duplicates("unit").set_index("unit")


def with_sockets(
    by_waking: pd.DataFrame, sockets: "pd.Series[int]", owner: pd.DataFrame
) -> pd.DataFrame:
    # woken_in(), and where a unit announced data on a socket whose owner is known, that one:
    # known_by "socket". sockets, owner: of sockets_in() and owners_of().
    by_socket = sockets[sockets.isin(owner.index)]
    result = by_waking.copy()
    result.loc[by_socket.index, "tid"] = by_socket.map(owner["tid"]).astype("Int64")
    result.loc[by_socket.index, "comm"] = by_socket.map(owner["comm"])
    result.loc[by_socket.index, "known_by"] = "socket"
    return result


def announced(sockets: "pd.Series[int]", by_waking: pd.DataFrame) -> pd.DataFrame:
    # How often units that announced data on a socket woke a task: count by socket, tid, comm.
    pairs = by_waking.loc[sockets.index].assign(socket=sockets)
    pairs = pairs[pairs["tid"].notna().to_numpy()]
    return pairs.groupby(["socket", "tid", "comm"]).size().rename("count").to_frame()


def owners_of(pairs: pd.DataFrame) -> pd.DataFrame:
    # By socket address, the one task that units announcing data on it woke: nine in ten of them.
    # pairs: of announced().
    if not len(pairs):
        return pd.DataFrame({"tid": pd.Series(dtype="Int64"), "comm": pd.Series(dtype=object)})
    counts = pairs.reset_index()
    whole = counts.groupby("socket")["count"].transform("sum")
    sure = counts[(counts["count"] >= 0.9 * whole).to_numpy()]
    return sure.drop_duplicates("socket").set_index("socket")[["tid", "comm"]]
