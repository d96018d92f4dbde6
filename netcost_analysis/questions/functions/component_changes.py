# How the cost of a packet changed from one side to the other, by component.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...comparison.comparison import Comparison
from ...errors import LackingError
from ...stats.change import LEAST_REPEATS, Side, adjusted, blocks, change_of, repeats
from ..samples.parts import IDLE
from ..samples.rules import APPLICATION
from ..samples.sampled import chosen_event, sampled
from .moved import Direction, moved_while_sampled
from .profile import classified, profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...capture.capture import Capture
    from ...comparison.run import Run
    from ...stats.resampling import Floats

# Of a recording, over which samples are told apart in time.
_BLOCKS = 64
_CERTAIN = 0.05


class ComponentChanges(NamedTuple):
    """Answer of `component_changes`.

    Attributes
    ----------
    changes : pandas.DataFrame
        A row per component, that which changed most first: component, base, base_low, base_high,
        new, new_low, new_high (weight per packet), change, change_low, change_high (new less base),
        p_value, p_adjusted, differs ("yes" or "no"), weight_unit (ns, or the event).
    sampled_event : str
        The event that was sampled.
    is_timed : bool
        Whether a timer took the samples: weights are in ns.
    observed_in : str
        "repeats", or "blocks" of time of these runs, which say nothing of others.
    base_name, new_name : str
        What a reader calls the sides.
    base_device, new_device : str
        Of each side the device whose packets are counted; of recordings that differ all of these.
    base_packet_bytes, new_packet_bytes : float
        Mean size of these packets.
    direction : str
        "rx" for packets that it received, "tx" for those it sent.
    """

    changes: pd.DataFrame
    sampled_event: str
    is_timed: bool
    observed_in: str
    base_name: str
    new_name: str
    base_device: str
    new_device: str
    base_packet_bytes: float
    new_packet_bytes: float
    direction: str


class _Run(NamedTuple):
    # event, is_timed: of its samples. weights: by component, of each block of time. packets, bytes:
    # of these devices, this way.
    event: str
    is_timed: bool
    weights: "dict[str, Floats]"
    packets: int
    bytes: int
    devices: frozenset[str]
    direction: Direction


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
) -> ComponentChanges:
    """How the cost of a packet changed, by component, from base to new.

    - comparison: Two run sets whose recordings have samples of functions.
    - device, direction, event, rules: As packet_components() takes them.

    A row per component that either side has, idle and user mode left out.

    With 6 repeats or more on both sides a figure is the median over repeats, and its interval is of
    repeats; with fewer it is of 64 blocks of time of each recording, over which its packets are
    taken as even, and says nothing of other runs. Intervals: BCa bootstrap; p_value: permutation,
    p_adjusted for all components together (Benjamini, Hochberg).

    Source: packet_components, of each recording.
    """
    asked = _Asked(device, direction, event, rules)
    sides: dict[str, list[_Run]] = {name: [] for name in comparison.sides}
    for name, runs in comparison.sides.items():
        for run in runs.recorded:
            sides[name].append(_measured(run, asked))
            # Packets of one way are compared: that of the first.
            asked = asked._replace(direction=sides[name][0].direction)
    known = {(one.event, one.is_timed) for side in sides.values() for one in side}
    if len(known) > 1:
        raise CaptureError("the sides were sampled by different events: choose one of both")
    [(name, is_timed)] = known
    few = min(map(len, sides.values())) < LEAST_REPEATS
    names = dict.fromkeys(one for side in sides.values() for run in side for one in run.weights)
    rows = []
    for component in (one for one in names if one not in (IDLE, APPLICATION)):
        base, new = _sides(sides["base"], sides["new"], component, few)
        found = change_of(base, new, relative=False)
        rows.append({"component": component, **found.columns})
    frame = pd.DataFrame(rows)
    frame["p_adjusted"] = adjusted(frame["p_value"].to_numpy("float64"))
    excludes = (frame["change_low"] > 0) | (frame["change_high"] < 0)
    certain = excludes & (frame["p_adjusted"] < _CERTAIN)
    frame["differs"] = np.where(certain, "yes", "no")
    frame["weight_unit"] = "ns" if is_timed else name
    order = frame["change"].abs().sort_values(ascending=False, kind="stable").index
    return ComponentChanges(
        frame.loc[order].reset_index(drop=True),
        name,
        is_timed,
        "blocks" if few else "repeats",
        comparison.named("base"),
        comparison.named("new"),
        _devices(sides["base"]),
        _devices(sides["new"]),
        _packet_bytes(sides["base"]),
        _packet_bytes(sides["new"]),
        sides["base"][0].direction,
    )


def _sides(base: list[_Run], new: list[_Run], component: str, few: bool) -> tuple[Side, ...]:
    if not few:
        return tuple(
            repeats(np.array([_weights(one, component).sum() / one.packets for one in side]))
            for side in (base, new)
        )
    return blocks(
        *(
            (
                np.concatenate([_weights(one, component) for one in side]),
                np.concatenate([np.full(_BLOCKS, one.packets / _BLOCKS) for one in side]),
            )
            for side in (base, new)
        )
    )


def _devices(side: list[_Run]) -> str:
    return ", ".join(sorted(frozenset().union(*(one.devices for one in side))))


def _packet_bytes(side: list[_Run]) -> float:
    return sum(one.bytes for one in side) / sum(one.packets for one in side)


def _weights(one: _Run, component: str) -> "Floats":
    return one.weights.get(component, np.zeros(_BLOCKS))


class _Asked(NamedTuple):
    # As component_changes() takes them.
    device: str | None
    direction: Direction | None
    event: str | None
    rules: str | None


def _measured(run: "Run", asked: _Asked) -> _Run:
    # Files of a rotated recording follow each other: their blocks are added up.
    parts: list[_Run] = []
    for one in run.captures:
        parts.append(_of_capture(one, asked))
        asked = asked._replace(direction=parts[0].direction)
    names = dict.fromkeys(name for one in parts for name in one.weights)
    weights = {name: np.sum([_weights(one, name) for one in parts], axis=0) for name in names}
    packets = sum(one.packets for one in parts)
    if not packets:
        raise CaptureError(f"{run.name} moved no packet while samples were taken")
    devices = frozenset[str]().union(*(one.devices for one in parts))
    size = sum(one.bytes for one in parts)
    first = parts[0]
    return _Run(first.event, first.is_timed, weights, packets, size, devices, first.direction)


def _of_capture(capture: "Capture", asked: _Asked) -> _Run:
    if capture.bundle is None:
        raise CaptureError(f"{capture.path} is no bundle: nothing says how many packets there were")
    source = sampled(capture)
    chosen = chosen_event(source, asked.event)
    one, found = profile(source, chosen), classified(source, chosen, asked.rules)
    one.require_names(source.path)
    moved = moved_while_sampled(one, capture.bundle, asked.device, asked.direction)
    rows = one.samples[one.within(None, moved.start_ns, moved.end_ns)]
    length = max(moved.end_ns - moved.start_ns, 1)
    block = (rows["time_ns"].to_numpy() - moved.start_ns) * _BLOCKS // length
    of = found.of_stack[rows["stack"].to_numpy()].astype("i8")
    sums = np.zeros((len(found.components), _BLOCKS))
    np.add.at(sums, (of, block), rows["period"].fillna(1).to_numpy(dtype=float))
    named = dict(zip(found.components, sums, strict=True))
    weights = {name: row for name, row in named.items() if row.any()}
    devices = frozenset([moved.device])
    way = moved.direction
    return _Run(one.event, one.is_timed, weights, moved.packets, moved.bytes, devices, way)


@component_changes.totals
def _totals(answer: "Answer") -> dict[str, pd.DataFrame]:
    # What can be told from chance, with how much it is.
    rows = answer.result.changes
    rows = rows[rows["differs"] == "yes"]
    return {"changed": rows.assign(changed_by=rows["change"].abs())}


@component_changes.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    found = answer.result
    return {
        "base_name": found.base_name,
        "new_name": found.new_name,
        "is_timed": found.is_timed,
        "sampled_event": found.sampled_event,
        "observed_in": found.observed_in,
        "base_device": found.base_device,
        "new_device": found.new_device,
        "base_packet_bytes": found.base_packet_bytes,
        "new_packet_bytes": found.new_packet_bytes,
        "direction": found.direction,
        "changed": answer.parts["changed"][:5].to_dict("records"),
    }


_TITLE = "Change of a packet's cost by component, with 95 % intervals; grey: may be none"


@component_changes.plot(title=_TITLE, height=4.5)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from ...plots.palette import FAINT, PART

    rows = answer.frame.iloc[::-1]
    scale = 1e-3 if answer.result.is_timed else 1.0
    change, low, high = (
        scale * rows[name].to_numpy(dtype=float) for name in ("change", "change_low", "change_high")
    )
    more, less = PART["stolen_network"], PART["synchronous"]
    certain = rows["differs"].eq("yes").to_numpy()
    colours = np.where(certain, np.where(change > 0, more, less), "#d0d4d9")
    ax.barh(rows["component"], change, color=list(colours))
    around = [np.maximum(change - low, 0), np.maximum(high - change, 0)]
    ax.errorbar(change, rows["component"], xerr=around, fmt="none", ecolor=FAINT, capsize=2)
    ax.axvline(0, color=FAINT, linewidth=0.8)
    unit = "µs" if answer.result.is_timed else answer.result.sampled_event
    ax.set_xlabel(f"{answer.result.new_name} less {answer.result.base_name} ({unit} a packet)")
    ax.set_title(_TITLE)
    ax.margins(y=0.01)
