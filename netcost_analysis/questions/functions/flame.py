# Samples folded by their call paths, one capture's or two captures': what a flame graph draws.

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...plots.palette import printable
from ..samples.interrupts import HIDDEN, is_interrupt
from ..samples.rules import rules
from ..samples.sampled import chosen_event, sampled
from .contexts import CONTEXTS, KINDS, context_of, kinds
from .profile import Profile, classify, interrupts_off_in, profile_of, squares, weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...capture.capture import Capture

Kind = Literal["stolen", "all"]

USER, NO_NAME, LEFT_OUT = "user mode", "unknown function", "frames left out"
# No task is called this: names have 15 characters.
IDLE, SWAPPER = "idle: from idle, stolen from nobody", "idle: the idle task"
# Of a longer path the outermost and the innermost are kept.
_DEPTH, _OUTER = 256, 128
# Of a name so much is kept.
_NAME = 120


@dataclass(frozen=True)
class Paths:
    """Samples of a capture by their paths.

    samples: how many. kinds: the weight of all samples that were asked for, by kind. labels,
    stacks, ends: of each path the task at its root, the stack in profile, and the place in
    Profile.places before which it ends. weights, squares: what its samples stand for, and the sum
    of their squares. span_ns: from the first sample that was asked for to the last.
    """

    profile: Profile
    samples: int
    kinds: dict[str, int]
    labels: "NDArray[Any]"
    stacks: "NDArray[np.int64]"
    ends: "NDArray[np.int64]"
    weights: "NDArray[np.int64]"
    squares: "NDArray[np.float64]"
    span_ns: int


def paths(
    capture: "Capture",
    kind: Kind = "stolen",
    event: str | None = None,
    cpu: int | None = None,
    idle: bool = True,
    user: bool = False,
) -> Paths:
    """Samples of an event as the graph of a kind has them; raises CaptureError where it has none.

    stolen: those in interrupts, from the interrupt's entry inwards, under the task it ran on. all:
    every sample, without the idle loop's own unless `idle`. user: with functions of programs.
    """
    source = sampled(capture)
    profile = profile_of(source, chosen_event(source, event), kernel_only=False, user=user)
    profile.require_names(source.path)
    of_sample, entry = kinds(profile)
    taken = profile.within(cpu)
    periods = profile.samples["period"]
    if periods[taken].fillna(1).astype("float64").sum() >= 2**62:
        raise CaptureError(
            f"{source.path}: what its samples stand for adds up to more than 64 bits"
        )
    by_kind = weights(of_sample[taken], periods[taken], len(KINDS))
    times = profile.samples["time_ns"][taken].dropna()
    if kind == "stolen":
        taken &= np.isin(of_sample, [KINDS.index("stolen"), KINDS.index("from idle")])
    elif not idle:
        taken &= of_sample != KINDS.index("idle")
    if not taken.any():
        where = " in an interrupt; --kind all has the others" if kind == "stolen" else ""
        raise CaptureError(f"{source.path}: no sample of {profile.event}{where}")
    if not periods[taken].fillna(1).any():
        raise CaptureError(f"{source.path}: its samples of {profile.event} stand for nothing")
    names = profile.samples.get("comm", pd.Series(None, profile.samples.index, dtype=object))
    codes, labels = names.astype(object).fillna("unknown task").factorize()
    # Idle tasks are called differently on each CPU.
    is_idle = np.isin(of_sample, [KINDS.index("from idle"), KINDS.index("idle")])
    codes = np.where(is_idle, len(labels), codes)
    labels = np.append(np.asarray(labels, dtype=object), IDLE if kind == "stolen" else SWAPPER)
    stack = profile.samples["stack"].to_numpy(dtype="i8")
    ends = profile.begins[1:]
    if kind == "stolen":
        # From the interrupt's entry; a softirq of the idle task's own has none.
        ends = np.where(entry >= 0, entry + 1, ends)
    pair, group = np.unique(stack[taken] * len(labels) + codes[taken], return_inverse=True)
    return Paths(
        profile,
        int(taken.sum()),
        {name: int(by_kind[at]) for at, name in enumerate(KINDS)},
        labels[pair % len(labels)],
        pair // len(labels),
        ends[pair // len(labels)],
        weights(group, periods[taken], len(pair)),
        squares(group, periods[taken], len(pair)),
        int(times.max() - times.min()) if len(times) else 0,
    )


@dataclass(frozen=True)
class Graph:
    """Paths of one capture or of several, as a tree. Node 0 is the root; parents come first.

    names: what numbers in name mean. name, parent, depth, context: of each node. weights, own,
    squares: a row per capture, of each node with all below it; of it alone; the sum of squares with
    all below it.
    """

    names: list[str]
    name: "NDArray[np.int64]"
    parent: "NDArray[np.int64]"
    depth: "NDArray[np.int64]"
    context: "NDArray[np.int8]"
    weights: "NDArray[np.int64]"
    own: "NDArray[np.int64]"
    squares: "NDArray[np.float64]"

    @cached_property
    def children(self) -> list[list[int]]:
        """Of each node those below it, by their names."""
        found: list[list[int]] = [[] for _ in self.parent]
        for node in sorted(range(1, len(self.parent)), key=lambda at: self.label(at)):
            found[self.parent[node]].append(node)
        return found

    def label(self, node: int) -> str:
        """Its name."""
        name: str = self.names[self.name[node]]
        return name

    def path(self, node: int) -> list[int]:
        """Its nodes from the outermost on, without the root."""
        found = []
        while node:
            found.append(node)
            node = int(self.parent[node])
        return found[::-1]


def graph(sides: Sequence[Paths]) -> Graph:
    """The tree of all paths of these captures."""
    names: dict[str, int] = {"all": 0}
    code = {name: names.setdefault(name, len(names)) for name in (USER, NO_NAME, LEFT_OUT)}
    parts = [_flat(side, names, code) for side in sides]
    place = np.cumsum([0, *(len(part[0]) for part in parts)])
    flat, context, lengths = (np.concatenate([part[at] for part in parts]) for at in range(3))
    begins = np.concatenate([part[3] + at for part, at in zip(parts, place, strict=False)])

    active, nodes = np.arange(len(lengths)), np.zeros(len(lengths), dtype="i8")
    zero, inherited, number = np.zeros(1, dtype="i8"), np.zeros(1, dtype="i1"), 1
    levels = [(zero, zero, zero)]
    # Of each level which paths reach it, and at which node.
    reached = [(active, np.zeros_like(active))]
    for depth in range(int(lengths.max(initial=0))):
        active = active[lengths[active] > depth]
        at = begins[active] + depth
        keys = nodes[active] * len(names) + flat[at]
        different, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        parent = different // len(names)
        given = context[at[first]]
        inherited = np.append(inherited, np.where(given >= 0, given, inherited[parent]))
        nodes[active] = number + inverse
        reached.append((active, number + inverse))
        levels.append((different % len(names), parent, np.full(len(different), depth + 1)))
        number += len(different)

    side = np.repeat(np.arange(len(sides)), [len(part[2]) for part in parts])
    weight, square = (
        np.concatenate([getattr(one, name) for one in sides]) for name in ("weights", "squares")
    )
    path, node = (np.concatenate(column) for column in zip(*reached, strict=True))
    total, own = (np.zeros((len(sides), number), dtype="i8") for _ in range(2))
    np.add.at(total, (side[path], node), weight[path])
    np.add.at(own, (side, nodes), weight)
    total_square = np.zeros((len(sides), number))
    np.add.at(total_square, (side[path], node), square[path])
    name, parent, depths = (np.concatenate(column) for column in zip(*levels, strict=True))
    return Graph(list(names), name, parent, depths, inherited, total, own, total_square)


def _flat(side: Paths, names: dict[str, int], code: dict[str, int]) -> tuple["NDArray[Any]", ...]:
    # Of all paths the names' numbers and contexts, outermost first; each one's length and begin.
    profile = side.profile

    def numbers(texts: Iterable[str]) -> "NDArray[np.int64]":
        found = (names.setdefault(cleaned(text), len(names)) for text in texts)
        return np.fromiter(found, dtype="i8")

    labels = np.array(profile.labels, dtype=object)
    of_frame = np.where(labels == "", code[NO_NAME], 0)
    of_frame[labels != ""] = numbers(labels[labels != ""])
    of_frame_context = context_of(profile)
    off_names, off_in = interrupts_off_in(profile, classify(profile, rules()))
    begin = profile.begins[side.stacks]
    # The kernel's frames are inside those of user mode, of which one is kept where they have no
    # names.
    inside = profile.frames["in_kernel"].to_numpy()
    kernel = np.append(0, np.cumsum(inside[profile.places]))
    in_kernel = kernel[side.ends] - kernel[begin]
    in_user = side.ends - begin - in_kernel
    nameless = np.zeros_like(in_user) if "dso" in profile.frames else np.minimum(in_user, 1)
    # Innermost, what a timer does not see.
    off = off_in[side.stacks]
    has_off = (off >= 0).astype("i8")
    full = 1 + np.where(nameless > 0, 1, in_user) + in_kernel + has_off
    lengths = np.minimum(full, _DEPTH)
    begins = np.append(0, np.cumsum(lengths))[:-1]
    path = np.repeat(np.arange(len(lengths)), lengths)
    depth = np.arange(int(lengths.sum())) - begins[path]
    is_cut = (full > _DEPTH)[path]
    # How many frames are inside this one. Those of the outer part are counted from outside.
    within = np.where(is_cut & (depth > _OUTER), _DEPTH, full[path]) - 1 - depth - has_off[path]
    is_off = within < 0
    is_named = (depth > nameless[path]) & ~is_off
    place = profile.places[np.where(is_named, begin[path] + within, 0)]
    flat = np.where(is_named, of_frame[place], code[USER])
    context = np.where(is_named, of_frame_context[place], CONTEXTS.index("task"))
    is_root = depth == 0
    flat[is_root] = numbers(side.labels)
    is_idle = np.isin(side.labels, (IDLE, SWAPPER))
    context[is_root] = np.where(is_idle, CONTEXTS.index("idle"), CONTEXTS.index("task"))
    flat[is_cut & (depth == _OUTER)] = code[LEFT_OUT]
    flat[is_off] = numbers(f"{HIDDEN}: {name}" for name in off_names)[off[path[is_off]]]
    # An interrupt's is in its colour; of a path, in that of the frame around it.
    as_interrupt = np.array([_context_of(name) for name in off_names], dtype="i1")
    context[is_off] = as_interrupt[off[path[is_off]]]
    return flat, context, lengths, begins


def _context_of(off_in: str) -> int:
    if off_in in ("device interrupt", "interrupt"):
        return CONTEXTS.index("hardirq")
    return CONTEXTS.index("vector") if is_interrupt(off_in) else -1


def cleaned(name: str) -> str:
    """A name as the formats can have it: no separator of theirs, nothing that does not print."""
    clean = " ".join(printable(name).replace(";", ":").split()) or "?"
    return clean if len(clean) <= _NAME else clean[: _NAME - 1] + "…"
