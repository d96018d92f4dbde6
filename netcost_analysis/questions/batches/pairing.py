# Softirqs with their run, round, raiser and polls, over batches: each is told when nothing that
# comes can change what is said of it.
#
#   a CPU's runs   | told | told |  the last told  | so many that may yet be seen to have ended with
#                  |  forgotten  |    is kept      | something pending; the last one may go on
#
# Polls come no later than their softirq, and softirqs in the order of their ordinals.

from typing import NamedTuple

import numpy as np
import pandas as pd

from ...spans import Spans
from ..grouped import sums_by
from .common import in_order, int64, plain
from .raisers import PAYLOAD, Raisers
from .rounds import AT_ONCE_NS, LATER_RUNS, numbered, pending_after, runs_from, whole

TABLES = ("softirqs", "hardirqs", "polls")
_KEYS = ["cpu", "ordinal"]
# What of a run's first softirq and of the run tells who raised those without a raise.
_AT = [f"at_{name}" for name in PAYLOAD]
_RUN = ["start_ns", "before_ns"]


class Settled(NamedTuple):
    # What is settled, each once, by CPU and time. chains: the NET_RX, with what softirq_chains()
    # says of each, call being the number of the run on its CPU. runs: as runs_from() has them, with
    # still_pending and such a call. polled: polls by softirq and device: cpu, ordinal, device,
    # polls, known (whose time and packets are known), last_known (1 where those of the last are).
    chains: pd.DataFrame
    runs: pd.DataFrame
    polled: pd.DataFrame


class Pairing:
    # record: gaps, across which nothing is measured (record_gaps()); None to measure all.
    def __init__(self, record: Spans | None = None) -> None:
        self._raisers = Raisers(record)
        self._rows = self._polled = pd.DataFrame()
        # By CPU: how many runs were told, and which softirq came last.
        self._told: pd.Series[int] = pd.Series(dtype="int64")
        self._seen: pd.Series[int] = pd.Series(dtype="int64")

    def add(self, softirqs: pd.DataFrame, hardirqs: pd.DataFrame, polls: pd.DataFrame) -> Settled:
        # The next batch of the three tables; returns what it settles.
        more = _counted(polls)
        self._polled = _together(pd.concat([self._polled, more])) if len(self._polled) else more
        seen = softirqs.groupby("cpu")["ordinal"].max()
        self._seen = pd.concat([self._seen, seen]).groupby(level=0).max()
        matched = self._raisers.add(whole(softirqs), hardirqs)
        told, self._rows = self._settled(matched, LATER_RUNS + 1)
        waiting = pd.concat([self._rows[~self._rows["told"]], self._raisers.waiting])
        first = waiting.groupby("cpu")["ordinal"].min().reindex(self._seen.index)
        since = self._polled["cpu"].map(first.fillna(self._seen + 1)).fillna(0)
        gone = (self._polled["ordinal"] < since).to_numpy(dtype=bool)
        leaving, self._polled = self._polled[gone], self._polled[~gone]
        more_told = told.runs.groupby("cpu").size()
        self._told = self._told.add(more_told, fill_value=0).astype("int64")
        return told._replace(polled=leaving)

    def rest(self) -> Settled:
        # What is left when nothing comes any more.
        told, _ = self._settled(self._raisers.rest(), 0)
        return told._replace(polled=self._polled)

    def _settled(self, matched: pd.DataFrame, later: int) -> tuple[Settled, pd.DataFrame]:
        # What has so many runs behind it on its CPU, and the rows to keep.
        rows = pd.concat([self._rows, matched.assign(told=False)], ignore_index=True)
        rows = in_order(rows, "cpu", "entry_ns", "ordinal")
        rows = rows.astype(dict.fromkeys(("told", "between", "is_net_rx", "at_exit"), bool))
        number, rows["round"] = numbered(rows, rows["between"].to_numpy())
        rows["call"] = number
        runs = runs_from(rows)
        runs["still_pending"] = pending_after(rows, runs)
        runs["before_ns"] = runs.groupby("cpu")["end_ns"].shift().fillna(-1).astype("int64")
        behind = runs.groupby("cpu").cumcount(ascending=False).to_numpy()
        firsts = np.searchsorted(number, np.arange(len(runs)))
        is_new = (behind >= later) & ~rows["told"].to_numpy()[firsts]
        # On its CPU: the last one that was told is there.
        before = runs["cpu"].map(self._told).fillna(1).to_numpy(dtype="int64") - 1
        runs["call"] = runs.groupby("cpu").cumcount().to_numpy() + before
        rows["call"] = runs["call"].to_numpy()[number]
        here = np.flatnonzero(is_new[number] & rows["is_net_rx"].to_numpy())
        of = number[here]
        chains = _raised(rows.iloc[here], rows[_AT].iloc[firsts[of]], runs[_RUN].iloc[of])
        rows["told"] = (behind >= later)[number]
        kept = rows[(behind <= later)[number]].reset_index(drop=True)
        new = runs[is_new].drop(columns="before_ns").reset_index(drop=True)
        return Settled(self._chains(chains), new, pd.DataFrame()), kept

    def _chains(self, rows: pd.DataFrame) -> pd.DataFrame:
        rows = rows.merge(_devices(self._polled), on=_KEYS, how="left")
        rows["raise_delay_ns"] = rows["entry_ns"].astype("Int64") - rows["raise_ns"].astype("Int64")
        rows["wall_ns"] = (rows["exit_ns"] - rows["entry_ns"]).astype("int64")
        rows["poll_ns"] = rows["self_ns"] - rows["outside_polls_ns"]
        rows["nested_ns"] = rows["wall_ns"] - rows["self_ns"]
        rows["devices"] = rows["devices"].fillna(0).astype("Int64")
        return rows.rename(columns={"irq_name": "name"})


def _raised(rows: pd.DataFrame, firsts: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    # NET_RX with what raised them: the interrupt in which their first raise stands. Without raises,
    # the one whose exit their run began at: the last one, if nothing but that exit lay between.
    # Else one that was not recorded raised it. firsts: the first softirq of each one's run.
    rows = rows.reset_index(drop=True)
    run_ns, ended = int64(runs["start_ns"]), int64(firsts["at_irq_exit_ns"])
    unraised = rows["raise_ns"].isna().to_numpy(dtype=bool) & rows["at_exit"].to_numpy()
    here = unraised & ~rows["in_kthread"].to_numpy(dtype=bool) & (rows["round"] == 1).to_numpy()
    here &= (ended >= 0) & (ended >= int64(runs["before_ns"])) & (run_ns - ended <= AT_ONCE_NS)
    for name in PAYLOAD if here.any() else ():
        rows[name] = rows[name].where(~here, firsts[f"at_{name}"].reset_index(drop=True))
    return rows


def _counted(polls: pd.DataFrame) -> pd.DataFrame:
    inside = polls["softirq_ordinal"].notna().to_numpy(dtype=bool)
    rows = plain(polls.loc[inside, ["cpu", "softirq_ordinal", "device", "self_ns", "work"]])
    known = (rows["self_ns"].notna() & rows["work"].notna()).astype("int64")
    table = pd.DataFrame(
        {
            "cpu": rows["cpu"],
            "ordinal": int64(rows["softirq_ordinal"]),
            "device": rows["device"],
            "polls": 1,
            "known": known,
            "last_known": known,
        }
    )
    return _together(table)


def _together(polled: pd.DataFrame) -> pd.DataFrame:
    # In the order in which a softirq polled its devices.
    keys = [*_KEYS, "device"]
    again = polled.duplicated(keys, keep="last").to_numpy()
    if not again.any():
        return polled.reset_index(drop=True)
    counts = sums_by(polled[keys], {name: polled[name].to_numpy() for name in ("polls", "known")})
    # Of each device all polls but the last are followed by another one.
    last = polled.loc[~again, [*keys, "last_known"]]
    return counts.reset_index().merge(last, on=keys)


def _devices(polled: pd.DataFrame) -> pd.DataFrame:
    # The first device of each softirq, and how many: a row is of one of them.
    named = polled[polled["device"].notna()]
    first = named.drop_duplicates(_KEYS)[[*_KEYS, "device"]].reset_index(drop=True)
    if len(first) == len(named):
        return first.assign(devices=1)
    return first.assign(devices=named.groupby(_KEYS, sort=False).size().to_numpy())
