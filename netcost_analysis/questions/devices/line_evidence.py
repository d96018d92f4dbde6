# What the NET_RX softirqs polled that each interrupt line raised, summed over batches.

import numpy as np
import pandas as pd

from ...spans import spans_of
from ..batches.arrivals import BACK, Arrivals
from ..batches.common import int64, plain
from ..inputs import added

TABLES = ("hardirqs", "softirqs", "polls")
READ = {
    "hardirqs": ["cpu", "context", "irq", "name", "entry_ns", "exit_ns"],
    "softirqs": ["cpu", "ordinal", "action", "raise_ns", "entry_ns", "exit_ns"],
    "polls": ["cpu", "softirq_ordinal", "device"],
}
_KEYS = ["cpu", "ordinal"]
_LINE = ["irq", "name"]


class Evidence:
    # devices: all that were polled.
    def __init__(self) -> None:
        self.devices: set[str] = set()
        # By number: rows tell devices apart by it.
        self._names: list[str] = []
        self._arrivals = Arrivals()
        # Which devices a softirq polled, of those that are yet to come or wait.
        self._seen: pd.DataFrame | None = None
        # By CPU the last softirq that came.
        self._came: pd.Series[int] | None = None
        # Without an exit: their polls may come later.
        self._open: pd.DataFrame | None = None
        self._of_open: pd.DataFrame | None = None
        # By line, and by line and device: how many softirqs.
        self._raised: pd.DataFrame | None = None
        self._polled: pd.DataFrame | None = None

    def add(self, hardirqs: pd.DataFrame, softirqs: pd.DataFrame, polls: pd.DataFrame) -> None:
        self.devices.update(map(str, polls["device"].dropna().unique()))
        seen = pd.concat([self._seen, self._polls(polls)], ignore_index=True)
        came = softirqs.groupby("cpu")["ordinal"].max()
        self._came = pd.concat([self._came, came]).groupby(level=0).max()
        rows, handlers = self._arrivals.add(_raises(softirqs), _handlers(hardirqs))
        self._take(rows, handlers, seen)
        waiting = self._arrivals.waiting
        assert waiting is not None
        first = waiting.groupby("cpu")["ordinal"].min().reindex(self._came.index)
        since = seen["cpu"].map(first.fillna(self._came + 1)).fillna(0)
        self._seen = seen[seen["ordinal"] >= since]

    def raisers(self) -> pd.DataFrame:
        # By irq, name and device (null without any): raised and polled softirqs. A softirq is the
        # line's whose handler ran on that CPU when it was raised. raised is that of the line, in
        # each of its rows.
        rows, handlers = self._arrivals.rest()
        last = _matched(rows, handlers)
        open_ = pd.concat([self._open, last[last["is_open"]]])
        seen = pd.concat([self._seen, self._of_open])
        raised = added(self._raised, _counted(last, _LINE, "raised"))
        late = pd.concat([open_, last[~last["is_open"]]])
        polled = added(self._polled, _counted(_polling(late, seen), [*_LINE, "device"], "polled"))
        raised, polled = raised.reset_index(), polled.reset_index()
        polled["device"] = pd.Series(self._names, dtype=object).reindex(polled["device"]).to_numpy()
        return raised.merge(polled, on=_LINE, how="left")

    def _take(self, rows: pd.DataFrame, handlers: pd.DataFrame, seen: pd.DataFrame) -> None:
        found = _matched(rows, handlers)
        self._raised = added(self._raised, _counted(found, _LINE, "raised"))
        self._open = pd.concat([self._open, found[found["is_open"]]])
        whole = _polling(found[~found["is_open"]], seen)
        self._polled = added(self._polled, _counted(whole, [*_LINE, "device"], "polled"))
        of_open = seen.merge(self._open[_KEYS], on=_KEYS)
        self._of_open = pd.concat([self._of_open, of_open]).drop_duplicates()

    def _polls(self, polls: pd.DataFrame) -> pd.DataFrame:
        # Those of a known device in a softirq: cpu, ordinal, device (its number).
        names = polls["device"].astype("category")
        self._names += [one for one in map(str, names.cat.categories) if one not in self._names]
        numbers = np.array([*map(self._names.index, map(str, names.cat.categories)), -1])
        device = numbers[names.cat.codes.to_numpy()]
        inside = (device >= 0) & polls["softirq_ordinal"].notna().to_numpy()
        of = polls[inside]
        found = {"cpu": of["cpu"].to_numpy(), "ordinal": int64(of["softirq_ordinal"])}
        return pd.DataFrame({**found, "device": device[inside]})


def _polling(rows: pd.DataFrame, seen: pd.DataFrame) -> pd.DataFrame:
    # Softirqs with each of the devices that they polled, which they may have done several times.
    return rows.merge(seen, on=_KEYS).drop_duplicates([*_KEYS, "device"])


def _raises(softirqs: pd.DataFrame) -> pd.DataFrame:
    rows = softirqs[(softirqs["action"] == "NET_RX") & softirqs["raise_ns"].notna()]
    entry = rows["entry_ns"].fillna(rows["exit_ns"]).fillna(rows["raise_ns"])
    return pd.DataFrame(
        {
            "cpu": rows["cpu"],
            "ordinal": rows["ordinal"],
            "raise_ns": rows["raise_ns"].astype("int64"),
            "entry_ns": entry.astype("int64"),
            "exit_ns": rows["exit_ns"].fillna(entry).astype("int64"),
            "is_open": rows["exit_ns"].isna(),
        }
    )


def _handlers(hardirqs: pd.DataFrame) -> pd.DataFrame:
    whole = hardirqs["entry_ns"].notna() & hardirqs["exit_ns"].notna() & hardirqs["irq"].notna()
    ran = plain(hardirqs[(hardirqs["context"] == "hardirq") & whole])
    times = {"entry_ns": "int64", "exit_ns": "int64", "irq": "int64"}
    return ran[["cpu", "entry_ns", "exit_ns", "irq", "name"]].astype(times)


def _matched(rows: pd.DataFrame, handlers: pd.DataFrame) -> pd.DataFrame:
    # The softirqs that were raised in a handler: cpu, ordinal, irq, name, is_open.
    cpu, raised = rows["cpu"].to_numpy(dtype="int64"), rows["raise_ns"].to_numpy(dtype="int64")
    spans = spans_of(handlers, "entry_ns", "exit_ns", "cpu")
    last = spans.last_begun(cpu, raised)
    before = spans.last_begun(cpu, rows["exit_ns"].to_numpy(dtype="int64")) - last
    ends = np.append(handlers["exit_ns"].to_numpy(dtype="int64"), -1)
    here = (last >= 0) & (ends[last] >= raised) & (before < BACK)
    found = rows.loc[here, [*_KEYS, "is_open"]].reset_index(drop=True)
    return found.join(handlers[_LINE].iloc[last[here]].reset_index(drop=True))


def _counted(rows: pd.DataFrame, keys: list[str], name: str) -> pd.DataFrame:
    return rows.groupby(keys, dropna=False).size().to_frame(name)
