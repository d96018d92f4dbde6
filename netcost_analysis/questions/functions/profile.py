# Samples with their stacks, and the component of each.

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ... import _native
from ...capture.capture import Capture
from ...frames import to_frame
from ...progress import progress
from ...timeline.reading import once
from ..samples.rules import HIDDEN, components_of, native_rules, off_in, rules
from ..samples.sampled import (
    Asked,
    OfEvent,
    SampleGroup,
    SampleGroups,
    chosen_event,
    is_text,
    require_cpu,
    require_names,
    sampled,
    search,
    window_ns,
)
from .text_stacks import text_stacks


@dataclass(frozen=True)
class Profile(OfEvent):
    """Samples of one event.

    samples: a row per sample (Capture.samples without its chain), with stack. begins: of each stack
    the place of its first frame, and at the end their number. places: of each frame of each stack,
    innermost first, a row of frames. frames: address, in_kernel, symbol, module, offset, function;
    where programs were asked for dso, build_id, file_offset, inlined.
    """

    event: str
    samples: pd.DataFrame
    begins: NDArray[np.int64]
    places: NDArray[np.int32]
    frames: pd.DataFrame

    @cached_property
    def leaves(self) -> NDArray[np.int32]:
        """The innermost frame of each stack that has an address of its own: none is inlined."""
        if "inlined" not in self.frames:
            return self.places[self.begins[:-1]]
        whole = np.flatnonzero(~self.frames["inlined"].to_numpy()[self.places])
        return self.places[whole[np.searchsorted(whole, self.begins[:-1])]]

    @cached_property
    def in_kernel(self) -> NDArray[np.bool_]:
        """Whether a stack's innermost frame is the kernel's."""
        inside: NDArray[np.bool_] = self.frames["in_kernel"].to_numpy()
        return inside[self.leaves]

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """How many samples have each stack."""
        return np.bincount(self.samples["stack"], minlength=len(self.leaves))

    @cached_property
    def names(self) -> pd.DataFrame:
        """Of each frame its function and module, "" where there is none."""
        return self.frames[["function", "module"]].astype(object).fillna("")

    def within(
        self, cpu: int | None, start_ns: int | None = None, end_ns: int | None = None
    ) -> NDArray[np.bool_]:
        """Which samples are of a CPU, and of a stretch of the recording's clock, None for all."""
        known = np.ones(len(self.samples), dtype=bool)
        if cpu is not None:
            require_cpu(cpu, set(self.samples["cpu"]))
            known &= self.samples["cpu"].eq(cpu).to_numpy(dtype=bool)
        times = self.samples["time_ns"].to_numpy()
        if start_ns is not None:
            known &= times >= start_ns
        if end_ns is not None:
            known &= times < end_ns
        return known


@once
def profile_of(
    capture: Capture, event: str, kernel_only: bool = True, user: bool = False
) -> Profile:
    # kernel_only: all of user mode is one frame without a name. user: with the files and functions
    # of programs, for which files of this machine are read. Raises CaptureError where there are no
    # samples of the event, or they have no stacks.
    if is_text(capture):
        return Profile(event, *text_stacks(capture, event))
    text = capture.kallsyms_beside()
    where = search(capture) if user else None
    with progress(f"reading the samples of {event}") as advance:
        found = capture.native.stacks(event, text, kernel_only, user, where, advance)
    stacks = pa.table(found["stacks"]).column("frames").combine_chunks()
    frames = to_frame(found["frames"])
    symbols = frames["symbol"].cat
    frames["function"] = symbols.codes.map(dict(enumerate(map(_native.folded, symbols.categories))))
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
    -1 where none does. beneath: of_stack by all rules but those of a timer's samples. ended: for
    each stack the entry of an interrupt that had ended with nothing run behind it, -1 for none.
    """

    components: list[str]
    of_stack: NDArray[np.int16]
    decided_by: NDArray[np.int32]
    beneath: NDArray[np.int16]
    ended: NDArray[np.int32]


def classified(
    capture: Capture,
    event: str | None = None,
    own: str | None = None,
    kernel_only: bool = True,
    user: bool = False,
) -> tuple[Profile, Classified]:
    # A capture's samples of functions, or those beside it, of an event. own: a file of a user's
    # rules. Raises CaptureError where there are none, or the kernel's functions have no names.
    source = sampled(capture)
    profile = profile_of(source, chosen_event(source, event), kernel_only, user)
    has_names = bool(profile.frames["symbol"].notna().any())
    require_names(source.path, bool(profile.in_kernel.any()), has_names)
    return profile, _classified(source, profile.event, own, kernel_only, user)


@once
def _classified(
    source: Capture, event: str, own: str | None, kernel_only: bool, user: bool
) -> Classified:
    # The innermost frame that a rule names decides; of several rules for it the first.
    profile, given = profile_of(source, event, kernel_only, user), rules(own)
    arrays = _native.classify(
        profile.begins.astype("<i8").tobytes(),
        profile.places.astype("<i4").tobytes(),
        profile.leaves.astype("<i4").tobytes(),
        profile.weights.astype("<u8").tobytes(),
        profile.frames["in_kernel"].tolist(),
        list(profile.names.itertuples(index=False, name=None)),
        profile.is_timed,
        native_rules(given),
    )
    kinds = zip(arrays, ("<i2", "<i4", "<i2", "<i4"), strict=True)
    return Classified(components_of(given), *(np.frombuffer(of, kind) for of, kind in kinds))


def interrupts_off_in(profile: Profile, classes: Classified) -> tuple[list[str], NDArray[np.int16]]:
    # The names of what interrupts were off in, and for each stack a place among these, -1 where
    # interrupts were on.
    hidden = classes.components.index(HIDDEN) if HIDDEN in classes.components else -1
    functions = profile.names["function"].to_numpy()
    is_off = np.flatnonzero(classes.of_stack == hidden)
    texts = [
        off_in(functions[frame] if frame >= 0 else None, classes.components[component])
        for frame, component in zip(classes.ended[is_off], classes.beneath[is_off], strict=True)
    ]
    codes, names = pd.factorize(np.array(texts, dtype=object))
    of_stack = np.full(len(classes.of_stack), -1, dtype="i2")
    of_stack[is_off] = codes
    return names.tolist(), of_stack


def sums(
    group: NDArray[Any], periods: "pd.Series[Any]", number: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    # For each group how many samples, the sum of what they stand for, and that of its squares.
    each = periods.fillna(1)
    # Exact, where floats of bincount would not be.
    weights = np.zeros(number, dtype="i8")
    np.add.at(weights, group, each.to_numpy(dtype="i8"))
    squares = np.bincount(group, each.to_numpy(dtype=float) ** 2, number).astype(float)
    return np.bincount(group, minlength=number), weights, squares


def groups_of_text(source: Capture, asked: Asked, user: bool) -> SampleGroups:
    # What native sums up of other recordings: a part per stack.
    profile, classes = classified(source, asked.event, asked.rules, user=user)
    window = window_ns(source, asked.start_s, asked.end_s)
    rows = profile.samples.loc[profile.within(asked.cpu, *window), ["stack", "period"]]
    number = len(profile.leaves)
    names, off = interrupts_off_in(profile, classes)
    functions = _texts(profile.frames["function"])
    leaf = profile.frames.iloc[profile.leaves]
    columns = zip(
        _texts(leaf["function"]),
        _texts(leaf["module"]),
        _texts(leaf["dso"]) if "dso" in leaf else [None] * number,
        leaf["in_kernel"].tolist(),
        (classes.components[at] for at in classes.of_stack),
        (names[at] if at >= 0 else None for at in off),
        (functions[at] if at >= 0 else None for at in classes.decided_by),
        *(of.tolist() for of in sums(rows["stack"].to_numpy(), rows["period"], number)),
        strict=True,
    )
    return SampleGroups(
        profile.event, classes.components, [SampleGroup(*values) for values in columns]
    )


def _texts(values: "pd.Series[Any]") -> list[str | None]:
    known = values.astype(object)
    return known.where(known.notna(), None).tolist()
