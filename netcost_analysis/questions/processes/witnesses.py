# The events near the softirqs of a batch, as both come.
#
#   softirqs | batch 1      | batch 2      |        of each CPU, in order of their exits
#   events   | read up to its last exit | ...       what lies behind its CPU's last exit waits

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from . import evidence as e
from . import recorded as r
from .packets import Packets

if TYPE_CHECKING:
    from ...capture.capture import Capture
    from ...timeline.timeline import Timeline

_LATEST = 2**63 - 1
# No softirq has so many events in it.
_MOST = 500_000


class Near(NamedTuple):
    # Those that can lie in a batch's softirqs, by time.
    received: pd.DataFrame
    wakings: pd.DataFrame
    ready: pd.DataFrame


@dataclass(frozen=True, eq=False)
class Sources:
    # Which events tell of a timeline's softirqs. woken: that of wake-ups; follows: whether packets
    # are followed from one end to the other.
    capture: "Capture"
    events: list[r.Event]
    woken: r.Event
    follows: bool
    cpus: list[int]
    start_ns: int


def sources_of(timeline: "Timeline", with_packets: bool = True) -> Sources:
    told, summary = r.told(timeline.capture), timeline.summary
    follows = with_packets and r.RECEIVED in told and not timeline.missing["clocks"]
    woken = r.WOKEN if r.WOKEN in told else r.WAKE_UP
    wanted = [r.RECEIVED, woken, r.READY]
    wanted += [r.QUEUED, *r.TAKEN, r.FREED] if follows else []
    events = [event for event in wanted if event in told]
    start_ns = int(summary["start_ns"])
    return Sources(timeline.capture, events, woken, follows, summary["cpus"], start_ns)


class Witnesses:
    def __init__(self, of: Sources) -> None:
        self._of = of
        self._events = r.stream(of.capture, of.events)
        self._since_ns, self._read_ns = of.start_ns, -_LATEST
        self._waiting = Near(*(_kept(r.empty(), *more) for more in ((), ("name",), ())))
        self._packets, self._receipts = Packets(), [Packets().rest()]
        self._exits = pd.Series(dtype="int64")

    def near(self, softirqs: pd.DataFrame) -> Near:
        # softirqs: the next ones.
        begins, ends = softirqs["entry_ns"].dropna(), softirqs["exit_ns"].dropna()
        if not len(begins) or not len(ends):
            return Near(*(rows[:0] for rows in self._waiting))
        if self._read_ns == -_LATEST:
            self._since_ns = min(self._since_ns, int(begins.min()))
        until_ns = int(ends.max())
        while self._read_ns < until_ns:
            self.read_on()
        at = [
            int(np.searchsorted(rows["time_ns"], until_ns, side="right")) for rows in self._waiting
        ]
        near = Near(*(rows.iloc[:many] for rows, many in zip(self._waiting, at, strict=True)))
        later = (rows.iloc[many:] for rows, many in zip(self._waiting, at, strict=True))
        exits = softirqs[["cpu", "exit_ns"]].dropna().astype("int64").groupby("cpu")["exit_ns"]
        self._exits = pd.concat([self._exits, exits.max()]).groupby(level=0).max()
        self._waiting = Near(
            *(_appended(self._open(rows), more) for rows, more in zip(near, later, strict=True))
        )
        return near

    def _open(self, rows: pd.DataFrame) -> pd.DataFrame:
        # Those that a softirq may hold that is not over yet.
        exits = self._exits.reindex(rows["cpu"], fill_value=-_LATEST).to_numpy("int64")
        return rows[rows["time_ns"].to_numpy("int64") > exits].tail(_MOST)

    def receipts(self) -> pd.DataFrame:
        # Packets that were received and of which the next event came: of Packets.add(), those that
        # this did not return before, and those of softirqs that are yet to come.
        told = _joined(self._receipts)
        waiting = self._waiting.received["time_ns"]
        since_ns = int(waiting.iloc[0]) if len(waiting) else _LATEST
        self._receipts = [told[(told["start_ns"] >= since_ns).to_numpy(dtype=bool)]]
        return told

    def read_on(self) -> bool:
        # The next events of the capture; False where there are none.
        events = next(self._events, None)
        if events is None:
            self._receipts.append(self._packets.rest())
            self._read_ns = _LATEST
            return False
        of = {
            event: events.get(event, r.empty())
            for event in (r.RECEIVED, r.QUEUED, *r.TAKEN, r.FREED)
        }
        new = (
            of[r.RECEIVED],
            e.of_clients(events.get(self._of.woken, r.empty())),
            events.get(r.READY),
        )
        self._waiting = Near(
            *(
                _appended(rows, self._wanted(more, list(rows.columns)))
                for rows, more in zip(self._waiting, new, strict=True)
            )
        )
        if self._of.follows:
            taken = _joined([of[event] for event in r.TAKEN])
            told = self._packets.add(of[r.RECEIVED], of[r.QUEUED], taken, of[r.FREED])
            self._receipts.append(told[(told["start_ns"] >= self._since_ns).to_numpy(dtype=bool)])
        self._read_ns = max(int(rows["time_ns"].max()) for rows in events.values() if len(rows))
        return True

    def close(self) -> None:
        # Nothing is asked for any more.
        self._events.close()

    def _wanted(self, events: pd.DataFrame | None, columns: list[str]) -> pd.DataFrame:
        rows = r.empty() if events is None else events
        inside = (rows["time_ns"] >= self._since_ns) & rows["cpu"].isin(self._of.cpus)
        return rows.loc[inside.to_numpy(dtype=bool), columns]


def _kept(events: pd.DataFrame, *more: str) -> pd.DataFrame:
    # Of millions of events no more than is asked of them.
    return events[["time_ns", "cpu", "tid", "in_hardirq", "what", *more]]


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    some = [frame for frame in frames if len(frame)]
    return pd.concat(some, ignore_index=True) if some else frames[0]


def _appended(rows: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    return _joined([rows, more]).reset_index(drop=True)
