# The events near the softirqs of a batch, as both come.
#
#   softirqs | batch 1      | batch 2      |        of each CPU, in order of their exits
#   events   | read up to its last exit | ...       what lies behind its CPU's last exit waits

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from . import packet_events as e
from .packet_ends import Packets
from .softirq_owners import of_clients

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline

_LATEST = 2**63 - 1
# No softirq has so many events in it.
_MOST = 500_000
_KEPT = ["time_ns", "cpu", "tid", "in_hardirq", "what", "name"]


class EventWindow:
    # The events that can lie in softirqs whose batches are asked for one after the other: packets
    # received, tasks woken, and data announced on sockets. follow_packets: whether packets are to
    # be followed from one end to the other.
    def __init__(self, timeline: "Timeline", follow_packets: bool = True) -> None:
        recorded, summary = e.recorded_events(timeline.capture), timeline.summary
        known = follow_packets and not timeline.missing["clocks"]
        self.follows_packets = known and e.RECEIVED in recorded
        self.has_sockets = e.READY in recorded
        self._waking = e.WAKING if e.WAKING in recorded else e.WAKEUP
        wanted = [e.RECEIVED, self._waking, e.READY]
        wanted += [e.QUEUED, e.COPIED, e.CONSUMED, e.FREED] if self.follows_packets else []
        events = [event for event in wanted if event in recorded]
        self._batches = e.event_batches(timeline.capture, events)
        self._cpus, self._since_ns = summary["cpus"], int(summary["start_ns"])
        self._read_ns = -_LATEST
        kinds = ("received", "woken", "ready")
        self.waiting = {kind: e.no_events()[_KEPT] for kind in kinds}
        self.packets, self._receipts = Packets(), [Packets().rest()]
        self._exits = pd.Series(dtype="int64")

    def near(self, softirqs: pd.DataFrame) -> dict[str, pd.DataFrame]:
        # By kind the events near the next softirqs, by time.
        begins, ends = softirqs["entry_ns"].dropna(), softirqs["exit_ns"].dropna()
        if not len(begins) or not len(ends):
            return {kind: rows[:0] for kind, rows in self.waiting.items()}
        if self._read_ns == -_LATEST:
            self._since_ns = min(self._since_ns, int(begins.min()))
        until_ns = int(ends.max())
        while self._read_ns < until_ns:
            self.read_on()
        exits = softirqs[["cpu", "exit_ns"]].dropna().astype("int64").groupby("cpu")["exit_ns"]
        self._exits = pd.concat([self._exits, exits.max()]).groupby(level=0).max()
        near = {}
        for kind, rows in self.waiting.items():
            count = int(np.searchsorted(rows["time_ns"], until_ns, side="right"))
            near[kind] = rows.iloc[:count]
            # Those that may lie in a softirq that is not over yet.
            exit_ns = self._exits.reindex(near[kind]["cpu"], fill_value=-_LATEST).to_numpy("int64")
            is_open = near[kind]["time_ns"].to_numpy("int64") > exit_ns
            self.waiting[kind] = _joined([near[kind][is_open].tail(_MOST), rows.iloc[count:]])
        return near

    def receipts(self) -> pd.DataFrame:
        # The receipts of Packets that became known since the last call, and those in softirqs that
        # are yet to come.
        known = _joined(self._receipts)
        times = self.waiting["received"]["time_ns"]
        since_ns = int(times.iloc[0]) if len(times) else _LATEST
        self._receipts = [known[(known["start_ns"] >= since_ns).to_numpy(dtype=bool)]]
        return known

    def read_on(self) -> bool:
        # Read the capture's next events; False where there are none.
        batch = next(self._batches, None)
        if batch is None:
            self._receipts.append(self.packets.rest())
            self._read_ns = _LATEST
            return False
        none = e.no_events()
        received, queued, copied, consumed, freed, ready, woken = (
            batch.get(event, none)
            for event in (
                *(e.RECEIVED, e.QUEUED, e.COPIED, e.CONSUMED, e.FREED, e.READY, self._waking),
            )
        )
        new = {"received": received, "woken": of_clients(woken), "ready": ready}
        for kind, rows in new.items():
            inside = (rows["time_ns"] >= self._since_ns) & rows["cpu"].isin(self._cpus)
            kept = rows.loc[inside.to_numpy(dtype=bool), _KEPT]
            self.waiting[kind] = _joined([self.waiting[kind], kept])
        if self.follows_packets:
            known = self.packets.add(received, queued, _joined([copied, consumed]), freed)
            self._receipts.append(known[(known["start_ns"] >= self._since_ns).to_numpy(dtype=bool)])
        times = (int(rows["time_ns"].max()) for rows in batch.values() if len(rows))
        self._read_ns = max(times, default=self._read_ns)
        return True

    def close(self) -> None:
        # Nothing is asked for any more.
        self._batches.close()


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else frames[0]
