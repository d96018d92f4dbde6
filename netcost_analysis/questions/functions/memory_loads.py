# Which loads were slow, of which data: samples with the data's address and where it came from.

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...capture.capture import Capture
from ...errors import AbsentError, LackingError
from ...stats.counts import share_interval
from ...stats.shares import effective
from ...timeline.reading import once
from ..samples.sampled import events_of, require_cpu, sampled
from .data_objects import BEHIND, LOAD, MISS, REMOTE, data_objects, decoded
from .profile import classified


@once
def _load_events(source: Capture) -> list[str]:
    # Those whose samples say which data was accessed, and where that came from.
    return [
        name
        for name in events_of(source)
        if {"addr", "data_src"} <= set(source.samples(name, 1).columns)
    ]


def _check(capture: Capture) -> None:
    if not _load_events(sampled(capture)):
        raise LackingError(
            "samples of loads",
            "no samples of memory loads, with the data's address and source (cpu/mem-loads/, "
            "ibs_op//): netcost-record --profile loads, or perf mem record -a -g, takes them if "
            "the processor can; virtual machines rarely can",
        )


@question(
    check=_check,
    main="memory_loads",
    columns=(
        *("component", "data_object", "load_share", "mean_latency_cycles", "latency_share"),
        *("behind_caches_share", "samples"),
    ),
    rows=30,
    allow_zero=("cpu",),
)
def memory_loads(
    capture: Capture, cpu: int | None = None, event: str | None = None, rules: str | None = None
) -> Answer:
    """Which memory loads were slow, by component and by the data that they read.

    A row per component and kind of data, the longest waits first. `memory_levels`: by where the
    data came from; `named_objects`: by its file, module or symbol. A sample stands for its period.
    Loads faster than the event's threshold (Intel: 30 cycles in profile loads) are not included.
    Where the data came from is perf's data_src. The latency is perf's weight, in cycles on
    processors of Intel and AMD.

    event: by default the first that has samples of loads. Source: perf's samples with addr,
    data_src, weight and phys_addr; its mappings; the kernel's kallsyms, iomem and vmallocinfo saved
    with the samples; and questions/functions/components.toml.
    """
    source = sampled(capture)
    names = _load_events(source)
    if event is not None and event not in names:
        raise AbsentError(f"no samples of loads by {event}; there are {', '.join(names) or 'none'}")
    names = names if event is None else [event]
    sampled_event = next((name for name in names if _accesses(source, name)["is_load"].any()), None)
    if sampled_event is None:
        raise CaptureError(
            f"no sample of {', '.join(names)} says that it was a load, so their data is unknown"
        )
    # The pass that keeps each stack once leaves out what only loads have; its rows are the same.
    component = classified(source, sampled_event, rules).samples["component"].astype(object)
    rows = _accesses(source, sampled_event).assign(component=component)
    if cpu is not None:
        require_cpu(cpu, set(rows["cpu"]))
        rows = rows[rows["cpu"].eq(cpu).to_numpy(dtype=bool)]
    loads = rows[rows["is_load"]].reset_index(drop=True)
    is_unknown = loads["data_object"].str.startswith("unknown")
    unknown_weight = loads.loc[is_unknown, "weight"].sum()
    by_object = _by_object(loads)
    weight = by_object["weight"].sum() or np.nan
    latency, behind = (
        float((by_object[name] * by_object["weight"]).sum(min_count=1) / weight)
        for name in ("mean_latency_cycles", "behind_caches_share")
    )
    keys = ["component", "memory_level", "level_result"]
    levels = _summed(loads, keys)
    of_component = levels.groupby("component")["load_share"].transform("sum")
    levels["level_share"] = levels["load_share"] / of_component.where(of_component > 0)
    objects = _summed(loads, ["data_object", "object_name"])
    columns = ["data_object", "object_name", "samples", "weight", "load_share"]
    return Answer(
        memory_loads=by_object,
        memory_levels=levels[[*keys, "samples", "weight", "level_share", "mean_latency_cycles"]],
        named_objects=objects.loc[objects["object_name"] != "", columns].reset_index(drop=True),
        sampled_event=sampled_event,
        loads=len(loads),
        other_samples=len(rows) - len(loads),
        unknown_object_share=float(unknown_weight / (loads["weight"].sum() or np.nan)),
        all_latency_cycles=latency,
        all_behind_caches_share=behind,
    )


_SHARES = ["behind_caches_share", "remote_share", "modified_share", "dtlb_miss_share"]


@once
def _accesses(source: Capture, event: str) -> pd.DataFrame:
    # For each sample what is summed, and whether it is a load.
    samples = source.samples(event)
    origin = decoded(samples["data_src"].to_numpy(dtype="u8"))
    objects = data_objects(source, samples)
    level = origin["memory_level"]
    missed = level.eq("L3") & origin["level_result"].eq(MISS)
    weight = samples["period"].fillna(1).to_numpy(dtype=float)
    latency = samples.get("weight", pd.Series(np.nan, index=samples.index)).to_numpy(dtype=float)
    return origin[["memory_level", "level_result"]].assign(
        is_load=origin["memory_op"].eq(LOAD).to_numpy(dtype=bool),
        cpu=samples["cpu"],
        data_object=objects.kind,
        object_name=objects.name,
        samples=1,
        weight=weight,
        latency=weight * latency,
        behind_caches_share=weight * (level.isin(BEHIND) | missed),
        remote_share=weight * level.isin(REMOTE),
        modified_share=weight * origin["snoop"].eq("modified"),
        dtlb_miss_share=weight * origin["dtlb_result"].eq(MISS),
    )


def _summed(loads: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    by = loads.groupby(keys, sort=False)[["samples", "weight", "latency", *_SHARES]]
    sums = by.sum(min_count=1).reset_index()
    weight = sums["weight"].where(sums["weight"] > 0)
    sums["load_share"] = sums["weight"] / (sums["weight"].sum() or np.nan)
    sums["latency_share"] = sums["latency"] / (sums["latency"].sum() or np.nan)
    sums["mean_latency_cycles"] = sums["latency"] / weight
    sums[_SHARES] = sums[_SHARES].div(weight, axis=0)
    # Periods of a damaged capture may sum to more than an int64 holds.
    sums["weight"] = sums["weight"].clip(upper=2.0**62).astype("int64")
    return sums.sort_values("samples", ascending=False, kind="stable", ignore_index=True)


def _by_object(loads: pd.DataFrame) -> pd.DataFrame:
    sums = _summed(loads, ["component", "data_object"])
    size = effective(float(loads["weight"].sum()), float((loads["weight"] ** 2).sum()))
    sums["load_share_low"], sums["load_share_high"] = share_interval(
        sums["load_share"] * size, size
    )
    columns = ["component", "data_object", "samples", "weight", "load_share", "load_share_low"]
    columns += ["load_share_high", "mean_latency_cycles", "latency_share", *_SHARES]
    return sums[columns].sort_values(
        ["latency_share", "samples"], ascending=False, kind="stable", ignore_index=True
    )


@memory_loads.plot(
    title="Share of the loads' latency, by data and component",
    height=lambda answer: 1.6 + 0.35 * answer.frame["data_object"].nunique(),
)
def _plot(ax: Axes, answer: Answer) -> None:
    from .plots import grouped_shares

    rows = answer.frame
    name, what = "latency_share", "latency"
    if rows[name].isna().all():
        name, what = "load_share", "number"
    total = rows.groupby("data_object")[name].transform("sum")
    rows = rows.assign(total=total).sort_values("total", ascending=False, kind="stable")
    grouped_shares(ax, rows, "data_object", name, f"share of the loads' {what} (%)")
