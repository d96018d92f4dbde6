# What the processor's counters say of each component: of samples of several events.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ..devices.device_traffic import comparable
from ..samples.rules import UNCLASSIFIED
from ..samples.sampled import sampled
from .moved import Direction, Moved, check_direction, moved_while_sampled
from .profile import profile
from .sampled_events import (
    CYCLES,
    Event,
    Figures,
    by_component,
    per_packet,
    ratio,
    require_events,
    shares,
    with_samples,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...capture.capture import Capture

# By column what is divided by what, times how many.
RATIOS = {
    "ipc": ("instructions", CYCLES, 1),
    "cache_misses_per_1000": ("cache-misses", "instructions", 1000),
    "llc_misses_per_1000": ("LLC-load-misses", "instructions", 1000),
    "dtlb_misses_per_1000": ("dTLB-load-misses", "instructions", 1000),
    "frontend_stalls_per_cycle": ("stalled-cycles-frontend", CYCLES, 1),
    "backend_stalls_per_cycle": ("stalled-cycles-backend", CYCLES, 1),
    "execution_stalls_per_cycle": ("cycle_activity.stalls_total", CYCLES, 1),
}
_ENDS = ("", "_low", "_high")
ALL = "all outside idle"


class CountersByComponent(NamedTuple):
    """Answer of `counters_by_component`.

    Attributes
    ----------
    counters_by_component : pandas.DataFrame
        A row per component that has samples, falling by cycles: component, cycles_share, then ipc,
        cache_misses_per_1000, llc_misses_per_1000, dtlb_misses_per_1000, frontend_stalls_per_cycle,
        backend_stalls_per_cycle and execution_stalls_per_cycle, each with _low and _high; null of
        events that were not sampled.
    by_event : pandas.DataFrame
        A row per event and component that has samples of it, falling by weight: sampled_event,
        component, samples, weight, busy_share, weight_per_packet, each of these two with _low and
        _high.
    event_totals : pandas.DataFrame
        A row per event: sampled_event, samples, weight, busy_weight, weight_per_packet.
    outside_idle : pandas.DataFrame
        One row like those of `counters_by_component`, of all components but idle.
    device : str or None
        The one whose packets are counted; None where they were not counted.
    direction : str or None
        "rx" or "tx".
    packets : int or None
        That many it received or sent.
    notes : tuple of str
        Why there is no figure for each packet.
    """

    counters_by_component: pd.DataFrame
    by_event: pd.DataFrame
    event_totals: pd.DataFrame
    outside_idle: pd.DataFrame
    device: str | None
    direction: str | None
    packets: int | None
    notes: tuple[str, ...]


@question(
    check=require_events,
    main="counters_by_component",
    columns=(
        *("component", "cycles_share", "ipc", "ipc_low", "ipc_high", "cache_misses_per_1000"),
        *("dtlb_misses_per_1000", "backend_stalls_per_cycle"),
    ),
    rows=30,
    may_be_0=("cpu",),
)
def counters_by_component(
    capture: "Capture",
    device: str | None = None,
    direction: Direction | None = None,
    cpu: int | None = None,
    rules: str | None = None,
) -> CountersByComponent:
    """What the processor's counters say of each component: instructions per cycle, misses, stalls.

    - capture: With samples of several events, of its own or beside it in its bundle.
    - device: Whose packets; that which carried most, and is not lo, unless given.
    - direction: As packet_components() takes it.
    - cpu, rules: As components() takes them.

    Ratios of the events by component, and each event by component and per packet.

    Each event has samples of its own; a sample stands for its period, and is of the component of
    its call path. Where packets were counted only samples between the two readings of net/dev
    count, as in packet_components(); else all, and nothing is said per packet. Intervals: of the
    number of samples (Poisson, by Kish's effective size), those of a ratio by both numbers.

    Source: perf's samples, net/dev in before/, after/ and samples/, and
    questions/functions/components.toml.
    """
    check_direction(direction)
    source = sampled(capture)
    names = with_samples(source)
    if not names:
        raise CaptureError("no sample was taken of any event: this host counted none of them")
    moved, why = _moved(capture, source, names[0], device, direction)
    window = (moved.start_ns, moved.end_ns) if moved else None
    events = by_component(source, names, cpu, window, rules)
    packets = moved.packets if moved else None
    rows, long, totals = _wide(events), _long(events, packets), _totals_of(events, packets)
    busy = {name: of.merged(of.busy, ALL) for name, of in events.items()}
    return CountersByComponent(
        rows,
        long,
        totals,
        _wide(busy),
        moved.device if moved else None,
        moved.direction if moved else None,
        packets,
        why,
    )


def _moved(
    capture: "Capture",
    source: "Capture",
    event: str,
    device: str | None,
    direction: Direction | None,
) -> tuple[Moved | None, tuple[str, ...]]:
    # What the device carried, else why that is not known.
    try:
        if capture.bundle is None:
            raise CaptureError("a recording without a bundle has no readings of net/dev")
        if not comparable(source):
            raise CaptureError(
                f"the clock of the samples is {source.header['clock']}, that of net/dev is "
                "CLOCK_MONOTONIC"
            )
        return moved_while_sampled(profile(source, event), capture.bundle, device, direction), ()
    except CaptureError as error:
        if device is not None:
            raise
        return None, (f"nothing is said per packet: {error}",)


def _columns(name: str, figures: Figures) -> dict[str, Any]:
    return {f"{name}{end}": of for end, of in zip(_ENDS, figures, strict=True)}


def _wide(events: dict[str, Event]) -> pd.DataFrame:
    first = next(iter(events.values()))
    nothing = Figures(*[np.full(len(first.components), np.nan)] * 3)
    columns: dict[str, Any] = {"component": first.components}
    columns["cycles_share"] = (shares(events[CYCLES]) if CYCLES in events else nothing).value
    for name, (above, below, scale) in RATIOS.items():
        known = above in events and below in events
        found = ratio(events[above], events[below], scale) if known else nothing
        columns |= _columns(name, found)
    samples = sum(of.samples for of in events.values())
    frame = pd.DataFrame(columns)[np.asarray(samples) > 0]
    order = np.argsort(-first.weight[np.asarray(samples) > 0], kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def _long(events: dict[str, Event], packets: int | None) -> pd.DataFrame:
    frames = []
    for name, of in events.items():
        frame = pd.DataFrame(
            {
                "sampled_event": name,
                "component": of.components,
                "samples": of.samples,
                "weight": of.weight,
                **_columns("busy_share", shares(of)),
                **_columns("weight_per_packet", per_packet(of, packets)),
            }
        )
        frame = frame[frame["samples"] > 0]
        frames.append(frame.sort_values("weight", ascending=False, kind="stable"))
    return pd.concat(frames, ignore_index=True)


def _totals_of(events: dict[str, Event], packets: int | None) -> pd.DataFrame:
    rows = [
        {
            "sampled_event": name,
            "samples": int(of.samples.sum()),
            "weight": int(of.weight.sum()),
            "busy_weight": int(of.weight[of.busy].sum()),
            "weight_per_packet": of.weight[of.busy].sum() / (packets or np.nan),
        }
        for name, of in events.items()
    ]
    return pd.DataFrame(rows)


@counters_by_component.totals
def _totals(answer: "Answer") -> dict[str, pd.DataFrame]:
    # Of each event but cycles the component with most of it. What no rule names leads to nothing
    # that can be looked up.
    rows = answer.result.by_event
    named = rows["busy_share"].notna() & ~rows["component"].eq(UNCLASSIFIED)
    others = rows[named & rows["sampled_event"].ne(CYCLES)]
    return {"most": others.groupby("sampled_event", sort=False).head(1)}


@counters_by_component.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    found = answer.result
    wide = found.counters_by_component
    return {
        "whole": found.outside_idle.to_dict("records")[0],
        "most": answer.parts["most"].to_dict("records"),
        "largest": wide[wide["cycles_share"].notna()][:3].to_dict("records"),
        "device": found.device,
        "direction": found.direction,
        "packets": found.packets,
    }


@counters_by_component.plot(
    title="Share of each event outside idle, by component",
    height=lambda answer: 1.6 + 0.45 * len(answer.result.event_totals),
)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from ...plots.palette import COMPONENT_GROUPS, ink_on
    from .groups import GROUPS, OTHER, group_of

    rows = answer.result.by_event
    rows = rows[rows["busy_share"].notna()]
    rows = rows.assign(group=rows["component"].map(group_of))
    by = rows.pivot_table(
        index="sampled_event", columns="group", values="busy_share", aggfunc="sum", sort=False
    )
    by = 100 * by.fillna(0).iloc[::-1]
    left = np.zeros(len(by))
    for name in (name for name in (*GROUPS, OTHER) if name in by):
        share, colour = by[name].to_numpy(), COMPONENT_GROUPS[name]
        bars = ax.barh(by.index, share, left=left, color=colour, label=name, height=0.7)
        texts = [f"{width:.0f}" if width >= 4 else "" for width in share]
        ax.bar_label(bars, texts, label_type="center", fontsize=8, color=ink_on(colour))
        left += share
    ax.set_xlabel("share of the event outside idle (%)")
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)


@counters_by_component.plot(
    "ipc",
    title="Instructions per cycle of each component, with 95 % intervals of the sampling",
    height=4.5,
    panels=lambda answer: [{}] if answer.frame["ipc"].notna().any() else [],
)
def _plot_ipc(ax: "Axes", answer: "Answer") -> None:
    from .plots import bars

    rows = answer.frame[answer.frame["ipc"].notna()]
    value, low, high = (rows[f"ipc{end}"].to_numpy(dtype=float) for end in _ENDS)
    bars(ax, rows["component"], rows["component"], value, (low, high))
    ax.set_xlabel("instructions per cycle")
