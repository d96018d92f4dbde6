"""The answer of the report: whose CPU time, how much of it was taken, by what."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ...errors import AbsentError, no_task
from ...timeline.aggregate import INTERRUPT_CONTEXTS, of_tasks
from ...timeline.timeline import Timeline
from ...units import absent
from ..losses import shares_of

# Of the time on CPU: less than this waited is left to the tables.
_WORTH_SAYING = 0.005
# TASK_COMM_LEN without its NUL.
_COMM_LENGTH = 15
# A victim's time on CPU in the order it is told: its own, then what was taken, then the rest.
PARTS = (
    *("own", "stolen_network", "stolen_maybe_network", "stolen_other", "stolen_or_synchronous"),
    *("synchronous", "scheduled", "unknown"),
)


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


def parts_of(timeline: Timeline, victim: str) -> pd.DataFrame:
    """Where a victim's time on CPU went: a partition of it.

    Returns columns part (one of PARTS, in that order, those that occur), ns (int64) and share (NaN
    without sched_switch); ns adds up to the victim's on_cpu_ns of stolen(), where that is known.
    """
    rows = _of(timeline, victim)
    part = pd.Series("own", index=rows.index, dtype=object)
    part[rows["context"] == "unknown"] = "unknown"
    inside = rows["context"].isin(INTERRUPT_CONTEXTS)
    network = rows["is_network"].map({"yes": "network", "unknown": "maybe_network"}).fillna("other")
    for cost_class in ("synchronous", "scheduled", "stolen_or_synchronous"):
        part[inside & (rows["cost_class"] == cost_class)] = cost_class
    part[inside & (rows["cost_class"] == "stolen")] = "stolen_" + network
    ns = rows.groupby(part)["ns"].sum()
    present = [name for name in PARTS if ns.get(name, 0)]
    frame = pd.DataFrame({"part": present, "ns": [int(ns[name]) for name in present]})
    whole = frame["ns"].sum() if timeline.has_switches else float("nan")
    return frame.assign(share=frame["ns"] / whole)


def _of(timeline: Timeline, victim: str | None) -> pd.DataFrame:
    # Of all tasks for None.
    rows = of_tasks(timeline.tally())
    return rows if victim is None else rows[rows["comm"] == victim]


def cpus_of(timeline: Timeline, victim: str | None) -> list[int]:
    """The CPUs on which a victim was seen, the one with most of its time first."""
    by_cpu = (
        _of(timeline, victim).groupby("cpu")["ns"].sum().sort_values(ascending=False, kind="stable")
    )
    return [int(cpu) for cpu in by_cpu.index]


@dataclass(frozen=True)
class Headline:
    """What the headline says of a victim beyond its row of stolen().

    shares: of shares_of(). devices: what each took at most, most first; backlog_ns: what polls
    without a device did. unseen_ns, waited_ns, unrecorded_ns: what else may have been its time,
    what it waited off CPU, what the kernel counted and no event shows; each 0 where that is too
    little to be said. undercharged_ns: what of its time on CPU a monitor leaves out;
    overcharged_ns: what it shows that the victim did not run; None where a monitor's is unknown.
    """

    shares: dict[str, float]
    devices: "pd.Series[int]"
    backlog_ns: int
    unseen_ns: int
    waited_ns: int
    unrecorded_ns: int
    undercharged_ns: int | None
    overcharged_ns: int | None


def headline(row: "pd.Series[Any]", thieves: pd.DataFrame) -> Headline:
    """The headline's figures. row: of stolen(), the victim's. thieves: of by_thief()."""
    device = thieves["device"]
    by_device = thieves[device.notna() & (device != "(no_device)")].groupby("device")
    whole = 0 if absent(row["on_cpu_ns"]) else int(row["on_cpu_ns"])

    def worth(ns: Any) -> int:
        ns = 0 if absent(ns) else int(ns)
        return ns if ns >= _WORTH_SAYING * whole else 0

    shown = row["monitor_ns"]
    known = not absent(shown)
    return Headline(
        shares=shares_of(row),
        devices=by_device["stolen_max_ns"].sum().sort_values(ascending=False),
        backlog_ns=int(thieves.loc[device == "(no_device)", "stolen_max_ns"].sum()),
        unseen_ns=worth(row["unknown_max_ns"] - row["unknown_ns"]) if whole else 0,
        waited_ns=worth(row["displaced_ns"]),
        unrecorded_ns=worth(row["stolen_unrecorded_ns"]),
        undercharged_ns=whole - int(shown) if known else None,
        overcharged_ns=int(shown) - int(row["task_ns"]) if known else None,
    )
