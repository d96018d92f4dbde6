"""The answer of the report: whose CPU time, how much of it was taken, by what."""

from pathlib import Path

import pandas as pd

from .errors import AbsentError, no_task
from .tally import INTERRUPT_CONTEXTS, of_tasks, tally
from .timeline import Timeline

# TASK_COMM_LEN without its NUL.
_COMM_LENGTH = 15
# A victim's time on CPU in the order it is told: its own, then what was taken, then the rest.
PARTS = (
    *("own", "stolen_network", "stolen_maybe_network", "stolen_other", "stolen_or_synchronous"),
    *("synchronous", "scheduled", "unknown"),
)
_STOLEN = ("stolen", "stolen_or_synchronous")


def choose_victim(
    timeline: Timeline, losses: pd.DataFrame, wanted: str | None = None
) -> str | None:
    """The task a report is about, by comm.

    losses: what stolen() returns for the timeline. wanted: a comm, None to choose: the bundle's
    victim where it has one and it ran in the window, else the task that lost most, else the one
    longest on CPU; None where no task was seen. Raises ValueError, with the nearest names, when the
    wanted one did not run.
    """
    names = [str(name) for name in losses.index]
    if wanted is not None:
        if wanted in names:
            return wanted
        raise AbsentError(no_task(wanted, names))
    return _recorded_victim(timeline, names) or (names[0] if names else None)


def _recorded_victim(timeline: Timeline, names: list[str]) -> str | None:
    victim = timeline.capture.bundle.victim if timeline.capture.bundle else None
    if victim is None:
        return None
    # The pid is a shell's where the command needs one; then the program has the command's name.
    command = str(victim.get("command") or "").split()
    called = Path(command[0]).name[:_COMM_LENGTH] if command else ""
    if called in names:
        return called
    sums, pid = timeline.sums(), victim.get("pid")
    if not isinstance(pid, int):
        return None
    own = sums[(sums["tid"] == pid).fillna(False).astype(bool)]
    by_comm = own.groupby(own["comm"].astype(str))["ns"].sum()
    return str(by_comm.idxmax()) if len(by_comm) else None


def kinds_of(rows: pd.DataFrame) -> "pd.Series[str]":
    """What ran in each row of segments or sums, in the classes that pictures tell apart.

    rows: with columns context and is_network. Returns the context, with "softirq_other" for a
    softirq that is no network's, or not for certain; same index.
    """
    context = rows["context"].astype(object)
    network = rows["is_network"].astype(object) == "yes"
    return context.where(~((context == "softirq") & ~network), "softirq_other")


def parts_of(sums: pd.DataFrame, victim: str) -> pd.DataFrame:
    """Where a victim's time on CPU went: a partition of it.

    sums: of a timeline. Returns columns part (one of PARTS, in that order, those that occur) and ns
    (int64); ns adds up to the victim's on_cpu_ns of stolen(), where sched_switch was recorded.
    """
    rows = _of(sums, victim)
    part = pd.Series("own", index=rows.index, dtype=object)
    part[rows["context"] == "unknown"] = "unknown"
    inside = rows["context"].isin(INTERRUPT_CONTEXTS)
    network = rows["is_network"].map({"yes": "network", "unknown": "maybe_network"}).fillna("other")
    for cost_class in ("synchronous", "scheduled", "stolen_or_synchronous"):
        part[inside & (rows["cost_class"] == cost_class)] = cost_class
    part[inside & (rows["cost_class"] == "stolen")] = "stolen_" + network
    ns = rows.groupby(part)["ns"].sum()
    present = [name for name in PARTS if ns.get(name, 0)]
    return pd.DataFrame({"part": present, "ns": [int(ns[name]) for name in present]})


def thieves_of(sums: pd.DataFrame, victim: str | None) -> pd.DataFrame:
    """What took a victim's time, most first.

    sums: of a timeline. victim: None for nobody. Returns a row per thief: thief (as in the ledger),
    kind (of kinds_of), device (None where it has none), is_network (yes, no, unknown), ns (int64,
    stolen for certain), max_ns (with what may have been the victim's own traffic), episodes
    (stretches of time).
    """
    rows = _of(sums, victim)
    taken = rows[rows["context"].isin(INTERRUPT_CONTEXTS) & rows["cost_class"].isin(_STOLEN)]
    taken = taken.assign(
        kind=kinds_of(taken),
        device=taken["device"].astype(object),
        max_ns=taken["ns"],
        ns=taken["ns"].where(taken["cost_class"] == "stolen", 0),
    )
    keys = ["thief", "kind", "device", "is_network"]
    frame = taken.groupby(keys, dropna=False)[["ns", "max_ns", "episodes"]].sum().reset_index()
    frame["device"] = frame["device"].astype(object).where(frame["device"].notna(), None)
    return frame.sort_values("max_ns", ascending=False, kind="stable", ignore_index=True)


def over_time(sums: pd.DataFrame, victim: str | None) -> pd.DataFrame:
    """A victim's time on CPU by bin and by what ran.

    sums: of a timeline, with bins. victim: None for all tasks. Returns bin_ns (start of the bin),
    kind (of kinds_of; "synchronous" and "scheduled" for interrupt-context time that was not
    stolen), ns (int64), one row for each pair that occurs.
    """
    rows = of_tasks(tally(sums, "comm")) if victim is None else _of(sums, victim)
    kind = kinds_of(rows)
    inside = rows["context"].isin(INTERRUPT_CONTEXTS)
    kept = inside & ~rows["cost_class"].isin(_STOLEN)
    kind = kind.where(~kept, rows["cost_class"])
    frame = pd.DataFrame({"bin_ns": sums["bin_ns"].loc[rows.index], "kind": kind, "ns": rows["ns"]})
    return frame.groupby(["bin_ns", "kind"])["ns"].sum().reset_index()


def _of(sums: pd.DataFrame, victim: str | None) -> pd.DataFrame:
    rows = of_tasks(tally(sums, "comm"))
    return rows[rows["comm"] == victim]


def cpus_of(sums: pd.DataFrame, victim: str | None) -> list[int]:
    """The CPUs on which a victim was seen, the one with most of its time first."""
    rows = of_tasks(tally(sums, "comm")) if victim is None else _of(sums, victim)
    by_cpu = rows.groupby("cpu")["ns"].sum().sort_values(ascending=False, kind="stable")
    return [int(cpu) for cpu in by_cpu.index]
