# Samples with their stacks, and the component of each.

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from ... import _native
from ...frames import to_frame
from ...progress import progress
from ...timeline.reading import once
from ..samples.part import require_cpu, require_names, search
from ..samples.rules import Rule, components_of, native_rules, rules
from ..samples.sampled import TIMERS, base_name, is_text
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

    def require_names(self, path: str) -> None:
        """Raises CaptureError where the kernel's frames have no names."""
        known = bool(self.frames["symbol"].notna().any())
        require_names(path, bool(self.in_kernel.any()), known)

    def within(
        self, cpu: int | None, start_ns: int | None = None, end_ns: int | None = None
    ) -> "NDArray[np.bool_]":
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
def profile(
    capture: "Capture", event: str, kernel_only: bool = True, user: bool = False
) -> Profile:
    # The samples of an event; of user mode only that it was, or all frames; user: with the files
    # and functions of programs, for which files of this machine are read. Raises CaptureError where
    # it has none, or they have no stacks.
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
    of_stack: "NDArray[np.int16]"
    decided_by: "NDArray[np.int32]"
    beneath: "NDArray[np.int16]"
    ended: "NDArray[np.int32]"


def classify(one: Profile, given: list[Rule]) -> Classified:
    # Innermost first, the first frame that a rule names decides; of several rules the first.
    told = _native.classify(
        one.begins.astype("<i8").tobytes(),
        one.places.astype("<i4").tobytes(),
        one.leaves.astype("<i4").tobytes(),
        one.weights.astype("<u8").tobytes(),
        one.frames["in_kernel"].tolist(),
        list(one.names.itertuples(index=False, name=None)),
        one.is_timed,
        native_rules(given),
    )
    kinds = zip(told, ("<i2", "<i4", "<i2", "<i4"), strict=True)
    return Classified(components_of(given), *(np.frombuffer(of, kind) for of, kind in kinds))


def _next(true: "NDArray[np.bool_]") -> "NDArray[np.int64]":
    # Of each place the next one, itself included, where it is so.
    at = np.where(true, np.arange(len(true)), len(true))
    following: NDArray[np.int64] = np.minimum.accumulate(at[::-1])[::-1]
    return following


@once
def classified(
    capture: "Capture", event: str, own: str | None = None, user: bool = False
) -> Classified:
    # The components of a capture's stacks.
    return classify(profile(capture, event, user=user), rules(own))
