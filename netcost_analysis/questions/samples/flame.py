# Samples folded by their call paths, one capture's or two captures': what a flame graph draws.

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Literal

from ..._native import CaptureError
from ...capture.capture import Capture
from ...plots.palette import printable
from .contexts import CONTEXTS, KINDS, context_of, kind_of, paths_of
from .rules import HIDDEN, is_interrupt
from .sampled import require_cpu, sampled
from .stacks import Stacks, stacks_of

Kind = Literal["stolen", "all"]

USER, NO_NAME, LEFT_OUT = "user mode", "unknown function", "frames left out"
# No task is called this: names have 15 characters.
IDLE, SWAPPER = "idle: from idle, stolen from nobody", "idle: the idle task"
# The outermost and the innermost frames of a longer path are kept.
_DEPTH, _OUTER = 256, 128
# The longest name that is kept whole.
_NAME = 120
_TASK = CONTEXTS.index("task")


@dataclass
class Weight:
    """Of samples: how many, what they stand for, and the sum of its squares."""

    samples: int = 0
    whole: int = 0
    squares: float = 0.0


@dataclass(frozen=True)
class Paths:
    """Samples of a capture by their paths.

    samples: how many. kinds: the weight of all samples that were asked for, by kind. weights: by
    the task at a path's root, its stack in profile, and how many of its frames, the innermost, it
    has. span_ns: from the first sample that was asked for to the last.
    """

    profile: Stacks
    samples: int
    kinds: dict[str, int]
    weights: dict[tuple[str, int, int], Weight]
    span_ns: int


def paths(
    capture: Capture,
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
    profile, path = stacks_of(capture, event, user), sampled(capture).path
    samples, shown = profile.samples, paths_of(profile)
    nothing = [None] * len(samples["stack"])
    names = ("stack", "comm", "tid", "cpu", "period", "time_ns")
    columns = [samples.get(name, nothing) for name in names]
    require_cpu(cpu, set(columns[3]))
    wanted = {"stolen", "from idle"} if kind == "stolen" else {*KINDS}
    if not idle:
        wanted.discard("idle")

    @cache
    def placed(stack: int, comm: str | None, tid: int | None) -> tuple[str, tuple[str, int, int]]:
        of = kind_of(shown[stack], profile.inside[stack], comm, tid)
        # Idle tasks are called differently on each CPU.
        label = (IDLE if kind == "stolen" else SWAPPER) if tid == 0 else comm or "unknown task"
        # From the interrupt's entry; a softirq of the idle task's own has none.
        end = shown[stack].entry + 1 if kind == "stolen" else 0
        return of, (label, stack, end or len(profile.stacks[stack]))

    kinds, weights, times = dict.fromkeys(KINDS, 0), dict[tuple[str, int, int], Weight](), []
    for stack, comm, tid, on, period, time in zip(*columns, strict=True):
        if cpu is not None and on != cpu:
            continue
        ns = 1 if period is None else period
        of, place = placed(stack, comm, 0 if tid == 0 else None)
        kinds[of] += ns
        if time is not None:
            times.append(time)
        if of in wanted:
            group = weights.setdefault(place, Weight())
            group.samples += 1
            group.whole += ns
            group.squares += float(ns) ** 2
    if sum(kinds.values()) >= 2**62:
        raise CaptureError(f"{path}: the weights of its samples add up to more than 64 bits")
    if not weights:
        where = " in an interrupt; --kind all has the others" if kind == "stolen" else ""
        raise CaptureError(f"{path}: no sample of {profile.event}{where}")
    if not any(group.whole for group in weights.values()):
        raise CaptureError(f"{path}: its samples of {profile.event} have no weight")
    number = sum(group.samples for group in weights.values())
    return Paths(profile, number, kinds, weights, max(times) - min(times) if times else 0)


@dataclass(frozen=True)
class Graph:
    """Paths of one capture or of several, as a tree. Node 0 is the root; parents come first.

    names: what numbers in name mean. name, parent, depth, context: of each node. weights, own,
    squares: for each capture, of each node with all below it; of it alone; the sum of squares with
    all below it.
    """

    weights: list[list[int]]
    own: list[list[int]]
    squares: list[list[float]]
    names: list[str] = field(default_factory=lambda: ["all"])
    name: list[int] = field(default_factory=lambda: [0])
    parent: list[int] = field(default_factory=lambda: [0])
    depth: list[int] = field(default_factory=lambda: [0])
    context: list[int] = field(default_factory=lambda: [_TASK])

    @cached_property
    def children(self) -> list[list[int]]:
        """For each node those below it, by their names."""
        found: list[list[int]] = [[] for _ in self.parent]
        for node in sorted(range(1, len(self.parent)), key=self.label):
            found[self.parent[node]].append(node)
        return found

    def label(self, node: int) -> str:
        """Its name."""
        return self.names[self.name[node]]

    def path(self, node: int) -> list[int]:
        """Its nodes from the outermost on, without the root."""
        found = []
        while node:
            found.append(node)
            node = self.parent[node]
        return found[::-1]


def graph(sides: Sequence[Paths]) -> Graph:
    """The tree of all paths of these captures."""
    made = Graph([[0] for _ in sides], [[0] for _ in sides], [[0.0] for _ in sides])
    numbers: dict[str, int] = {"all": 0}
    below: dict[tuple[int, str], int] = {}

    def node_of(above: int, name: str, context: int) -> int:
        node = below.setdefault((above, name), len(made.parent))
        if node == len(made.parent):
            made.name.append(numbers.setdefault(name, len(numbers)))
            made.parent.append(above)
            made.depth.append(made.depth[above] + 1)
            made.context.append(context if context >= 0 else made.context[above])
            for whole in (*made.weights, *made.own):
                whole.append(0)
            for squares in made.squares:
                squares.append(0)
        return node

    for side, one in enumerate(sides):
        labels = [_cleaned(label) if label else NO_NAME for label in one.profile.labels]
        frames = list(zip(labels, context_of(one.profile), strict=True))
        for (label, stack, end), weight in one.weights.items():
            path = [0]
            for name, context in _framed(one.profile, frames, label, stack, end):
                path.append(node_of(path[-1], name, context))
            for node in path:
                made.weights[side][node] += weight.whole
                made.squares[side][node] += weight.squares
            made.own[side][path[-1]] += weight.whole
    made.names[:] = numbers
    return made


def _framed(
    profile: Stacks, frames: list[tuple[str, int]], label: str, stack: int, end: int
) -> list[tuple[str, int]]:
    # A path's frames by name and context, -1 for that of the frame around it; the outermost first,
    # under the task.
    within, off = profile.stacks[stack][:end], profile.off_in[stack]
    found = [(_cleaned(label), CONTEXTS.index("idle") if label in (IDLE, SWAPPER) else _TASK)]
    if not profile.has_programs:
        # The kernel's frames are inside those of user mode, which have no names: one is kept.
        kernel = sum(profile.in_kernel[frame] for frame in within)
        found += [(USER, _TASK)] if kernel < len(within) else []
        within = within[:kernel]
    found += [frames[frame] for frame in reversed(within)]
    if off is not None:
        # Innermost, what a timer does not see. Behind an interrupt it has that one's colour.
        is_device = off in ("device interrupt", "interrupt")
        context = "hardirq" if is_device else "vector" if is_interrupt(off) else None
        at = CONTEXTS.index(context) if context else -1
        found.append((_cleaned(f"{HIDDEN}: {off}"), at))
    if len(found) > _DEPTH:
        left_out = (LEFT_OUT, found[_OUTER][1])
        found = [*found[:_OUTER], left_out, *found[len(found) - (_DEPTH - _OUTER) + 1 :]]
    return found


@cache
def _cleaned(name: str) -> str:
    # A name without the formats' separators, and without what does not print.
    clean = " ".join(printable(name).replace(";", ":").split()) or "?"
    return clean if len(clean) <= _NAME else clean[: _NAME - 1] + "…"
