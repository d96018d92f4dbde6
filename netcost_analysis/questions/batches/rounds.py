# Back-to-back softirqs: which of them are rounds of one run of __do_softirq, and after which runs
# something was pending. Pure functions of frames.

import numpy as np
import pandas as pd

from ...spans import Flags, Ints, spans_of
from .common import in_order, int64, plain

# kernel/softirq.c, the same since 3.9.
MAX_SOFTIRQ_RESTART = 10
# A round follows the one before at once: what comes later than this was called anew. An
# interrupt's exit is as near.
AT_ONCE_NS = 20_000
# What is pending is served by the next run; where that one was not seen, by one of so many.
LATER_RUNS = 16


def runs_of(softirqs: pd.DataFrame, hardirqs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    # The softirqs that were seen whole, with call (the run's number, of all CPUs) and round (from
    # 1), and their runs, in order of call.
    rows = whole(softirqs)
    call, number = numbered(rows, interrupted(rows, hardirqs))
    rows = rows.assign(call=call, round=number)
    return rows, runs_from(rows)


def runs_from(rows: pd.DataFrame) -> pd.DataFrame:
    # The runs of whole() softirqs with their call and round, in order of call, as the rows are.
    calls = rows["call"].to_numpy(dtype="int64")
    firsts = np.flatnonzero(np.diff(calls, prepend=-1))
    of_first = rows[["cpu", "call", "in_kthread", "tid"]].take(firsts).reset_index(drop=True)
    start_ns = np.minimum.reduceat(int64(rows["entry_ns"]), firsts)
    end_ns = np.maximum.reduceat(int64(rows["exit_ns"]), firsts)
    rounds, net_rx, packets = (
        rows[name].to_numpy("int64") for name in ("round", "is_net_rx", "packets")
    )
    return pd.DataFrame(
        {
            "cpu": of_first["cpu"],
            "call": of_first["call"],
            "start_ns": start_ns,
            "end_ns": end_ns,
            "wall_ns": end_ns - start_ns,
            "in_kthread": of_first["in_kthread"].astype(bool),
            "tid": of_first["tid"].astype("Int64"),
            "comm": rows.groupby("call", sort=True)["comm"].first().reset_index(drop=True),
            "rounds_made": np.maximum.reduceat(rounds, firsts),
            "softirqs": np.diff(firsts, append=len(rows)),
            "net_rx": np.add.reduceat(net_rx, firsts),
            "packets": pd.array(np.add.reduceat(packets, firsts), dtype="Int64"),
        }
    )


def whole(softirqs: pd.DataFrame) -> pd.DataFrame:
    # Those that were seen from entry to exit, in order, with is_net_rx and at_exit (at_an_exit()):
    # names are compared here, where they are categories, which takes no time.
    rows = softirqs[softirqs["entry_ns"].notna() & softirqs["exit_ns"].notna()]
    is_net_rx = (rows["action"] == "NET_RX").to_numpy(dtype=bool)
    rows = plain(rows.assign(is_net_rx=is_net_rx, at_exit=at_an_exit(rows)))
    return in_order(rows, "cpu", "entry_ns", "ordinal")


def numbered(rows: pd.DataFrame, between: Flags) -> tuple[Ints, Ints]:
    # Of whole() softirqs the number of their run and, from 1, their round. between: whether
    # an interrupt came since the one before.
    #
    # A softirq goes on with the run before it on its CPU when the same task is current, it had been
    # raised before that one's exit, and it begins at once. pending is read once a round, and served
    # in order of the vectors: what has no higher number than the one before it, or was raised after
    # the round began, is of the next round. The eleventh is of the next run. So what a row's run is
    # hangs on no run before it, but for one that it goes on with.
    if not len(rows):
        return np.zeros(0, dtype="int64"), np.ones(0, dtype="int64")
    cpu, entry, leave = rows["cpu"].to_numpy(), int64(rows["entry_ns"]), int64(rows["exit_ns"])
    vec, raised, tid = rows["vec"].to_numpy(), int64(rows["raise_ns"]), int64(rows["tid"])
    goes_on = np.zeros(len(rows), dtype=bool)
    alone = rows["at_exit"].to_numpy(dtype=bool) & ~between
    before = np.where(raised[1:] >= 0, raised[1:] <= leave[:-1], alone[1:])
    same = (cpu[1:] == cpu[:-1]) & (tid[1:] == tid[:-1])
    goes_on[1:] = same & before & (entry[1:] - leave[:-1] <= AT_ONCE_NS)
    group = np.cumsum(~goes_on) - 1
    fresh = goes_on.copy()
    fresh[1:] &= (vec[1:] <= vec[:-1]) | (raised[1:] > entry[:-1])
    while True:
        opened = np.maximum.accumulate(np.where(fresh | ~goes_on, np.arange(len(rows)), 0))
        late = np.flatnonzero(goes_on & ~fresh & (raised > entry[opened]))
        # The first of a round opens the next, against which those behind it are held.
        first = np.ones(len(late), dtype=bool)
        first[1:] = opened[late[1:]] != opened[late[:-1]]
        if not len(late):
            break
        fresh[late[first]] = True
    total = np.cumsum(fresh)
    number = total - total[np.flatnonzero(~goes_on)][group]
    call = number // MAX_SOFTIRQ_RESTART
    new_run = ~goes_on
    new_run[1:] |= call[1:] != call[:-1]
    return np.cumsum(new_run) - 1, number % MAX_SOFTIRQ_RESTART + 1


def at_an_exit(rows: pd.DataFrame) -> Flags:
    # Without raises: softirqs that an interrupt's exit or ksoftirqd runs, as the preempt count
    # says. Where there is none (texts), those on an idle task: it runs none of its own accord.
    idle = (rows["origin"] == "unknown") & (rows["tid"] == 0).fillna(False)
    return ((rows["origin"] == "irq") | idle).to_numpy(dtype=bool)


def interrupted(rows: pd.DataFrame, hardirqs: pd.DataFrame) -> Flags:
    # Whether an interrupt began and ended between each of the rows and the one before it.
    cpu, entry = rows["cpu"].to_numpy(), int64(rows["entry_ns"])
    since = entry.copy()
    since[1:] = int64(rows["exit_ns"])[:-1]
    of_both = hardirqs[hardirqs["entry_ns"].notna() & hardirqs["exit_ns"].notna()]
    of_both = in_order(of_both, "cpu", "exit_ns")
    last = spans_of(of_both, "exit_ns", "exit_ns", "cpu").last_begun(cpu, entry)
    found = last >= 0
    found[found] = int64(of_both["entry_ns"])[last[found]] >= since[found]
    return found


def pending_after(rows: pd.DataFrame, runs: pd.DataFrame) -> Flags:
    # Whether a softirq of one of the LATER_RUNS on its CPU had been raised before the run's end.
    pending = np.zeros(len(runs), dtype=bool)
    raises = rows[rows["raise_ns"].notna()]
    raised, own = int64(raises["raise_ns"]), raises["call"].to_numpy()
    run = spans_of(runs, group="cpu").last_begun(raises["cpu"].to_numpy(), raised)
    ends, calls = int64(runs["end_ns"]), runs["call"].to_numpy()
    later = own - calls[run]
    pending[run[(run >= 0) & (raised <= ends[run]) & (later > 0) & (later <= LATER_RUNS)]] = True
    return pending
