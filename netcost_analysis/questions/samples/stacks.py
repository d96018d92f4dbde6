# Samples with their stacks as plain lists, and what interrupts were off in.

import struct
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

from ... import _native
from ...arrow import columns
from ...capture.capture import Capture
from ...progress import progress
from ...timeline.reading import once
from ...units import absent
from .rules import HIDDEN, components_of, native_rules, off_in, rules
from .sampled import OfEvent, chosen_event, is_text, is_timed, require_names, sampled, search


@dataclass(frozen=True)
class Stacks(OfEvent):
    """Samples of one event.

    samples: of each a value per column that was recorded, with its stack. stacks: of each its
    frames, innermost first. in_kernel, functions, labels: of each frame; functions and labels are
    "" where nothing is known, labels of a program's have its file. inside: whether a stack's
    innermost frame is the kernel's. off_in: what interrupts were off in, None where they were on.
    has_programs: whether frames in user mode are told apart.
    """

    event: str
    samples: dict[str, list[Any]]
    stacks: list[list[int]]
    in_kernel: list[bool]
    functions: list[str]
    labels: list[str]
    inside: list[bool]
    off_in: list[str | None]
    has_programs: bool


def stacks_of(capture: Capture, event: str | None = None, user: bool = False) -> Stacks:
    """A capture's samples of an event, or those beside it; user: with functions of programs.

    Raises CaptureError where there are none, or the kernel's functions have no names.
    """
    source = sampled(capture)
    return _stacks(source, chosen_event(source, event), user)


@once
def _stacks(source: Capture, event: str, user: bool) -> Stacks:
    samples, stacks, frames = (_of_text if is_text(source) else _of_native)(source, event, user)
    in_kernel: list[bool] = frames["in_kernel"]
    fold = cache(_native.folded)
    functions = ["" if absent(name) else fold(name) for name in frames["symbol"]]
    modules = ["" if absent(name) else str(name) for name in frames["module"]]
    inlined = frames.get("inlined") or [False] * len(in_kernel)
    # The innermost frame that has an address of its own.
    leaves = [next((one for one in stack if not inlined[one]), stack[0]) for stack in stacks]
    inside = [in_kernel[leaf] for leaf in leaves]
    require_names(source.path, any(inside), any(functions))
    weights = Counter(samples["stack"])
    given = rules()
    found = _native.classify(
        _packed("q", [0, *accumulate(map(len, stacks))]),
        _packed("i", [frame for stack in stacks for frame in stack]),
        _packed("i", leaves),
        _packed("Q", [weights[place] for place in range(len(stacks))]),
        in_kernel,
        list(zip(functions, modules, strict=True)),
        is_timed(event),
        native_rules(given),
    )
    names = components_of(given)
    kinds = zip(found, "hihi", strict=True)
    of_stack, _, beneath, ended = (_unpacked(kind, of) for of, kind in kinds)
    off = [
        off_in(functions[entry] if entry >= 0 else None, names[under])
        if names[component] == HIDDEN
        else None
        for component, under, entry in zip(of_stack, beneath, ended, strict=True)
    ]
    labels = functions
    if "dso" in frames:
        labels = list(map(with_file, functions, frames["dso"]))
    return Stacks(
        event, samples, stacks, in_kernel, functions, labels, inside, off, "dso" in frames
    )


_Parts = tuple[dict[str, list[Any]], list[list[int]], dict[str, list[Any]]]


def _of_native(source: Capture, event: str, user: bool) -> _Parts:
    text, where = source.kallsyms_beside(), search(source) if user else None
    with progress(f"reading the samples of {event}") as advance:
        found = source.native.stacks(event, text, False, user, where, advance)
    [stacks] = columns(found["stacks"]).values()
    return columns(found["samples"]), stacks, columns(found["frames"])


def _of_text(source: Capture, event: str, user: bool) -> _Parts:
    # It needs pandas.
    from ..functions.profile import profile_of

    profile = profile_of(source, event, False, user)
    places, begins = profile.places.tolist(), profile.begins.tolist()
    stacks = [places[begin:end] for begin, end in pairwise(begins)]
    samples, frames = (
        {
            str(name): [None if absent(one) else one for one in table[name].tolist()]
            for name in table
        }
        for table in (profile.samples, profile.frames)
    )
    return samples, stacks, frames


def _packed(kind: str, values: list[int]) -> bytes:
    return struct.pack(f"<{len(values)}{kind}", *values)


def _unpacked(kind: str, values: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(values) // struct.calcsize(f'<{kind}')}{kind}", values)


def with_file(function: str, dso: str | None) -> str:
    """A frame as it is shown: a program's function with its file, "" for nothing."""
    file = (dso or "").rpartition("/")[2]
    if not file:
        return function
    return f"{function} ({file})" if function else f"[{file}]"
