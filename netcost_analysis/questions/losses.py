"""What each task lost: its time on CPU, what of it was its own, what a monitor would show."""

import re
from typing import Any

import pandas as pd

from ..capture.accounting import Accounting, accounting
from ..timeline.aggregate import (
    INTERRUPT_CONTEXTS,
    is_device,
    known_if,
    of_tasks,
    per_victim,
    per_victim_and,
)
from ..timeline.by import By, check_by, victim_keys
from ..timeline.timeline import Timeline
from ..units import absent
from .completeness.unrecorded import Unrecorded, prepare, unrecorded_ns
from .question import question

_STOLEN = ("stolen", "stolen_or_synchronous")


@question(
    topic="stolen_time",
    main_columns=(
        "comm",
        "stolen_share",
        "stolen_ns",
        "on_cpu_ns",
        "task_ns",
        "stolen_network_ns",
        "displaced_ns",
    ),
)
def stolen(timeline: Timeline, by: By = "comm") -> pd.DataFrame:
    """Per victim, where its time on CPU went.

    by: "comm", "tid" or "cpu" ("device" is as "comm"). Returns a row per victim, falling by what it
    lost; all columns int64 ns except on_cpu_ns, task_min_ns, task_ns, displaced_ns, monitor_ns
    (Int64, NA where unknown) and the shares (float, NaN where unknown):

    - on_cpu_ns: from switch-in to switch-out, whoever used it; task_ns: the part in which the task
      itself ran; task_min_ns: without stolen_unrecorded_ns.
    - stolen_ns: interrupt-context time on top of it that came from an interrupt; stolen_max_ns adds
      stolen_or_synchronous_ns, which may have been its own, and stolen_unrecorded_ns: of the time
      that it is said to have run, what interrupts and softirqs may have had that the kernel counted
      and no event shows (0 where no count proves any missing). stolen_share, stolen_max_share: of
      on_cpu_ns.
    - stolen_hardirq_ns, stolen_vector_ns, stolen_nmi_ns and one stolen_softirq_<VEC>_ns per softirq
      (NET_RX with its polls): with stolen_unrecorded_ns these add up to stolen_max_ns.
      stolen_device_<device>_ns: what can be laid at a device, its hardirqs and polls.
    - stolen_network_ns: of stolen_ns what is network; stolen_network_max_ns: of stolen_max_ns what
      may be; stolen_network_share, stolen_network_max_share: of on_cpu_ns.
    - stolen_own_ns: of stolen_network_ns what softirqs worked on the victim's own packets, as their
      sockets or the packets name the owner; stolen_own_max_ns: all of its softirqs that may have,
      but for another's for certain. NA where neither was recorded.
    - synchronous_ns: softirqs it raised itself, on its own send or receive path. scheduled_ns:
      network work it did as a kthread, with the interrupts on top. displaced_ns: time it waited,
      runnable, while such a kthread had its CPU; NA without sched_switch
      or where the CPUs' clocks disagree.
    - unknown_ns: it was current, what ran is unknown. unknown_max_ns adds what it may have been on
      a CPU that nobody is known to have had, between its stays and while it was there; by name all
      of that where events were lost, for tasks of that name may have lived there unseen: each
      victim's upper bound by itself, they do not add up.
    - monitor_ns: what utime + stime would say under the accounting of the bundle's kernel
      configuration, NA without one. Where interrupts are not charged and unknown_ns is not 0, it is
      an upper bound.

    Raises ValueError for another by, CaptureError as the timeline does. Source: the timeline's
    sums; the counters beside the trace.
    """
    check_by(by)
    prepare(timeline)
    # Waiting is followed only when it is asked for; the same pass brings the sums.
    displaced = timeline.displaced if timeline.displaced_known else None
    rows = timeline.tally(by)
    bundle = timeline.capture.bundle
    regime = accounting(bundle.kernel_config) if bundle else None
    keys = victim_keys(by)
    missing = unrecorded_ns(timeline, by)
    frame = stolen_from(rows, displaced, keys, timeline.has_switches, regime, missing)
    frame.insert(
        list(frame).index("unknown_ns") + 1,
        "unknown_max_ns",
        frame["unknown_ns"] + _unseen(timeline, rows, keys).reindex(frame.index, fill_value=0),
    )
    return _with_own(frame, timeline, by)


def shares_of(row: "pd.Series[Any]") -> "pd.Series[float]":
    """Each time of a victim of stolen() as a share of its time on CPU; NaN where that is unknown.

    Returns them under the columns' names without "_ns".
    """
    ns = row[[name for name in map(str, row.index) if name.endswith("_ns")]].astype("Float64")
    whole = ns["on_cpu_ns"]
    shares = ns / whole if not absent(whole) and whole > 0 else ns * float("nan")
    return shares.astype("float64").rename(lambda name: str(name).removesuffix("_ns"))


def summed(rows: pd.DataFrame, nobodys_ns: int) -> "pd.Series[Any]":
    """Several victims of stolen() as one; a column that is unknown for one is unknown for all.

    nobodys_ns: time whose task is not known: upper bounds of one stretch of time do not add up.
    """
    total = rows.sum(skipna=False)
    total["unknown_max_ns"] = min(total["unknown_max_ns"], total["unknown_ns"] + nobodys_ns)
    shares = shares_of(total)
    for name in ("stolen", "stolen_max"):
        total[f"{name}_share"] = shares[name]
    return total


def _with_own(frame: pd.DataFrame, timeline: Timeline, by: By) -> pd.DataFrame:
    from .processes.own import own_stolen, owners_recorded

    own = None
    if owners_recorded(timeline.capture):
        own = own_stolen(timeline, by).reindex(frame.index, fill_value=0)
    place = list(frame).index("stolen_network_max_ns") + 1
    for offset, name in enumerate(("own_ns", "own_max_ns")):
        ns = pd.Series(0, index=frame.index) if own is None else own[name]
        frame.insert(place + offset, f"stolen_{name}", known_if(own is not None, ns))
    return frame


def _unseen(timeline: Timeline, rows: pd.DataFrame, keys: list[str]) -> "pd.Series[int]":
    # What each victim may have had of the time whose task is not known, by its keys.
    nobodys = rows[rows["tid"].isna()]
    if "cpu" in keys or not timeline.has_switches or not nobodys["ns"].sum():
        part = nobodys if "cpu" in keys else nobodys[:0]
        return part.groupby(keys)["ns"].sum().astype("int64")
    # Only here: it takes the table of stays, and most captures lost nothing.
    unseen = timeline.lives.groupby(keys)["unseen_ns"].sum()
    whole = int(nobodys["ns"].sum())
    if "tid" not in keys and timeline.recorded not in (None, 1):
        # Tasks of any name may have lived within what was lost.
        return unseen.clip(lower=whole, upper=whole)
    # The sum over the tasks of a name can be more than was lost at all.
    return unseen.clip(upper=whole)


def stolen_from(
    rows: pd.DataFrame,
    displaced: pd.DataFrame | None,
    keys: list[str],
    has_switches: bool,
    regime: Accounting | None,
    missing: Unrecorded,
) -> pd.DataFrame:
    # stolen() on what tally() returns. displaced: None where it is not known. missing: as
    # unrecorded_ns() returns it.
    tasks = of_tasks(rows)
    interrupts = rows[rows["context"].isin(INTERRUPT_CONTEXTS)]
    taken = interrupts[interrupts["cost_class"].isin(_STOLEN)]
    surely = taken[taken["cost_class"] == "stolen"]
    waiting = tasks[:0] if displaced is None else displaced.astype({"comm": object})
    index = pd.concat([tasks, taken, waiting])[keys].drop_duplicates().set_index(keys).index

    def total(part: pd.DataFrame) -> "pd.Series[int]":
        return per_victim(part, keys, index)

    frame = pd.DataFrame(index=index)
    frame["on_cpu_ns"] = known_if(has_switches, total(tasks))
    own = known_if(has_switches, total(tasks[tasks["context"] == "task"]))
    frame["task_min_ns"], frame["task_ns"] = missing.least(own), own
    frame["stolen_ns"] = total(surely)
    frame["stolen_or_synchronous_ns"] = total(taken[taken["cost_class"] == "stolen_or_synchronous"])
    frame["stolen_unrecorded_ns"] = missing.of(index)
    frame["stolen_max_ns"] = total(taken) + frame["stolen_unrecorded_ns"]
    whole = frame["on_cpu_ns"].astype("Float64").astype("float64")
    frame["stolen_share"] = frame["stolen_ns"] / whole.where(whole > 0)
    frame["stolen_max_share"] = frame["stolen_max_ns"] / whole.where(whole > 0)
    frame["stolen_network_ns"] = total(surely[surely["is_network"] == "yes"])
    perhaps = total(taken[taken["is_network"] != "no"])
    frame["stolen_network_max_ns"] = perhaps + missing.of(index, missing.network)
    for part in ("stolen_network", "stolen_network_max"):
        frame[f"{part}_share"] = frame[f"{part}_ns"] / whole.where(whole > 0)
    for context in ("hardirq", "vector", "nmi"):
        frame[f"stolen_{context}_ns"] = total(taken[taken["context"] == context])
    softirqs = taken[taken["context"].isin(["softirq", "poll"])]
    frame = frame.join(_by_softirq(softirqs, keys, index))
    frame = frame.join(_by_device(taken[taken["device"].map(is_device).astype(bool)], keys, index))
    frame["synchronous_ns"] = total(interrupts[interrupts["cost_class"] == "synchronous"])
    frame["scheduled_ns"] = total(tasks[tasks["cost_class"] == "scheduled"])
    frame["displaced_ns"] = known_if(displaced is not None, total(waiting))
    frame["unknown_ns"] = total(tasks[tasks["context"] == "unknown"])
    frame["monitor_ns"] = _monitor(tasks, frame["on_cpu_ns"], regime, keys, index)
    # By what was seen: what may be missing is laid on each in turn.
    order = pd.DataFrame({"seen": total(taken), "on_cpu": frame["on_cpu_ns"]})
    order = order.reset_index(drop=True)
    order = order.sort_values(["seen", "on_cpu"], ascending=False, kind="stable")
    return frame.iloc[order.index]


def _by_softirq(rows: pd.DataFrame, keys: list[str], index: pd.Index) -> pd.DataFrame:
    # A poll runs inside NET_RX; with busy polling it has no segment at all.
    vector = rows["name"].astype(object).where(rows["context"] == "softirq", "NET_RX")
    wide = per_victim_and("vector", rows.assign(vector=vector.fillna("unnamed")), keys, index)
    return wide.rename(columns=lambda name: f"stolen_softirq_{_word(name)}_ns")


def _by_device(rows: pd.DataFrame, keys: list[str], index: pd.Index) -> pd.DataFrame:
    wide = per_victim_and("device", rows.assign(device=rows["device"].astype(object)), keys, index)
    return wide.rename(columns=lambda name: f"stolen_device_{name}_ns")


def _word(name: object) -> str:
    return re.sub(r"\W+", "_", str(name))


def _monitor(
    tasks: pd.DataFrame,
    on_cpu_ns: "pd.Series[int]",
    regime: Accounting | None,
    keys: list[str],
    index: pd.Index,
) -> "pd.Series[int]":
    if regime is None:
        return known_if(False, on_cpu_ns)
    return on_cpu_ns - per_victim(tasks[~_charged(tasks, regime)], keys, index)


def _charged(rows: pd.DataFrame, regime: Accounting) -> "pd.Series[bool]":
    # Which segments the kernel charges to the task that was current. NMIs are charged under every
    # regime, as are polls of NAPI's own kthreads: those run with bottom halves off but not in
    # softirq context.
    comm = rows["comm"].astype(str)
    in_softirq = (rows["context"] == "softirq") | (
        (rows["context"] == "poll") & ~comm.str.startswith(("napi/", "backlog_napi/"))
    )
    in_ksoftirqd = in_softirq & comm.str.startswith("ksoftirqd/")
    charged = pd.Series(True, index=rows.index)
    charged[rows["context"].isin(["hardirq", "vector"])] = regime.hardirq
    charged[in_softirq & ~in_ksoftirqd] = regime.softirq
    charged[in_ksoftirqd] = regime.ksoftirqd
    return charged
