# What perf stat counted of each CPU: rates, and ratios of these.

from typing import Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...capture.bundle import Bundle
from ...snapshots.counters import counters
from ...snapshots.perf_stat import COUNTED, NOT_SUPPORTED, PerfStat, counted_in, plain_event
from ...timeline.reading import once

# By column what is divided by thousands of instructions.
PER_1000 = {
    "cache_misses_per_1000": "cache-misses",
    "llc_misses_per_1000": "LLC-load-misses",
    "branch_misses_per_1000": "branch-misses",
    "dtlb_misses_per_1000": "dTLB-load-misses",
    "frontend_stalls_per_1000": "stalled-cycles-frontend",
    "backend_stalls_per_1000": "stalled-cycles-backend",
}
PER_PACKET = {
    "cycles_per_packet": "cycles",
    "instructions_per_packet": "instructions",
    "cache_misses_per_packet": "cache-misses",
}
# What the kernel counts by itself, on any machine.
PER_SECOND = {
    "context_switches_per_s": "context-switches",
    "cpu_migrations_per_s": "cpu-migrations",
    "page_faults_per_s": "page-faults",
}
_OF_PROCESSOR = ("cycles", "instructions", *PER_1000.values(), "cache-references", "branches")
# Of a CPU that had fewer packets no figure for each.
_FEWEST = 100


@once
def counted(bundle: Bundle) -> PerfStat:
    # As parsers.perf_stat has it; events by their plain names.
    found = counted_in(bundle, "counters")
    return PerfStat(found.frame.assign(event=found.frame["event"].map(plain_event)), found.notes)


def require_counters(bundle: Bundle) -> None:
    # Raises CaptureError where perf stat counted nothing.
    if not (counted(bundle).frame["outcome"] == COUNTED).any():
        raise CaptureError(
            "the processor's counters were not measured: netcost-record --profile light,counters "
            "has perf stat read them; virtual machines have few or none"
        )


@once
def by_cpu(bundle: Bundle) -> pd.DataFrame:
    # A row per CPU; figures of events that were not counted there are NaN.
    frame = counted(bundle).frame
    frame = frame[frame["outcome"] == COUNTED]
    # CPUs that perf added up are none. Of a hybrid processor an event is several PMUs' in turn.
    numbers = frame.assign(cpu=frame["cpu"].fillna(-1).astype("int64"))
    keys = ["cpu", "event", "start_s", "end_s"]
    each = numbers.groupby(keys).agg({"value": "sum", "running_share": "min"}).reset_index()
    each["seconds"] = each["end_s"] - each["start_s"]
    each["ran"] = each["running_share"] * each["seconds"]
    sums = each[each["seconds"] > 0].groupby(["cpu", "event"])[["value", "seconds", "ran"]].sum()
    rates, shares = ((sums[name] / sums["seconds"]).unstack("event") for name in ("value", "ran"))
    packets = _packets(bundle).reindex(rates.index)
    rows = [_row(cpu, rates.loc[cpu], shares.loc[cpu], packets.loc[cpu]) for cpu in rates.index]
    return pd.DataFrame(rows)


def _row(
    cpu: int, rates: "pd.Series[float]", shares: "pd.Series[float]", packets: "pd.Series[float]"
) -> dict[str, Any]:
    def rate(event: str) -> float:
        return float(rates.get(event, np.nan))

    instructions, cycles = rate("instructions"), rate("cycles")
    per_s = float(packets["per_s"]) if packets["packets"] >= _FEWEST else np.nan
    own = [shares[event] for event in _OF_PROCESSOR if event in shares]
    return {
        "cpu": None if cpu < 0 else cpu,
        "cycles_per_s": cycles,
        "ipc": _over(instructions, cycles),
        **{name: _over(1_000 * rate(event), instructions) for name, event in PER_1000.items()},
        "softnet_packets_per_s": float(packets["per_s"]),
        **{name: _over(rate(event), per_s) for name, event in PER_PACKET.items()},
        **{name: rate(event) for name, event in PER_SECOND.items()},
        "running_share": min((one for one in own if one == one), default=np.nan),
    }


def _over(value: float, of: float) -> float:
    return value / of if of > 0 else float("nan")


def _packets(bundle: Bundle) -> pd.DataFrame:
    # By CPU the packets that /proc/net/softnet_stat counted, and a second.
    columns = ["packets", "per_s"]
    frame = counters(bundle, "softnet_stat")
    if "processed" not in frame:
        return pd.DataFrame(columns=columns, dtype="float64")
    ends = frame.sort_values("at_ns").groupby("cpu")[["at_ns", "processed"]].agg(["first", "last"])
    packets = (ends["processed"]["last"] - ends["processed"]["first"]).astype("float64")
    seconds = (ends["at_ns"]["last"] - ends["at_ns"]["first"]) / 1e9
    known = packets.where((packets >= 0) & (seconds > 0))
    return pd.DataFrame({"packets": known, "per_s": known / seconds.where(seconds > 0)})


def not_supported(bundle: Bundle) -> list[str]:
    # The processor's events that no CPU counted.
    frame = counted(bundle).frame
    there = set(frame.loc[frame["outcome"] == COUNTED, "event"])
    asked = frame.loc[frame["outcome"] == NOT_SUPPORTED, "event"]
    return [event for event in dict.fromkeys(asked) if event not in there]
