# What the processor's counters say of each component: of samples of several events.

from typing import Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...capture.capture import Capture
from ...errors import LackingError
from ...snapshots.perf_stat import plain_event
from ...stats.counts import Figures, count_interval, equal_samples, ratio_interval, share_interval
from ...stats.resampling import Floats
from ...stats.shares import effective
from ..samples.rules import IDLE, UNCLASSIFIED
from ..samples.sampled import TIMERS, events_of, require_cpu, sampled
from .packet_components import (
    Direction,
    Moved,
    check_direction,
    packets_while_sampled,
    require_clock,
)
from .profile import classified, profile_of, summed

_CYCLES = "cycles"
# What time goes by: at least one event beside these is asked for.
_TIMES = {_CYCLES, *TIMERS}
# For each column the event that is divided, the event it is divided by, and a factor.
_RATIOS = {
    "ipc": ("instructions", _CYCLES, 1),
    "cache_misses_per_1000": ("cache-misses", "instructions", 1000),
    "llc_misses_per_1000": ("LLC-load-misses", "instructions", 1000),
    "dtlb_misses_per_1000": ("dTLB-load-misses", "instructions", 1000),
    "frontend_stalls_per_cycle": ("stalled-cycles-frontend", _CYCLES, 1),
    "backend_stalls_per_cycle": ("stalled-cycles-backend", _CYCLES, 1),
    "execution_stalls_per_cycle": ("cycle_activity.stalls_total", _CYCLES, 1),
}


def _events(source: Capture) -> list[str]:
    # As perf names them, that which time goes by first. Only headers are read.
    def rank(name: str) -> tuple[bool, bool]:
        return plain_event(name) != _CYCLES, plain_event(name) not in _TIMES

    return sorted(events_of(source), key=rank)


def _check(capture: Capture) -> None:
    found = _events(sampled(capture))
    if not {plain_event(name) for name in found} - _TIMES:
        raise LackingError(
            "samples of other events",
            f"only {', '.join(found)} was sampled: netcost-record --profile function-counters also "
            "samples cycles, instructions, cache misses, TLB misses and stalled cycles. It needs a "
            "host that counts them, and virtual machines rarely do",
        )


@question(
    check=_check,
    main="counters_by_component",
    columns=(
        *("component", "cycles_share", "ipc", "ipc_low", "ipc_high", "cache_misses_per_1000"),
        *("dtlb_misses_per_1000", "backend_stalls_per_cycle"),
    ),
    rows=30,
    allow_zero=("cpu",),
)
def counters_by_component(
    capture: Capture,
    device: str | None = None,
    direction: Direction | None = None,
    cpu: int | None = None,
    rules: str | None = None,
) -> Answer:
    """What the processor's counters show per component: instructions per cycle, misses, stalls.

    A row per component that has samples, most cycles first; `by_event`: each event's samples, and
    their sum per packet. Each event has samples of its own. A sample stands for its period, and
    belongs to the component of its call path. If packets were counted, only samples between the two
    readings of net/dev count, as in packet_components(). Otherwise all count, and there is no
    figure per packet. Intervals: from the number of samples (Poisson, by Kish's effective size);
    for a ratio, from both numbers.

    device: by default the one that carried most, lo excluded. Source: perf's samples, net/dev in
    before/, after/ and samples/, and questions/functions/components.toml.
    """
    check_direction(direction)
    source = sampled(capture)
    counts = source.info["events"]
    names = [name for name in _events(source) if counts.get(name)]
    if not names:
        raise CaptureError("no sample of any event was taken: this host counted none of them")
    moved, notes = None, []
    try:
        if capture.bundle is None:
            raise CaptureError("a recording without a bundle has no readings of net/dev")
        require_clock(source)
        profile = profile_of(source, names[0])
        moved = packets_while_sampled(profile, capture.bundle, device, direction)
    except CaptureError as error:
        if device is not None:
            raise
        notes.append(f"there are no figures per packet: {error}")
    events = _by_component(source, names, cpu, moved, rules)
    packets = moved.packets if moved else None
    by_event = pd.concat(
        [_by_event(name, event, packets) for name, event in events.items()], ignore_index=True
    )
    busy = {name: event[event.index != IDLE] for name, event in events.items()}
    totals = [
        {
            "sampled_event": name,
            "samples": event["samples"].sum(),
            "weight": event["weight"].sum(),
            "busy_weight": busy[name]["weight"].sum(),
            "weight_per_packet": busy[name]["weight"].sum() / (packets or np.nan),
        }
        for name, event in events.items()
    ]
    # What no rule names leads to nothing that can be looked up.
    named = by_event["busy_share"].notna() & by_event["component"].ne(UNCLASSIFIED)
    others = by_event[named & by_event["sampled_event"].ne(_CYCLES)]
    in_all = {name: event.sum().to_frame("all outside idle").T for name, event in busy.items()}
    return Answer(
        counters_by_component=_ratios(events),
        by_event=by_event,
        event_totals=pd.DataFrame(totals),
        outside_idle=_ratios(in_all),
        device=moved.device if moved else None,
        direction=moved.direction if moved else None,
        packets=packets,
        notes=tuple(notes),
        most=others.groupby("sampled_event", sort=False).head(1),
    )


def _by_component(
    source: Capture,
    names: list[str],
    cpu: int | None,
    moved: Moved | None,
    own: str | None,
) -> dict[str, pd.DataFrame]:
    # By plain name a table with a row per component: how many samples, the sum of their periods and
    # that of the periods' squares. Events of several PMUs of one processor are one.
    if cpu is not None:
        require_cpu(cpu, {at for name in names for at in profile_of(source, name).samples["cpu"]})
    events: dict[str, pd.DataFrame] = {}
    for name in names:
        profile = classified(source, name, own)
        rows = profile.within(None, *((moved.start_ns, moved.end_ns) if moved else ()))
        if cpu is not None:
            # A rare event may have none.
            rows = rows[rows["cpu"].eq(cpu).to_numpy(dtype=bool)]
        event, plain = summed(rows, "component", profile.components), plain_event(name)
        events[plain] = events[plain] + event if plain in events else event
    return events


def _columns(name: str, figures: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), figures, strict=True))


def _ratios(events: dict[str, pd.DataFrame]) -> pd.DataFrame:
    first = next(iter(events.values()))
    frame = pd.DataFrame({"component": first.index, "cycles_share": np.nan})
    if _CYCLES in events:
        frame["cycles_share"] = _shares(events[_CYCLES])[0]
    for name, (above, below, scale) in _RATIOS.items():
        known = above in events and below in events
        figures = _ratio(events[above], events[below], scale) if known else (np.nan,) * 3
        frame = frame.assign(**_columns(name, figures))
    samples = np.sum([event["samples"] for event in events.values()], axis=0)
    order = np.argsort(-first["weight"].to_numpy(), kind="stable")
    return frame.take(order[samples[order] > 0]).reset_index(drop=True)


def _by_event(name: str, event: pd.DataFrame, packets: int | None) -> pd.DataFrame:
    frame = event[["samples", "weight"]].assign(
        **_columns("busy_share", _shares(event)),
        **_columns("weight_per_packet", _per_packet(event, packets)),
    )
    frame = frame.rename_axis("component").reset_index()
    frame.insert(0, "sampled_event", name)
    return frame[frame["samples"] > 0].sort_values("weight", ascending=False, kind="stable")


def _equal_samples(event: pd.DataFrame) -> tuple[Floats, Floats]:
    weight, squares = float(event["weight"].sum()), float(event["squares"].sum())
    return equal_samples(event["weight"], event["squares"], squares / weight if weight else 0.0)


def _shares(event: pd.DataFrame) -> Figures:
    # Shares of what was outside idle; NaN for idle.
    busy = event[event.index != IDLE].sum()
    weight = np.where(event.index != IDLE, event["weight"], np.nan)
    share = weight / (busy["weight"] or np.nan)
    size = float(effective(busy["weight"], busy["squares"]))
    return share, *share_interval(share * size, size)


def _per_packet(event: pd.DataFrame, packets: int | None) -> Figures:
    # NaN for idle, and where nobody counted packets.
    number = np.where(event.index != IDLE, float(packets or 0) or np.nan, np.nan)
    size, each = _equal_samples(event)
    low, high = count_interval(size)
    return event["weight"].to_numpy() / number, low * each / number, high * each / number


def _ratio(above: pd.DataFrame, below: pd.DataFrame, scale: int) -> Figures:
    # What one event sums to over the other; NaN where the other has no samples.
    (size, each), (size_below, each_below) = _equal_samples(above), _equal_samples(below)
    low, high = ratio_interval(size, size_below)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = scale * above["weight"] / below["weight"].where(below["weight"] > 0)
        each = scale * each / each_below
    return value.to_numpy(dtype=float), low * each, high * each


@counters_by_component.plot(
    title="Share of each event outside idle, by component",
    height=lambda answer: 1.6 + 0.45 * len(answer["event_totals"]),
)
def _plot(ax: Axes, answer: Answer) -> None:
    from .plots import grouped_shares

    rows = answer["by_event"]
    rows = rows[rows["busy_share"].notna()]
    grouped_shares(ax, rows, "sampled_event", "busy_share", "share of the event outside idle (%)")


@counters_by_component.plot(
    "ipc",
    title="Instructions per cycle of each component, with 95 % sampling intervals",
    height=4.5,
    panels=lambda answer: [{}] if answer.frame["ipc"].notna().any() else [],
)
def _plot_ipc(ax: Axes, answer: Answer) -> None:
    from .plots import bars

    bars(ax, answer.frame[answer.frame["ipc"].notna()], "ipc", "instructions per cycle")
