# Every figure of an answer that has a range, by what it is of: its low and its high end as the
# answer and docs/definitions.md ("What a capture without some events cannot say") give them; None
# where it is absent.

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pandas as pd

from netcost_analysis import CaptureError, Timeline
from netcost_analysis.capture.requires import unrecorded
from netcost_analysis.questions.completeness.unrecorded import note_of
from netcost_analysis.questions.devices import device_cost, device_time
from netcost_analysis.timeline.by import By
from support.asked import effective_share, ledger, lifetimes, network_cost, stolen

Range = tuple[float, float] | None
Ranges = dict[tuple[str, ...], Range]
_SOFTIRQS = {"irq:softirq_entry", "irq:softirq_exit"}
_BOUNDS = {*_SOFTIRQS, "irq:irq_handler_entry", "irq:irq_handler_exit"} | {
    f"irq_vectors:{name}_{end}"
    for name in ("local_timer", "reschedule", "call_function_single")
    for end in ("entry", "exit")
}
_POLLS = {"napi:napi_poll"}
_SWITCHES = {"sched:sched_switch"}


# The events that the recording says it has not, or not all of.
def lacking(line: Timeline) -> set[str]:
    events = line.capture.header["events"]
    hidden = {str(one["name"]) for one in events if one["filter"]}
    return hidden | set(unrecorded(line.capture, *_BOUNDS, *_POLLS, *_SWITCHES))


def _range(low: Any, high: Any) -> Range:
    return None if pd.isna(low) or pd.isna(high) else (float(low), float(high))


def _of_stolen(line: Timeline, by: By) -> Ranges:
    found: Ranges = {}
    # What interrupts took that no event bounds is in the time that the task is said to have run.
    open_ = bool(lacking(line) & _BOUNDS)
    for name, row in stolen(line, by).victims.iterrows():
        unknown, own = row["unknown_max_ns"], row["task_ns"]
        either = row["stolen_or_synchronous_ns"] + unknown + row["stolen_unrecorded_ns"]
        either += own if open_ else 0
        least = 0 if open_ else own - row["stolen_unrecorded_ns"]
        more = unknown + (own if open_ else 0)
        # Whose work softirqs are, of that none is stolen that nobody saw.
        if row["scheduled_ns"] and note_of(line):
            least = 0
        ends = {
            "stolen": (row["stolen_ns"], row["stolen_max_ns"] + more),
            "network": (row["stolen_network_ns"], row["stolen_network_max_ns"] + more),
            "on CPU": (row["on_cpu_ns"], row["on_cpu_ns"] - row["unknown_ns"] + unknown),
            "task": (least, own + unknown),
            "synchronous": (row["synchronous_ns"], row["synchronous_ns"] + either),
            "scheduled": (row["scheduled_ns"], row["scheduled_ns"] + more),
        }
        # Without switches nobody knows how long a kernel thread ran.
        if line.missing["on_cpu"]:
            ends["scheduled"] = (pd.NA, pd.NA)
        found |= {("stolen", str(name), one): _range(*pair) for one, pair in ends.items()}
    return found


# Polls that were not recorded are in NET_RX: thieves of one softirq are compared together; and
# without what shows a line's device its name stands alone.
def _thief(name: str) -> str:
    if name.startswith("irq "):
        return name.partition(" (")[0]
    network = name.endswith(" poll") or name.startswith(("NET_RX", "RPS dispatch"))
    return "NET_RX" if network else name.removesuffix(", not recorded")


def _of_ledger(line: Timeline, by: By) -> Ranges:
    matrix, losses = ledger(line, by), stolen(line, by).victims
    without = lacking(line)
    least, most = (frame.T.groupby(_thief).sum().T for frame in (matrix.ns, matrix.max_ns))
    found: Ranges = {}
    # Cell by cell out of a frame takes most of the time.
    low_ends = least.to_dict("index")
    for victim, highs in most.to_dict("index").items():
        more = losses.loc[victim, "unknown_max_ns"]
        if without & _BOUNDS:
            more += losses.loc[victim, "task_ns"]
        for thief, high in highs.items():
            low = low_ends[victim][thief]
            found["ledger", str(victim), str(thief)] = _range(low, high + more)
    return found


def _of_effective(line: Timeline, by: By) -> Ranges:
    found: Ranges = {}
    open_ = bool(lacking(line) & _BOUNDS)
    for name, row in effective_share(line, by).iterrows():
        for one in ("effective", "monitor", "overcharged"):
            low, high = row[f"{one}_share"], row[f"{one}_max_share"]
            if open_ and one == "effective":
                low = 0 * low
            elif open_ and one == "overcharged":
                high = high + row["effective_share"]
            found["share", str(name), one] = _range(low, high)
    return found


def _of_lifetimes(line: Timeline, by: By) -> Ranges:
    found: Ranges = {}
    without = lacking(line)
    losses = stolen(line, by).victims
    # Time of softirqs that has no upper end is a lower bound; what is left of a wait, an upper one.
    proved = bool(note_of(line))
    for name, row in lifetimes(line, by).iterrows():
        found["life", str(name), "lifetime"] = _range(row["lifetime_ns"], row["lifetime_max_ns"])
        either = row["stolen_or_synchronous_ns"]
        waited = row["displaced_ns"] + row["waited_others_ns"]
        ends = {
            "own": (row["own_ns"], row["own_ns"]),
            "stolen": (row["stolen_ns"], row["stolen_ns"] + either),
            "synchronous": (row["synchronous_ns"], row["synchronous_ns"] + either),
            "scheduled": (row["scheduled_ns"], row["scheduled_ns"]),
            "waited": (waited, waited),
            "displaced": (row["displaced_ns"],) * 2,
            "others": (row["waited_others_ns"],) * 2,
            "asleep": (row["asleep_ns"], row["asleep_ns"]),
        }
        for one, (low, high) in ends.items():
            # What it ran, or softirqs that the kernel counted; and others that no event bounds.
            if one in ("own", "stolen", "synchronous"):
                high += row["stolen_unrecorded_ns"]
            if without & _BOUNDS:
                low -= row["own_ns"] if one == "own" else 0
                high += row["own_ns"] if one in ("stolen", "synchronous") else 0
            # Where displaced is not known it is among what was waited for others.
            unsure = pd.isna(losses.loc[name, "displaced_ns"]) or proved or without & _SOFTIRQS
            if unsure and one in ("displaced", "others"):
                low, high = row["displaced_ns"] * (one == "displaced"), waited
            found["life", str(name), one] = _range(low, high + row["unaccounted_ns"])
    return found


def _of_network(line: Timeline) -> Ranges:
    cost = network_cost(line)
    # A lower bound where the answer says what was not recorded, or a note that it was filtered.
    hidden = {str(one["name"]) for one in line.capture.header["events"] if one["filter"]}
    open_ = bool(cost.not_recorded or note_of(line) or hidden & (_BOUNDS | _SWITCHES))
    rows = cost.of_cpus.rename(index=str)
    found: Ranges = {}
    whole = vars(cost) | {"unknown_share": cost.unknown_cpu_share}
    for of, row in [("all", whole), *rows.iterrows()]:
        high = row["network_cpu_max_share"] + row["unknown_share"]
        found["network", of] = _range(row["network_cpu_share"], 1 if open_ else high)
    return found


# Of each time of a device its upper end.
_DEVICE_TIMES = {
    "hardirq_ns": "hardirq_max_ns",
    "poll_ns": "poll_max_ns",
    "outside_polls_ns": "max_ns",
}
_DEVICE_TIMES |= {"ns": "max_ns"}


def _of_devices(line: Timeline) -> Ranges:
    unknown = network_cost(line).of_cpus
    without = lacking(line)
    found: Ranges = {}
    rows = device_time(line).frame
    # What a poll that nobody saw took is in its softirq.
    missed = bool((rows["poll_max_ns"] > rows["poll_ns"]).any()) or bool(without & _POLLS)
    for _, row in rows.iterrows():
        of = unknown.loc[row["cpu"]]
        more = of["window_ns"] if without & (_BOUNDS | _POLLS) else 0
        more += of["unknown_share"] * of["window_ns"]
        # A line whose device nothing shows any more is a row of its own.
        if row["kind"] == "line":
            continue
        device = "of none" if pd.isna(row["device"]) else str(row["device"])
        # Without polls a softirq is not told from RPS's dispatch.
        for one, most in _DEVICE_TIMES.items():
            low, high = 0 * row[one] if device == "of none" and missed else row[one], row[most]
            high = row[one] if pd.isna(high) and without & _POLLS else high
            key = ("device", device, str(row["cpu"]), one)
            before = found.get(key) or (0, 0)
            ends = _range(low, high + more)
            found[key] = ends and (ends[0] + before[0], ends[1] + before[1])
    return found


def _of_cost(line: Timeline) -> Ranges:
    if line.capture.bundle is None:
        return {}
    rows = device_cost(line).frame
    priced = rows[rows["device"].isin(["eth0", "eth1"])]
    return {
        ("price", str(row["device"]), one): _range(row[one], row[one])
        for _, row in priced.iterrows()
        for one in ("ns_per_packet", "ns_per_byte")
    }


_OF_VICTIMS = (_of_stolen, _of_ledger, _of_effective, _of_lifetimes)
_OF_CPUS = (_of_network, _of_devices, _of_cost)


def ranges(line: Timeline, by: By = "comm") -> Ranges:
    found: Ranges = {}
    asked: list[Callable[[], Ranges]] = [partial(one, line, by) for one in _OF_VICTIMS]
    asked += [partial(one, line) for one in _OF_CPUS]
    for one in asked:
        with suppress(CaptureError):
            found |= one()
    return found


# What the new range does not contain, with what it was and is: of an old range at least a part, for
# the truth is in both. Who no longer has a row has no figure; what took nothing must not be said to
# have taken.
def untrue(old: Ranges, new: Ranges) -> dict[tuple[str, ...], tuple[Range, Range]]:
    wrong = {}
    for of, now in new.items():
        nothing = (0.0, 0.0) if of[0] == "ledger" else None
        was = old.get(of, nothing)
        if was is None or now is None:
            continue
        slack = 1e-9 * max(1.0, abs(was[1]))
        if now[0] > was[1] + slack or now[1] < was[0] - slack:
            wrong[of] = (was, now)
    return wrong
