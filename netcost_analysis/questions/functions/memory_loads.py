# Which loads were slow, of which data: samples with the data's address and where it came from.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...errors import AbsentError, LackingError
from ...stats.counts import share_interval
from ...timeline.reading import once
from ..samples.sampled import sampled
from .data_objects import data_objects
from .data_source import BEHIND, LOAD, MISS, REMOTE, decoded
from .profile import classified, profile
from .sampled_events import events_of
from .weights import effective

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...capture.capture import Capture

_TAKEN = {"addr", "data_src"}
_KEYS = ["component", "data_object"]


class MemoryLoads(NamedTuple):
    """Answer of `memory_loads`.

    Attributes
    ----------
    memory_loads : pandas.DataFrame
        A row per component and data_object that has loads, falling by latency_share (by samples
        without latencies): component, data_object, samples, weight, load_share, load_share_low,
        load_share_high, mean_latency_cycles, latency_share, behind_caches_share, remote_share,
        modified_share, dtlb_miss_share.
    memory_levels : pandas.DataFrame
        A row per component, memory_level and level_result: component, memory_level, level_result,
        samples, weight, level_share, mean_latency_cycles.
    named_objects : pandas.DataFrame
        A row per data_object and object_name, where it has one: data_object, object_name, samples,
        weight, load_share.
    sampled_event : str
        The event that was sampled.
    loads : int
        Samples of loads.
    other_samples : int
        Those of stores, and of what was no access to memory or does not say so.
    unknown_object_share : float
        Of the loads' weight that of which it is not known what lies at the address.
    """

    memory_loads: pd.DataFrame
    memory_levels: pd.DataFrame
    named_objects: pd.DataFrame
    sampled_event: str
    loads: int
    other_samples: int
    unknown_object_share: float


@once
def load_events(source: "Capture") -> list[str]:
    # Those whose samples say which data was accessed, and where that came from.
    return [name for name in events_of(source) if set(source.samples(name, 1).columns) >= _TAKEN]


def require_loads(capture: "Capture") -> None:
    # Raises CaptureError where no event says so.
    if not load_events(sampled(capture)):
        raise LackingError(
            "samples of loads",
            "no samples of loads of memory, with the data's address and source (cpu/mem-loads/, "
            "ibs_op//): netcost-record --profile loads, or perf mem record -a -g, takes them where "
            "the processor samples them; virtual machines rarely show it",
        )


@question(
    check=require_loads,
    main="memory_loads",
    columns=(
        *("component", "data_object", "load_share", "mean_latency_cycles", "latency_share"),
        *("behind_caches_share", "samples"),
    ),
    rows=30,
    may_be_0=("cpu",),
)
def memory_loads(
    capture: "Capture", cpu: int | None = None, event: str | None = None, rules: str | None = None
) -> MemoryLoads:
    """Which loads of memory were slow: by component, and by the data that they were of.

    - capture: With samples of loads, of its own or beside it in its bundle.
    - cpu, event, rules: As components() takes them, but the first event that has samples of loads
      unless given.

    Loads by component and data, and by where the data came from.

    A sample stands for its period. Loads that are faster than the event's threshold (Intel: 30
    cycles in profile loads) are not among them. Where the data came from is perf's data_src, the
    latency its weight, in cycles on processors of Intel and AMD.

    Source: perf's samples with addr, data_src, weight and phys_addr; its mappings; of the kernel
    kallsyms, iomem and vmallocinfo beside the samples; and questions/functions/components.toml.
    """
    source = sampled(capture)
    asked = load_events(source)
    if event is not None and event not in asked:
        raise AbsentError(f"no samples of loads by {event}; there are {', '.join(asked) or 'none'}")
    asked = asked if event is None else [event]
    rows = next((one for one in (_loads(source, name) for name in asked) if one.loads.any()), None)
    if rows is None:
        raise CaptureError(
            f"no sample of {', '.join(asked)} says that it was a load: what they are of is unknown"
        )
    taken = np.ones(len(rows.samples), dtype=bool)
    if cpu is not None:
        taken = rows.samples["cpu"].eq(cpu).to_numpy(dtype=bool)
        if not taken.any():
            raise AbsentError(f"no sample is of CPU {cpu}")
    one, of = profile(source, rows.event), classified(source, rows.event, rules)
    one.require_names(source.path)
    here = taken & rows.loads
    stacks = rows.samples.loc[here, "stack"].to_numpy()
    component = np.array(of.components, dtype=object)[of.of_stack[stacks]]
    frame = rows.frame[here].assign(component=component).reset_index(drop=True)
    unknown = frame.loc[frame["data_object"].str.startswith("unknown"), "weight"].sum()
    return MemoryLoads(
        _by_object(frame),
        _by_level(frame),
        _by_name(frame),
        rows.event,
        len(frame),
        int((taken & ~rows.loads).sum()),
        float(unknown / (frame["weight"].sum() or np.nan)),
    )


class _Loads(NamedTuple):
    # Samples of an event: which are loads; of each what is summed.
    event: str
    samples: pd.DataFrame
    loads: Any
    frame: pd.DataFrame


@once
def _loads(source: "Capture", event: str) -> _Loads:
    # The pass that keeps each stack once leaves out what only loads have; its rows are the same.
    stack = profile(source, event).samples["stack"]
    samples = source.samples(event).assign(stack=stack)
    said = decoded(samples["data_src"].to_numpy(dtype="u8"))
    objects = data_objects(source, samples)
    absent = pd.Series(np.nan, index=samples.index)
    frame = said.assign(
        data_object=objects.kind,
        object_name=objects.name,
        weight=samples["period"].fillna(1).to_numpy(dtype=float),
        latency=samples.get("weight", absent).to_numpy(dtype=float),
    )
    return _Loads(event, samples, said["memory_op"].eq(LOAD).to_numpy(dtype=bool), frame)


def _summed(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    # By keys the samples, their weight, and what of the weight each condition holds for.
    level = frame["memory_level"].astype(object)
    missed = level.eq("L3") & frame["level_result"].eq(MISS)
    parts = {
        "latency": frame["latency"],
        "behind": level.isin(BEHIND) | missed,
        "remote": level.isin(REMOTE),
        "modified": frame["snoop"].eq("modified"),
        "dtlb": frame["dtlb_result"].eq(MISS),
    }
    columns = {name: frame["weight"] * of.astype(float) for name, of in parts.items()}
    rows = frame[[*keys, "weight"]].assign(samples=1, **columns)
    return rows.groupby(keys, observed=True, sort=False).sum(min_count=1).reset_index()


def _whole(weight: "pd.Series[float]") -> "pd.Series[int]":
    # Periods of a damaged capture may sum to more than an int64 holds.
    return weight.clip(upper=2.0**62).astype("int64")


def _by_object(frame: pd.DataFrame) -> pd.DataFrame:
    sums = _summed(frame, _KEYS)
    share = sums["weight"] / (sums["weight"].sum() or np.nan)
    counted = effective(frame["weight"], np.ones(len(frame), dtype=bool))
    low, high = share_interval(share * counted, counted)
    weight = sums["weight"].where(sums["weight"] > 0)
    made = sums[[*_KEYS, "samples"]].assign(
        weight=_whole(sums["weight"]),
        load_share=share,
        load_share_low=low,
        load_share_high=high,
        mean_latency_cycles=sums["latency"] / weight,
        latency_share=sums["latency"] / (sums["latency"].sum() or np.nan),
        behind_caches_share=sums["behind"] / weight,
        remote_share=sums["remote"] / weight,
        modified_share=sums["modified"] / weight,
        dtlb_miss_share=sums["dtlb"] / weight,
    )
    return made.sort_values(
        ["latency_share", "samples"], ascending=False, kind="stable", ignore_index=True
    )


def _by_level(frame: pd.DataFrame) -> pd.DataFrame:
    keys = ["component", "memory_level", "level_result"]
    sums = _summed(frame, keys)
    of_component = sums.groupby("component")["weight"].transform("sum")
    made = sums[[*keys, "samples"]].assign(
        weight=_whole(sums["weight"]),
        level_share=sums["weight"] / of_component.where(of_component > 0),
        mean_latency_cycles=sums["latency"] / sums["weight"].where(sums["weight"] > 0),
    )
    made = made.astype({"memory_level": str, "level_result": str})
    return made.sort_values("samples", ascending=False, kind="stable", ignore_index=True)


def _by_name(frame: pd.DataFrame) -> pd.DataFrame:
    keys = ["data_object", "object_name"]
    sums = _summed(frame, keys)
    made = sums[[*keys, "samples"]].assign(
        weight=_whole(sums["weight"]),
        load_share=sums["weight"] / (sums["weight"].sum() or np.nan),
    )
    made = made[made["object_name"] != ""]
    return made.sort_values("samples", ascending=False, kind="stable", ignore_index=True)


@memory_loads.totals
def _totals(answer: "Answer") -> dict[str, float]:
    # Over all loads.
    rows = answer.result.memory_loads
    weight = rows["weight"].sum() or np.nan
    sums = {
        name: (rows[name] * rows["weight"]).sum(min_count=1) / weight
        for name in ("mean_latency_cycles", "behind_caches_share")
    }
    return {
        "all_latency_cycles": float(sums["mean_latency_cycles"]),
        "all_behind_caches_share": float(sums["behind_caches_share"]),
    }


@memory_loads.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    found = answer.result
    return {
        "sampled_event": found.sampled_event,
        "loads": found.loads,
        "unknown_object_share": found.unknown_object_share,
        "latency": answer.parts["all_latency_cycles"],
        "behind": answer.parts["all_behind_caches_share"],
        "largest": found.memory_loads[:4].to_dict("records"),
    }


@memory_loads.plot(
    title="Share of the loads' latency, by the data that they were of and by component",
    height=lambda answer: 1.6 + 0.35 * answer.frame["data_object"].nunique(),
)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from ...plots.palette import COMPONENT_GROUPS
    from .groups import GROUPS, OTHER, group_of

    name = "latency_share" if answer.frame["latency_share"].notna().any() else "load_share"
    rows = answer.frame.assign(group=answer.frame["component"].map(group_of))
    by = 100 * rows.pivot_table(
        index="data_object", columns="group", values=name, aggfunc="sum", observed=True
    ).fillna(0)
    by = by.loc[by.sum(axis=1).sort_values().index]
    left = np.zeros(len(by))
    for group in (group for group in (*GROUPS, OTHER) if group in by):
        share = by[group].to_numpy()
        ax.barh(by.index, share, left=left, color=COMPONENT_GROUPS[group], label=group)
        left += share
    ax.set_xlabel(f"share of the loads' {'latency' if name == 'latency_share' else 'number'} (%)")
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
