# Samples folded by their call paths, one capture's or two captures': what a flame graph draws.

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...plots.palette import printable
from ..samples.rules import HIDDEN, is_interrupt
from ..samples.sampled import sampled
from .contexts import CONTEXTS, KINDS, context_of, kinds
from .profile import Classified, Profile, classified, interrupts_off_in, sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...capture.capture import Capture

Kind = Literal["stolen", "all"]

USER, NO_NAME, LEFT_OUT = "user mode", "unknown function", "frames left out"
# No task is called this: names have 15 characters.
IDLE, SWAPPER = "idle: from idle, stolen from nobody", "idle: the idle task"
# The outermost and the innermost frames of a longer path are kept.
_DEPTH, _OUTER = 256, 128
# The longest name that is kept whole.
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
    classes: Classified
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
    profile, classes = classified(capture, event, kernel_only=False, user=user)
    path = sampled(capture).path
    of_sample, entry = kinds(profile)
    chosen = profile.within(cpu)
    periods = profile.samples["period"]
    if periods[chosen].fillna(1).astype("float64").sum() >= 2**62:
        raise CaptureError(f"{path}: what its samples stand for adds up to more than 64 bits")
    _, by_kind, _ = sums(of_sample[chosen], periods[chosen], len(KINDS))
    times = profile.samples["time_ns"][chosen].dropna()
    if kind == "stolen":
        chosen &= np.isin(of_sample, [KINDS.index("stolen"), KINDS.index("from idle")])
    elif not idle:
        chosen &= of_sample != KINDS.index("idle")
    if not chosen.any():
        where = " in an interrupt; --kind all has the others" if kind == "stolen" else ""
        raise CaptureError(f"{path}: no sample of {profile.event}{where}")
    if not periods[chosen].fillna(1).any():
        raise CaptureError(f"{path}: its samples of {profile.event} stand for nothing")
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
    pair, group = np.unique(stack[chosen] * len(labels) + codes[chosen], return_inverse=True)
    return Paths(
        profile,
        classes,
        int(chosen.sum()),
        dict(zip(KINDS, by_kind.tolist(), strict=True)),
        labels[pair % len(labels)],
        pair // len(labels),
        ends[pair // len(labels)],
        *sums(group, periods[chosen], len(pair))[1:],
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
        """For each node those below it, by their names."""
        found: list[list[int]] = [[] for _ in self.parent]
        for node in sorted(range(1, len(self.parent)), key=self.label):
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
    flat, context, lengths = (np.concatenate(column) for column in zip(*parts, strict=True))
    begins = np.append(0, np.cumsum(lengths))[:-1]

    active, nodes = np.arange(len(lengths)), np.zeros(len(lengths), dtype="i8")
    zero, inherited, number = np.zeros(1, dtype="i8"), np.zeros(1, dtype="i1"), 1
    levels = [(zero, zero, zero)]
    # For each level the paths that reach it, and their nodes there.
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

    side = np.repeat(np.arange(len(sides)), [len(one.stacks) for one in sides])
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
    # The numbers of the frames' names and their contexts, path after path, outermost first; and the
    # length of each path.
    profile = side.profile

    def numbers(texts: Iterable[str]) -> "NDArray[np.int64]":
        found = (names.setdefault(_cleaned(text), len(names)) for text in texts)
        return np.fromiter(found, dtype="i8")

    labels = np.array(profile.labels, dtype=object)
    of_frame = np.where(labels == "", code[NO_NAME], 0)
    of_frame[labels != ""] = numbers(labels[labels != ""])
    off_names, off_in = interrupts_off_in(profile, side.classes)
    begin = profile.begins[side.stacks]
    # The kernel's frames are inside those of user mode. One of these is kept where they have no
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
    path = np.repeat(np.arange(len(lengths)), lengths)
    depth = np.arange(len(path)) - np.append(0, np.cumsum(lengths))[path]
    is_cut = (full > _DEPTH)[path]
    # How many frames are inside this one. Those of the outer part are counted from outside.
    within = np.where(is_cut & (depth > _OUTER), _DEPTH, full[path]) - 1 - depth - has_off[path]
    is_off = within < 0
    is_named = (depth > nameless[path]) & ~is_off
    place = profile.places[np.where(is_named, begin[path] + within, 0)]
    flat = np.where(is_named, of_frame[place], code[USER])
    context = np.where(is_named, context_of(profile)[place], CONTEXTS.index("task"))
    is_root = depth == 0
    flat[is_root] = numbers(side.labels)
    is_idle = np.isin(side.labels, (IDLE, SWAPPER))
    context[is_root] = np.where(is_idle, CONTEXTS.index("idle"), CONTEXTS.index("task"))
    flat[is_cut & (depth == _OUTER)] = code[LEFT_OUT]
    flat[is_off] = numbers(f"{HIDDEN}: {name}" for name in off_names)[off[path[is_off]]]
    # Behind an interrupt it has that one's colour, else that of the frame around it.
    as_interrupt = np.array([_context_of(name) for name in off_names], dtype="i1")
    context[is_off] = as_interrupt[off[path[is_off]]]
    return flat, context, lengths


def _context_of(off_in: str) -> int:
    if off_in in ("device interrupt", "interrupt"):
        return CONTEXTS.index("hardirq")
    return CONTEXTS.index("vector") if is_interrupt(off_in) else -1


def _cleaned(name: str) -> str:
    # A name without the formats' separators, and without what does not print.
    clean = " ".join(printable(name).replace(";", ":").split()) or "?"
    return clean if len(clean) <= _NAME else clean[: _NAME - 1] + "…"
