# Samples with their stacks, and the component of each.

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ..._native import CaptureError
from ...errors import AbsentError
from ...frames import to_frame
from ...progress import progress
from ..inputs import once
from .rules import APPLICATION, UNCLASSIFIED, Rule, folded, rules
from .sampled import TIMERS, base_name, is_text
from .text_stacks import text_stacks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...capture.capture import Capture


@dataclass(frozen=True)
class Profile:
    """Samples of one event.

    event: as perf names it. samples: a row per sample (Capture.samples without its chain), and
    stack. begins: of each stack its first frame in places; its length is one more. places: of each
    frame of each stack, the innermost first, a row of frames. frames: address, in_kernel, symbol,
    module, offset, function; where programs were asked for dso, build_id, file_offset, inlined.
    """

    event: str
    samples: pd.DataFrame
    begins: "NDArray[np.int64]"
    places: "NDArray[np.int32]"
    frames: pd.DataFrame

    @property
    def is_timed(self) -> bool:
        """Whether a timer took the samples: of ns, and none where interrupts are off."""
        return base_name(self.event) in TIMERS

    @cached_property
    def leaves(self) -> "NDArray[np.int32]":
        """The innermost frame of each stack that has an address of its own: none is inlined."""
        if "inlined" not in self.frames:
            return self.places[self.begins[:-1]]
        own = ~self.frames["inlined"].to_numpy()
        return self.places[_next(own[self.places])[self.begins[:-1]]]

    @cached_property
    def in_kernel(self) -> "NDArray[np.bool_]":
        """Whether a stack's innermost frame is the kernel's."""
        inside: NDArray[np.bool_] = self.frames["in_kernel"].to_numpy()
        return inside[self.leaves]

    @cached_property
    def weights(self) -> "NDArray[np.int64]":
        """How many samples have each stack."""
        return np.bincount(self.samples["stack"], minlength=len(self.leaves))

    @cached_property
    def names(self) -> pd.DataFrame:
        """Of each frame its function and module, "" where there is none."""
        return self.frames[["function", "module"]].astype(object).fillna("")

    @cached_property
    def busiest(self) -> "NDArray[np.intp]":
        """Of each function of the kernel the innermost frame in which most of its samples are.

        Functions that have it in less than half of them are left out.
        """
        at = pd.Series(np.bincount(self.leaves, self.weights, len(self.frames)))
        at = at[self.frames["in_kernel"].to_numpy()]
        by = at.groupby(self.names["function"].to_numpy()[at.index])
        most = at[(at == by.transform("max")) & (at > by.transform("sum") / 2)]
        return most.index.to_numpy()

    def require_names(self, path: str) -> None:
        """Raises CaptureError where the kernel's frames have no names."""
        if self.in_kernel.any() and self.frames["symbol"].isna().all():
            raise CaptureError(
                f"{path} does not say what the kernel's functions are called: record with "
                "netcost-record --profile functions, or perf record --kcore, as root; or give a "
                "copy of /proc/kallsyms of that boot (--kallsyms)"
            )

    def taken(
        self, source: "Capture", cpu: int | None, start_s: float | None, end_s: float | None
    ) -> "NDArray[np.bool_]":
        """Which samples are of a CPU, and of a stretch of the recording, None for all."""
        source.timeline(start_s, end_s).require_inside()
        given = (start_s, end_s)
        start, end = (at if at is None else source.start_ns + round(at * 1e9) for at in given)
        return self.within(cpu, start, end)

    def within(
        self, cpu: int | None, start_ns: int | None = None, end_ns: int | None = None
    ) -> "NDArray[np.bool_]":
        """The same, by ns of the capture's clock."""
        known = np.ones(len(self.samples), dtype=bool)
        if cpu is not None:
            if cpu not in set(self.samples["cpu"]):
                raise AbsentError(f"no sample is of CPU {cpu}")
            known &= self.samples["cpu"].eq(cpu).to_numpy(dtype=bool)
        times = self.samples["time_ns"].to_numpy()
        if start_ns is not None:
            known &= times >= start_ns
        if end_ns is not None:
            known &= times < end_ns
        return known


@once
def profile(
    capture: "Capture", event: str, kernel_only: bool = True, user: bool = False
) -> Profile:
    # The samples of an event; of user mode only that it was, or all frames; user: with the files
    # and functions of programs, for which files of this machine are read. Raises CaptureError where
    # it has none, or they have no stacks.
    if is_text(capture):
        return Profile(event, *text_stacks(capture, event))
    given = capture.beside.symbols
    search = None if not user else [] if given is None else [str(given)]
    text = capture.kallsyms_beside()
    with progress(f"reading the samples of {event}") as advance:
        found = capture.native.stacks(event, text, kernel_only, user, search, advance)
    stacks = pa.table(found["stacks"]).column("frames").combine_chunks()
    frames = to_frame(found["frames"])
    symbols = frames["symbol"].cat
    frames["function"] = symbols.codes.map(dict(enumerate(map(folded, symbols.categories))))
    return Profile(
        event,
        to_frame(found["samples"]),
        np.asarray(stacks.offsets, dtype="i8"),
        np.asarray(stacks.values, dtype="i4"),
        frames,
    )


@dataclass(frozen=True)
class Classified:
    """The component of each stack.

    components: their names, UNCLASSIFIED and APPLICATION first. of_stack: for each stack a place
    among them. decided_by: for each stack the frame (a place in Profile.frames) that a rule names,
    -1 where none does. beneath: of_stack by all rules but those of a timer's samples.
    """

    components: list[str]
    of_stack: "NDArray[np.int16]"
    decided_by: "NDArray[np.int32]"
    beneath: "NDArray[np.int16]"


def classify(one: Profile, given: list[Rule]) -> Classified:
    # Innermost first, the first frame that a rule names decides; of several rules the first.
    components = [UNCLASSIFIED, APPLICATION, *dict.fromkeys(rule.component for rule in given)]
    code = {name: at for at, name in enumerate(components)}
    inside = one.frames["in_kernel"].to_numpy()
    numbers, distinct = pd.MultiIndex.from_frame(one.names).factorize()
    taken = [rule for rule in given if not rule.timer]
    # Per different function the rules that name it, up to the first that asks for nothing more.
    named = [_candidates(taken, function, module) for function, module in distinct]
    begins, places = one.begins, one.places
    of_place = numbers[places]
    known = inside[places]
    found = np.full(len(places), -1, dtype="i4")
    for rank in range(max(map(len, named), default=0)):
        rule_of = np.array([own[rank] if rank < len(own) else -1 for own in named], dtype="i4")
        rule = np.where(known & (found < 0), rule_of[of_place], -1)
        for number in np.unique(rule[rule >= 0]):
            here = rule == number
            if taken[number].under:
                here &= _under(taken[number], distinct, of_place, begins)
            found[here] = number
    chosen, frame_of = _first(found, begins)
    of_rule = np.array([code[rule.component] for rule in taken], dtype="i2")
    of_stack = np.where(chosen >= 0, of_rule[chosen], 0).astype("i2")
    decided = np.where(chosen >= 0, places[frame_of], -1).astype("i4")
    of_stack[~one.in_kernel] = code[APPLICATION]
    decided[~one.in_kernel] = -1
    beneath = of_stack.copy()
    if one.is_timed:
        _take_timers(one, given, code, of_stack, decided)
    return Classified(components, of_stack, decided, beneath)


def _take_timers(
    one: Profile,
    given: list[Rule],
    code: dict[str, int],
    of_stack: "NDArray[np.int16]",
    decided: "NDArray[np.int32]",
) -> None:
    # Interrupts enabled again: such samples are of what ran without them.
    names = one.names.iloc[one.leaves]
    for rule in reversed([rule for rule in given if rule.timer]):
        named = {pair: rule.names(*pair) for pair in set(names.itertuples(index=False, name=None))}
        here = np.array([named[pair] for pair in names.itertuples(index=False, name=None)], bool)
        here &= one.in_kernel
        if rule.timer == "address":
            here &= np.isin(one.leaves, one.busiest)
        of_stack[here], decided[here] = code[rule.component], one.leaves[here]


def _candidates(given: list[Rule], function: str, module: str) -> list[int]:
    own = []
    for number, rule in enumerate(given):
        if function and rule.names(function, module):
            own.append(number)
            if not rule.under:
                break
    return own


def _under(
    rule: Rule, distinct: Any, of_place: "NDArray[Any]", begins: "NDArray[np.int64]"
) -> "NDArray[np.bool_]":
    # Whether a function that the rule wants is at or outside each frame, with none of until before.
    wanted = np.array([rule.is_under(function) for function, _ in distinct], dtype=bool)[of_place]
    end = np.array([rule.ends_at(function) for function, _ in distinct], dtype=bool)[of_place]
    nearest = _next(wanted)
    stays: NDArray[np.bool_] = nearest < np.repeat(begins[1:], np.diff(begins))
    return stays & (nearest <= _next(end))


def _next(true: "NDArray[np.bool_]") -> "NDArray[np.int64]":
    # Of each place the next one, itself included, where it is so.
    at = np.where(true, np.arange(len(true)), len(true))
    following: NDArray[np.int64] = np.minimum.accumulate(at[::-1])[::-1]
    return following


def _first(
    found: "NDArray[np.int32]", begins: "NDArray[np.int64]"
) -> "tuple[NDArray[np.int32], NDArray[np.int64]]":
    # Of each stack the first frame with a rule: the rule, -1 for none, and the frame.
    first = _next(found >= 0)[begins[:-1]] if len(found) else begins[:-1]
    none = first >= begins[1:]
    first = np.where(none, begins[:-1], first)
    return np.where(none, -1, found[first]), first


@once
def classified(
    capture: "Capture", event: str, own: str | None = None, user: bool = False
) -> Classified:
    # The components of a capture's stacks.
    return classify(profile(capture, event, user=user), rules(own))
