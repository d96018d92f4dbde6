# When each task was there, and what it did while it had no CPU. A task under a name is a life: one
# that executes a program goes on as another.

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from ...spans import Ints, Spans
from ...timeline.aggregate import of_tasks
from .facts import Bools, Facts, facts_of
from .settling import COLUMNS, ENDS, POOLED, of_several_names, settled
from .stays import ANY_CPU, everywhere, stays_of

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline

_STAY = ("tid", "cpu", "in_ns", "out_ns")


def lives_of(timeline: "Timeline") -> pd.DataFrame:
    """A row per task's number and name that had a CPU in the window: tid, comm, COLUMNS and ENDS.

    lifetime_max_ns: the window, cut where it surely began and ended; lifetime_ns: without the ends
    at which nobody knows whether it was there; on_cpu_ns; waited_ns (runnable without a CPU) and
    asleep_ns, as far as they are known; unseen_ns: of the rest what it may have been on a CPU that
    nobody is known to have had; twice_ns: of on_cpu_ns what it is shown on two CPUs at once, which
    is in no lifetime: a CPU's time before its first event goes to whom that shows, also where that
    one was still elsewhere; tasks: how many tasks had that number and name. All int64.
    begun_ns, done_ns (Int64): from when to when it surely was there; NA of a name that a task had
    for a part of a stay only. Timeline.lives keeps the frame.
    """
    stays, facts, rows = _told(timeline)
    return settled(lives_from(stays, facts), rows)


def away_of(timeline: "Timeline") -> pd.DataFrame:
    """What each task did before each of its stays, as lives_of() has it: a row per stay.

    Columns: tid; cpu and in_ns of the stay; comm, its name then; start_ns and end_ns: from when to
    when it waited, within the window, where waited_ns is not 0; and others of COLUMNS.
    """
    stays, facts, _ = _told(timeline)
    return away_from(stays, facts)[0]


def names_then(waits: pd.DataFrame, away: pd.DataFrame, at: str = "in_ns") -> "pd.Series[str]":
    """Under which name each wait began; its own comm where that is not known.

    waits: cpu, tid, comm and, as at, when the stay began that ended it. away: as away_of() returns
    it.
    """
    names = away.set_index(["cpu", "tid", "in_ns"])["comm"]
    keys = pd.MultiIndex.from_frame(waits[["cpu", "tid", at]].astype("int64"))
    return pd.Series(names.reindex(keys).to_numpy(), index=waits.index).fillna(waits["comm"])


def _told(timeline: "Timeline") -> tuple[pd.DataFrame, Facts, pd.DataFrame]:
    # The stays of all tasks, what their lives are cut by, and the sums.
    whole = everywhere(timeline)
    every, rows = stays_of(whole), of_tasks(whole.tally("tid")).astype({"tid": "int64"})
    facts, stays = facts_of(whole, every), of_tasks(every).reset_index(drop=True)
    if facts.lost:
        facts = replace(facts, mixed=of_several_names(stays, rows, facts.window))
    return stays, facts, rows


def lived_by(timeline: "Timeline", by: str) -> pd.DataFrame:
    """lifetime_ns, lifetime_max_ns (Int64) by victim, what shares of wall time are of; twice_ns.

    by: "comm", "tid" or "cpu", of which it is the window. No rows of tasks without sched_switch.
    """
    names = ["lifetime_ns", "lifetime_max_ns", "twice_ns"]
    if by == "cpu":
        cpus = pd.Index(timeline.summary["cpus"], name="cpu")
        whole = pd.DataFrame(timeline.duration_ns, index=cpus, columns=names).astype("Int64")
        return whole.assign(twice_ns=0)
    keys = ["tid", "comm"] if by == "tid" else ["comm"]
    if timeline.missing["on_cpu"]:
        index = (
            pd.MultiIndex.from_arrays([[]] * 2, names=keys)
            if by == "tid"
            else pd.Index([], name="comm")
        )
        return pd.DataFrame(columns=names, index=index, dtype="Int64")
    return timeline.lives.groupby(keys)[names].sum().astype("Int64")


def twice_of(timeline: "Timeline") -> pd.DataFrame:
    """What each stay is shown of its task on two CPUs at once: tid, comm, cpu, twice_ns (int64)."""
    stays, facts, _ = _told(timeline)
    begins, ends = (facts.inside(stays[name].to_numpy()) for name in ("in_ns", "out_ns"))
    twice_ns = _not_before(begins, ends, _apart(stays, facts).fresh) - begins
    return stays[["tid", "comm", "cpu"]].assign(twice_ns=twice_ns)


def lives_from(stays: pd.DataFrame, facts: Facts) -> pd.DataFrame:
    # lives_of() on what stays_of() returns, without the idle tasks, before it is settled().
    if not len(stays):
        names = [*COLUMNS, *POOLED, *ENDS]
        return pd.DataFrame(columns=["tid", "comm", *names]).astype(dict.fromkeys(names, int))
    apart = _apart(stays, facts)
    done, surely_done = _done(stays.iloc[apart.last], apart.birth[apart.last], apart.born, facts)
    begins, ends = (facts.inside(stays[name].to_numpy()) for name in ("in_ns", "out_ns"))
    on = stays[["tid", "comm"]].assign(task=apart.task, on_cpu_ns=ends - begins)
    on["twice_ns"] = _not_before(begins, ends, apart.fresh) - begins
    on["lifetime_ns"] = on["lifetime_max_ns"] = on["on_cpu_ns"]
    on["begun_ns"], on["done_ns"] = _not_before(begins, ends, apart.fresh), ends
    on["whole_ns"] = on["on_cpu_ns"] - on["twice_ns"]
    last = stays.iloc[apart.last].assign(task=apart.task[apart.last])
    tails = _tails(last, done, surely_done, facts)
    every = pd.concat([*away_from(stays, facts), on, tails]).groupby(["tid", "comm"])
    lives = every[[*COLUMNS[:-1], *POOLED]].sum().astype("int64")
    lives["begun_ns"], lives["done_ns"] = every["begun_ns"].min(), every["done_ns"].max()
    return lives.assign(tasks=every["task"].nunique()).reset_index()


class _Apart(NamedTuple):
    # Stays told apart by task. born: births by number; of each stay birth, the place of its task's
    # (-1 for none), fresh, whether it is its first, and task, its number; last: places of last
    # stays.
    born: Spans
    birth: Ints
    fresh: Bools
    task: Ints
    last: Ints


def _not_before(entered: Ints, left: Ints, fresh: Bools) -> Ints:
    # Since when each stay is its task's only one: not before the end of the one before.
    before = np.where(fresh, entered, np.append(entered[:1], left[:-1]))
    return np.maximum(entered, before)


def _apart(stays: pd.DataFrame, facts: Facts) -> _Apart:
    tid = stays["tid"].to_numpy("int64")
    born = Spans(facts.events.born_tids, facts.events.born_ns, facts.events.born_ns)
    # Where a switch was not recorded, a stay can begin before its own task did.
    birth = born.last_begun(tid, stays["out_ns"].to_numpy("int64"))
    fresh = np.ones(len(tid), dtype=bool)
    fresh[1:] = (tid[1:] != tid[:-1]) | (birth[1:] != birth[:-1])
    last = np.append(fresh[1:], True)[: len(fresh)].nonzero()[0]
    return _Apart(born, birth, fresh, np.cumsum(fresh) - 1, last)


def away_from(stays: pd.DataFrame, facts: Facts) -> tuple[pd.DataFrame, pd.DataFrame]:
    # What each task did before each of its stays, as away_of() has it; and what of that was under
    # another name, where it executed a program unseen.
    tid, cpu, entered, left = (stays[name].to_numpy("int64") for name in _STAY)
    born, birth, fresh, task, _ = _apart(stays, facts)
    first = np.flatnonzero(fresh)
    known = stays["wait_ns"].to_numpy() >= 0
    waited_from = entered - np.where(known, stays["wait_ns"].to_numpy(), 0)
    begun, surely_begun = _begun(tid[first], birth[first], born, waited_from[first], facts)
    # Since its task had a CPU last, or since it is there.
    entered, left, waited_from = (facts.inside(at) for at in (entered, left, waited_from))
    entered = _not_before(entered, left, fresh)
    before = np.append(entered[:1], left[:-1])
    since = np.where(fresh, begun[task], before)
    surely_since = np.where(fresh, surely_begun[task], before)
    asleep_until = np.maximum(waited_from, since)
    came_from = np.where(fresh, cpu, np.append(cpu[:1], cpu[:-1]))
    unseen = facts.unseen(came_from, cpu, since, asleep_until)
    lost_from, lost_until = facts.lost_within(since, asleep_until)
    lost = lost_from < asleep_until
    slept_first = np.append(False, stays["asleep"].to_numpy()[:-1]) & ~fresh & known & lost
    slept_before = np.where(slept_first, np.maximum(lost_from - since, 0), 0)
    # Who was not there yet did not sleep.
    slept_from = np.maximum(surely_since, np.where(lost, lost_until, since + unseen))
    slept_last = np.where(known, np.maximum(asleep_until - slept_from, 0), 0)
    names, own = facts.names_before(stays, birth, fresh), stays["comm"]
    renamed = lost & (names != own).to_numpy()
    two = renamed & names.notna().to_numpy()
    # Where stays have several names, its last is not the one that it came back with.
    nameless = renamed & np.isin(tid, facts.mixed)
    known, slept_last = known & ~nameless, np.where(nameless, 0, slept_last)
    sure_since = np.where(renamed, np.maximum(surely_since, lost_until), surely_since)
    sure_since = np.where(nameless, entered, sure_since)
    away = pd.DataFrame(
        {
            "tid": tid,
            "cpu": cpu,
            "in_ns": stays["in_ns"],
            "comm": names.mask(renamed).fillna(own),
            "task": task,
            "start_ns": asleep_until,
            "end_ns": entered,
            "lifetime_ns": entered - sure_since,
            "lifetime_max_ns": entered - np.where(two, lost_from, since),
            "waited_ns": np.where(known, entered - asleep_until, 0),
            "asleep_ns": slept_last + np.where(two, 0, slept_before),
            "unseen_ns": unseen,
            "whole_ns": entered - since,
            "lost_ns": asleep_until - lost_from,
            "begun_ns": np.minimum(sure_since, entered),
            "done_ns": entered,
        }
    )
    other = away.assign(
        comm=names,
        lifetime_ns=lost_from - surely_since,
        lifetime_max_ns=lost_until - since,
        waited_ns=0,
        asleep_ns=slept_before,
        **dict.fromkeys(("unseen_ns", *POOLED), 0),
        begun_ns=np.minimum(surely_since, lost_from),
        done_ns=lost_from,
    )
    ends = ["lifetime_ns", "lifetime_max_ns", "waited_ns", *POOLED]
    away[ends], other[ends] = away[ends].clip(lower=0), other[ends].clip(lower=0)
    return away, other[two]


def _begun(tid: Ints, birth: Ints, born: Spans, seen: Ints, facts: Facts) -> tuple[Ints, Ints]:
    # When a task may have begun, at the earliest and at the latest. seen: its first sign of life.
    start, end = facts.window
    seen = facts.inside(seen)
    at = born.starts[birth] if len(born.starts) else np.full(len(tid), start)
    earliest = np.where(birth >= 0, at, start)
    told = facts.events.of_bundle
    whose = np.zeros(len(tid), dtype=bool)
    if told is not None:
        whose = (tid == told[0]) & (birth < 0) & (told[1] <= seen)
        earliest = np.where(whose, told[1], earliest)
    earliest = np.minimum(earliest.clip(start, end), seen)
    nobody = np.full(len(tid), ANY_CPU)
    there = facts.holes.within(nobody, earliest, seen) == 0
    known = (birth >= 0) | whose | (there & facts.events.births_known)
    return earliest, np.where(known, earliest, seen)


def _done(last: pd.DataFrame, birth: Ints, born: Spans, facts: Facts) -> tuple[Ints, Ints]:
    # When a task may have ended, at the latest and at the earliest. last: its last stays.
    start, end = facts.window
    tid, left = last["tid"].to_numpy(), last["out_ns"].to_numpy()
    out = left.clip(start, end)
    events = facts.events
    died = Spans(events.died_tids, events.died_ns, events.died_ns)
    # A number is given away again only after its task has ended.
    again = born.last_begun(tid, np.full(len(tid), end)) != birth
    following = np.full(len(tid), end)
    following[again] = _next(born, tid[again], birth[again])
    place = died.last_begun(tid, following)
    exited = died.starts[place] if len(died.starts) else np.full(len(tid), start)
    # The event comes before its last switch-out, so a stay begun before it is its last.
    gone = (place >= 0) & (exited >= last["in_ns"].to_numpy())
    dead = last["dead"].to_numpy() & (left <= end)
    latest = np.where(dead, out, np.where(gone, np.maximum(exited, out), end))
    latest = np.minimum(latest, np.maximum(following, out))
    told = events.of_bundle
    if told is not None:
        whose = (tid == told[0]) & ~gone & ~dead & (told[2] >= out)
        latest = np.where(whose, np.clip(told[2], out, end), latest)
        gone = gone | whose
    there = facts.holes.within(np.full(len(tid), ANY_CPU), out, latest) == 0
    # Whoever ends must run to do so: who has left a CPU alive and came to none since is there.
    alive = last["asleep"].to_numpy() | last["runnable"].to_numpy()
    known = dead | gone | (left >= end)
    known |= there & ~again & (events.deaths_known | (alive & facts.all_cpus))
    # Whoever ended unseen may have executed a program before.
    surely, _ = facts.lost_within(out, latest)
    return latest, np.where(known, surely, out)


def _next(born: Spans, tid: Ints, birth: Ints) -> Ints:
    # When a task's number was given to the next one.
    first = born.firsts[np.searchsorted(born.names, tid)]
    following: Ints = born.starts[np.where(birth >= 0, birth + 1, first)]
    return following


def _tails(last: pd.DataFrame, done: Ints, surely_done: Ints, facts: Facts) -> pd.DataFrame:
    # What each task did after its last stay, until its end or the window's.
    out, cpu = facts.inside(last["out_ns"].to_numpy()), last["cpu"].to_numpy()
    unseen = facts.unseen(cpu, cpu, out, done)
    sure = (unseen == 0) & (done == surely_done)
    woken = done
    if facts.wakes is not None:
        at = np.array([facts.wakes.get(tid, -1) for tid in last["tid"].tolist()])
        woken = np.where((at > out) & (at < done), at, done)
    slept = np.where(sure & last["asleep"] & (facts.wakes is not None), woken - out, 0)
    waited = np.where(sure & last["runnable"], done - out, np.where(slept > 0, done - woken, 0))
    return pd.DataFrame(
        {
            "tid": last["tid"],
            "comm": last["comm"],
            "task": last["task"],
            "lifetime_ns": np.maximum(surely_done - out, 0),
            "lifetime_max_ns": np.maximum(done - out, 0),
            "waited_ns": waited,
            "asleep_ns": slept,
            "unseen_ns": unseen,
            "whole_ns": np.maximum(done - out, 0),
            "lost_ns": np.maximum(done - facts.lost_within(out, done)[0], 0),
            "begun_ns": out,
            "done_ns": np.maximum(surely_done, out),
        }
    )
