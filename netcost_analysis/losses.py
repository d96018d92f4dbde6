"""What each task lost: its time on CPU, what of it was its own, what a monitor would show."""

import re

import pandas as pd

from .accounting import Accounting, accounting
from .by import By, check_by, victim_keys
from .tally import (
    INTERRUPT_CONTEXTS,
    is_device,
    known_if,
    of_tasks,
    per_victim,
    per_victim_and,
    tally,
)
from .timeline import Timeline

_STOLEN = ("stolen", "stolen_or_synchronous")


def stolen(timeline: Timeline, by: By = "comm") -> pd.DataFrame:
    """Per victim, where its time on CPU went.

    by: "comm", "tid" or "cpu" ("device" is as "comm"). Returns a row per victim, falling by what it
    lost; all columns int64 ns except on_cpu_ns, task_ns, displaced_ns, monitor_ns (Int64, NA where
    unknown) and the shares (float, NaN where unknown):

    - on_cpu_ns: from switch-in to switch-out, whoever used it; task_ns: the part in which the task
      itself ran.
    - stolen_ns: interrupt-context time on top of it that came from an interrupt; stolen_max_ns adds
      stolen_or_synchronous_ns, which may have been its own. stolen_share, stolen_max_share: of
      on_cpu_ns.
    - stolen_hardirq_ns, stolen_vector_ns, stolen_nmi_ns and one stolen_softirq_<VEC>_ns per softirq
      (NET_RX with its polls): these add up to stolen_max_ns. stolen_device_<device>_ns: what can be
      laid at a device, its hardirqs and polls.
    - stolen_network_ns: of stolen_ns what is network; stolen_network_max_ns: of stolen_max_ns what
      may be.
    - synchronous_ns: softirqs it raised itself, on its own send or receive path. scheduled_ns:
      network work it did as a kthread, with the interrupts on top. displaced_ns: time it waited,
      runnable, while such a kthread had its CPU; NA without sched_switch
      or where the CPUs' clocks disagree.
    - unknown_ns: it was current, what ran is unknown.
    - monitor_ns: what utime + stime would say under the accounting of the bundle's kernel
      configuration, NA without one. Where interrupts are not charged and unknown_ns is not 0, it is
      an upper bound.

    Raises ValueError for another by, CaptureError as the timeline does. Source: the timeline's
    sums.
    """
    check_by(by)
    # Waiting is followed only when it is asked for; the same pass brings the sums.
    followed = timeline.has_switches and timeline.across_cpus
    displaced = timeline.displaced if followed else None
    rows = tally(timeline.sums(), by)
    bundle = timeline.capture.bundle
    regime = accounting(bundle.kernel_config) if bundle else None
    return stolen_from(rows, displaced, victim_keys(by), timeline.has_switches, regime)


def stolen_from(
    rows: pd.DataFrame,
    displaced: pd.DataFrame | None,
    keys: list[str],
    has_switches: bool,
    regime: Accounting | None,
) -> pd.DataFrame:
    # stolen() on what tally() returns. displaced: None where it is not known.
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
    frame["task_ns"] = known_if(has_switches, total(tasks[tasks["context"] == "task"]))
    frame["stolen_ns"] = total(surely)
    frame["stolen_or_synchronous_ns"] = total(taken[taken["cost_class"] == "stolen_or_synchronous"])
    frame["stolen_max_ns"] = total(taken)
    whole = frame["on_cpu_ns"].astype("Float64").astype("float64")
    frame["stolen_share"] = frame["stolen_ns"] / whole.where(whole > 0)
    frame["stolen_max_share"] = frame["stolen_max_ns"] / whole.where(whole > 0)
    frame["stolen_network_ns"] = total(surely[surely["is_network"] == "yes"])
    frame["stolen_network_max_ns"] = total(taken[taken["is_network"] != "no"])
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
    return frame.sort_values(["stolen_max_ns", "on_cpu_ns"], ascending=False, kind="stable")


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
