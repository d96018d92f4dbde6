# How the cost of a packet changed from one side to the other, by component.

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...errors import LackingError
from ...stats.change import Side, change_of, holm
from ...stats.resampling import Floats
from ..comparison.metrics import change_columns, differs, is_unchanged, more_repeats, sides_of
from ..samples.rules import APPLICATION, IDLE, components_of
from ..samples.rules import rules as rules_of
from ..samples.sampled import sampled
from .packet_components import Direction, bundle_of, packets_while_sampled
from .profile import classified

# Parts of a recording of equal time, into which its samples are put.
_BLOCKS = 64


class _RunWeights(NamedTuple):
    # A run. weights: a row for each component, a column for each block of time. packets, bytes: of
    # these devices, this way.
    events: set[tuple[str, bool]]
    weights: Floats
    packets: int
    bytes: int
    devices: set[str]
    direction: Direction | None


def _check(comparison: Comparison) -> None:
    for name, runs in comparison.sides.items():
        if not any(run.is_recorded for run in runs):
            raise LackingError("samples", f"{name} has no recording: components are of samples")
        for run in runs.recorded:
            for capture in run.captures:
                _ = sampled(capture)


@question(
    check=_check,
    main="changes",
    columns=(
        *("component", "weight_unit", "base", "new", "change", "differs"),
        *("change_low", "change_high"),
    ),
    rows=30,
)
def component_changes(
    comparison: Comparison,
    device: str | None = None,
    direction: Direction | None = None,
    event: str | None = None,
    rules: str | None = None,
) -> Answer:
    """How the cost of a packet changed, by component, from base to new.

    A row per component that either side has, the largest change first; idle and user mode are left
    out. primary_rows has what all of these cost together. With 6 repeats or more on both sides a
    figure is the mean over repeats, and its interval is over repeats. With fewer it is over 64
    blocks of time of each recording, with packets assumed to be spread evenly; this says nothing
    about other runs. Intervals and p_value are those of changes, and p_adjusted covers all
    components together. Options are those of packet_components(). Source: packet_components, of
    each recording.
    """
    sides: dict[str, list[_RunWeights]] = {name: [] for name in comparison.sides}
    for name, runs in comparison.sides.items():
        for run in runs.recorded:
            weights = _run_weights(run, device, direction, event, rules)
            # Packets of one way are compared: that of the first.
            direction = weights.direction
            sides[name].append(weights)
    base, new = sides["base"], sides["new"]
    known = set[tuple[str, bool]]().union(*(run.events for run in (*base, *new)))
    if len(known) > 1:
        raise CaptureError("the sides were sampled by different events: choose one that both have")
    [(sampled_event, is_timed)] = known
    shown = {
        component: at
        for at, component in enumerate(components_of(rules_of(rules)))
        if component not in (IDLE, APPLICATION)
        and any(run.weights[at].any() for run in (*base, *new))
    }
    rows = []
    for component, at in shown.items():
        before, after = _sides(base, new, [at])
        rows.append({"component": component, **change_of(before, after, False).columns})
    frame = pd.DataFrame(rows)
    frame["p_adjusted"] = holm(frame["p_value"].to_numpy("float64"))
    frame["differs"] = differs(frame)
    frame["weight_unit"] = "ns" if is_timed else sampled_event
    in_all = _in_all(base, new, [*shown.values()])
    unit = "ns" if is_timed else sampled_event.partition(":")[0]
    in_all |= {"metric": f"kernel_{unit}_per_packet", "per_unit": f"{unit}/packet"}
    frame = frame.sort_values("change", key=abs, ascending=False, kind="stable", ignore_index=True)
    changed = frame[frame["differs"] == "yes"]
    return Answer(
        changes=frame,
        primary_rows=[in_all],
        sampled_event=sampled_event,
        is_timed=is_timed,
        observed_in=in_all["observed_in"],
        base_name=comparison.named("base"),
        new_name=comparison.named("new"),
        base_device=_devices(base),
        new_device=_devices(new),
        base_packet_bytes=_packet_bytes(base),
        new_packet_bytes=_packet_bytes(new),
        direction=direction,
        changed=changed.assign(changed_by=changed["change"].abs()),
    )


def _run_weights(
    run: Run, device: str | None, direction: Direction | None, event: str | None, own: str | None
) -> _RunWeights:
    weights = np.zeros((len(components_of(rules_of(own))), _BLOCKS))
    events, devices, packets, size = set(), set(), 0, 0
    # Files of a rotated recording follow each other: their blocks are added up.
    for capture in run.captures:
        profile = classified(capture, event, own)
        moved = packets_while_sampled(profile, bundle_of(capture), device, direction)
        direction = moved.direction
        rows = profile.within(None, moved.start_ns, moved.end_ns)
        length = max(moved.end_ns - moved.start_ns, 1)
        block = (rows["time_ns"].to_numpy() - moved.start_ns) * _BLOCKS // length
        np.add.at(weights, (rows["component"].cat.codes, block), rows["weight"])
        events.add((profile.event, profile.is_timed))
        devices.add(moved.device)
        packets, size = packets + moved.packets, size + moved.bytes
    if not packets:
        raise CaptureError(f"{run.name} moved no packet while samples were taken")
    return _RunWeights(events, weights, packets, size, devices, direction)


def _sides(base: list[_RunWeights], new: list[_RunWeights], components: list[int]) -> list[Side]:
    return sides_of(
        [
            [
                (run.weights[components].sum(axis=0), np.full(_BLOCKS, run.packets / _BLOCKS))
                for run in side
            ]
            for side in (base, new)
        ]
    )


def _in_all(
    base: list[_RunWeights], new: list[_RunWeights], components: list[int]
) -> dict[Any, Any]:
    # What all of these components cost a packet, as a row of `changes`.
    before, after = _sides(base, new, components)
    row = change_columns(before, after, True)
    runs = {
        name: [(None, run.weights[components].sum() / run.packets) for run in side]
        for name, side in (("base", base), ("new", new))
    }
    row |= {"is_relative": True, "p_adjusted": row["p_value"], "per_unit": ""}
    row["more_repeats"] = more_repeats(runs, True)
    frame = pd.DataFrame([row])
    frame["differs"] = differs(frame)
    frame["is_unchanged"] = is_unchanged(frame)
    return frame.to_dict("records")[0]


def _devices(side: list[_RunWeights]) -> str:
    return ", ".join(sorted(set().union(*(run.devices for run in side))))


def _packet_bytes(side: list[_RunWeights]) -> float:
    return sum(run.bytes for run in side) / sum(run.packets for run in side)


_TITLE = "Change in a packet's cost by component, with 95 % intervals; grey may be no change"


@component_changes.plot(title=_TITLE, height=4.5)
def _plot(ax: Axes, answer: Answer) -> None:
    from ...plots.palette import FAINT, PART
    from .plots import bars

    rows = answer.frame
    colour = np.where(rows["change"] > 0, PART["stolen_network"], PART["synchronous"])
    colours = np.where(rows["differs"] == "yes", colour, "#d0d4d9").tolist()
    scale, unit = (1e-3, "µs") if answer["is_timed"] else (1.0, answer["sampled_event"])
    label = f"{answer['new_name']} less {answer['base_name']} ({unit} a packet)"
    bars(ax, rows, "change", label, scale, colours=colours)
    ax.axvline(0, color=FAINT, linewidth=0.8)
    ax.set_title(_TITLE)
