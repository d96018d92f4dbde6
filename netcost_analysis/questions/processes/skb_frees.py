# Where the data of packets is freed: by which task, on which CPU, in a system call or in a softirq;
# and whether a kernel defers that to the CPU that allocated it, by its settings.

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.question import Answer, question
from ...capture.capture import Capture
from ...frames import most_first
from ...parsers.kallsyms import parse_kallsyms
from ...parsers.settings import parse_sysctls
from ...timeline.owners import of_tasks, plain_names
from ...timeline.reading import added, bounds_of, once
from ...timeline.timeline import Timeline
from .traffic import endpoints

# What frees a packet's data: its large ones by kfree, its small ones into a cache of their own.
_FUNCTIONS = r"(?:skb_release_data|skb_free_head|skb_kfree_head)(?:\.[^+]*)?"
EVENTS = ("kmem:kfree", "kmem:kmem_cache_free")
_NO_FREES = pd.DataFrame({"tid": [], "cpu": []}, dtype="int64").assign(comm="", context="")
_KEYS = ["side", "tid", "comm", "context", "cpu"]
_INTERRUPTS = ["softirq", "hardirq"]
_DROPPED = "skb:kfree_skb"
# common_flags: in a hardirq, in a softirq (TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ).
_HARDIRQ, _SOFTIRQ = 0x08, 0x10
# Fewer packets show nothing, and a few per cent may be freed by anybody.
_FEW, _STRAY = 100, 0.05


@question(
    needs=(EVENTS,),
    columns=("side", "comm", "context", "cpu", "frees", "frees_share"),
)
def skb_frees(timeline: Timeline) -> Answer:
    """Which task freed packet buffers, on which CPU and in which context.

    A row per side, tid, comm, context and cpu, most frees first. context is NA where no flags were
    recorded. Data in a driver's or a file's page goes back to its owner and is not counted.
    Source: kmem:kfree and kmem:kmem_cache_free whose call site is in skb_release_data,
    skb_free_head or skb_kfree_head, by the symbols in the trace or in before/settings/symbols.
    """
    pair = dict(zip(endpoints(timeline), ("client", "server"), strict=False))
    sums = _summed(_NO_FREES, pair)
    for frees in freed(timeline):
        sums = added(sums, _summed(frees, pair))
    frame = _by_frees(sums)
    by_side = frame.groupby(["side", "context"], dropna=False, sort=False)[["frees"]].sum()
    stuck = _is_stuck(timeline, frame)
    limit = defer_limit(timeline.capture) if stuck else None
    return Answer(frame, by_side=_by_frees(by_side), deferral_stuck=stuck, defer_limit=limit)


def _summed(frees: pd.DataFrame, sides: dict[int, str]) -> pd.DataFrame:
    side = frees["tid"].map(sides).astype(object).fillna("other")
    return frees.assign(side=side).groupby(_KEYS, dropna=False).size().rename("frees").to_frame()


def _by_frees(sums: pd.DataFrame) -> pd.DataFrame:
    frame = sums.reset_index()
    frame["frees_share"] = frame["frees"] / (frame["frees"].sum() or np.nan)
    return most_first(frame, "frees")


def _is_stuck(timeline: Timeline, frees: pd.DataFrame) -> bool:
    # Whether the limit says that frees are deferred, and the reader, on another CPU than the
    # sender, made all of them.
    pair = endpoints(timeline)
    if (defer_limit(timeline.capture) or 0) <= 1 or timeline.cpus is not None or not pair:
        return False
    rows = of_tasks(timeline.sums())
    own = rows[rows["context"] == "task"]
    client, server = ({*own.loc[own["tid"] == tid, "cpu"]} for tid in pair)
    read = int(frees.loc[(frees["side"] == "server") & (frees["context"] == "task"), "frees"].sum())
    if read < _FEW or client & server:
        return False
    by_interrupts = int(frees.loc[frees["context"].isin(_INTERRUPTS), "frees"].sum())
    # A packet that is dropped in a softirq is freed there.
    if timeline.capture.info["events"].get(_DROPPED):
        for tables in timeline.capture.event_batches([_DROPPED], ["common_flags"]):
            dropped = _in_context(tables[_DROPPED], timeline)
            by_interrupts -= int(dropped["context"].isin(_INTERRUPTS).sum())
    return by_interrupts <= _STRAY * read


def freed(timeline: Timeline) -> Iterator[pd.DataFrame]:
    # A row each time that a packet's data was freed, in batches by event and time: time_ns, tid,
    # comm, cpu, context. Raises as skb_frees() does.
    capture = timeline.capture
    for event in filter(capture.info["events"].get, EVENTS):
        for tables in capture.event_batches([event], ["common_flags", "call_site"]):
            events = tables[event]
            yield _in_context(events[_is_packets(capture, events["call_site"])], timeline)


def _in_context(events: pd.DataFrame, timeline: Timeline) -> pd.DataFrame:
    events = events[bounds_of(timeline).has(events["time_ns"])]
    if timeline.cpus is not None:
        events = events[events["common_cpu"].isin(timeline.cpus)]
    frame = pd.DataFrame(
        {
            "time_ns": events["time_ns"].astype("int64"),
            "tid": events["common_pid"].astype("int64"),
            "comm": plain_names(events["common_comm"]),
            "cpu": events["common_cpu"].astype("int64"),
            "context": pd.Series(None, index=events.index, dtype="str"),
        }
    )
    if "common_flags" in events:
        flags = events["common_flags"].astype("Int64")
        frame["context"] = frame["context"].mask(flags.notna(), "task")
        for name, flag in (("softirq", _SOFTIRQ), ("hardirq", _HARDIRQ)):
            is_in = ((flags & flag) != 0).fillna(False).astype(bool)
            frame["context"] = frame["context"].mask(is_in, name)
    return frame


def _is_packets(
    capture: Capture, call_site: "pd.Series[Any]"
) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    # Which calls came from a function that frees a packet's data. Texts have its name.
    if not pd.api.types.is_numeric_dtype(call_site):
        return call_site.astype(str).str.fullmatch(rf"{_FUNCTIONS}\+.*").to_numpy(dtype=bool)
    site = call_site.astype("uint64").to_numpy()
    inside = np.zeros(len(site), dtype=bool)
    for start, end in _ranges(capture):
        inside |= (site >= np.uint64(start)) & (site < np.uint64(end))
    return inside


@once
def _ranges(capture: Capture) -> list[tuple[int, int]]:
    # The first address of each function, and the first behind it.
    kept = capture.bundle.text("before/settings/symbols") if capture.bundle else None
    symbols = capture.kallsyms() if kept is None else parse_kallsyms(kept)
    if symbols is not None:
        code = symbols[symbols["type"].isin(["t", "T"])].sort_values("address", kind="stable")
        address, name = code["address"].to_numpy(), code["name"].str
        ours = name.fullmatch(_FUNCTIONS) & ~name.contains(".cold", regex=False)
        places = np.flatnonzero(ours[:-1])
        ranges = [(int(address[i]), int(address[i + 1])) for i in places]
        if any(start for start, _ in ranges):
            return ranges
    raise CaptureError(
        "the addresses at which the kernel frees packets were not recorded: netcost-record "
        "--profile frees saves them, if /proc/kallsyms shows addresses"
    )


_SYSCTL = "net.core.skb_defer_max"
# 68822bdf76f1 and the sysctl, 39564c3fdc66. Distributors port it back, so a list of settings tells
# more than the version.
_SINCE = (5, 19)
# In the same table of the kernel, which only the first network namespace has.
_NEIGHBOUR = "net.core.netdev_budget"


def defer_limit(capture: Capture) -> int | None:
    # How many packets may wait for the CPU that allocated them; None where that is not known.
    setting = _settings(capture)[0].get(_SYSCTL, "")
    return int(setting) if re.fullmatch(r"\d{1,10}", setting) else None


def not_deferred(capture: Capture) -> str | None:
    # Why there is nothing to switch off: "off", "no such setting", "old kernel"; None where there
    # is, or may be.
    settings, are_all = _settings(capture)
    if _SYSCTL in settings:
        return "off" if settings[_SYSCTL].strip() == "0" else None
    if are_all:
        return "no such setting"
    release = re.match(r"(\d{1,4})\.(\d{1,4})", str(capture.info["kernel"] or ""))
    old = release is not None and tuple(map(int, release.groups())) < _SINCE
    return "old kernel" if old else None


def _settings(capture: Capture) -> tuple[dict[str, str], bool]:
    # The few in the manifest, and those that were listed; and whether these are all.
    if capture.bundle is None:
        return {}, False
    few = capture.bundle.manifest.host.sysctls or {}
    listed = parse_sysctls(capture.bundle.text("before/settings/sysctl_net_core") or "")
    return {name: str(value) for name, value in few.items()} | listed, _NEIGHBOUR in listed
