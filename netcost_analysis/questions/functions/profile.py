# Samples with their stacks, and the component of each.

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ... import _native
from ..._native import CaptureError, folded
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

# The kernel's half of 64 bits. An address that is printed shorter is known by its file.
_UPPER_HALF = 1 << 63
# Names in brackets that are no module's.
_NO_MODULE = r"\[(?:kernel|guest|vdso|vsyscall|stack|heap|unknown|anon)"


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


@once
def profile_of(
    capture: Capture, event: str, kernel_only: bool = True, user: bool = False
) -> Profile:
    # kernel_only: all of user mode is one frame without a name. user: with the files and functions
    # of programs, for which files of this machine are read. Raises CaptureError where there are no
    # samples of the event, or they have no stacks.
    if is_text(capture):
        return _of_text(capture, event)
    text = capture.kallsyms_beside()
    where = search(capture) if user else None
    with progress(f"reading the samples of {event}") as advance:
        found = capture.native.stacks(event, text, kernel_only, user, where, advance)
    stacks = pa.table(found["stacks"]).column("frames").combine_chunks()
    frames = to_frame(found["frames"])
    symbols = frames["symbol"].cat
    frames["function"] = symbols.codes.map(dict(enumerate(map(folded, symbols.categories))))
    begins, places = np.asarray(stacks.offsets, dtype="i8"), np.asarray(stacks.values, dtype="i4")
    return Profile(event, to_frame(found["samples"]), begins, places, frames)


def _of_text(capture: Capture, event: str) -> Profile:
    # Of perf script's text, whose frames have their names beside them: what is in user mode is one
    # frame. Raises CaptureError where no sample says where it was taken.
    rows = capture.samples(event)
    rows = rows[rows["callchain"].notna()].reset_index(drop=True)
    if rows.empty:
        raise CaptureError(
            f"no sample of {event} says where it was taken: print addresses and symbols as well "
            "(perf script -F +ip,+sym), or give the recording itself"
        )
    lists = ["callchain", "symbols", "dsos"]
    flat = rows[lists].explode(lists)
    address = flat["callchain"].fillna(0).to_numpy(dtype="u8")
    names, files = (flat[name].astype(object).fillna("").astype(str) for name in lists[1:])
    inside = (address >= _UPPER_HALF) | files.str.startswith("[kernel").to_numpy(dtype=bool)
    inside &= ~files.str.startswith("[guest").to_numpy(dtype=bool)
    is_module = files.str.startswith("[") & ~files.str.match(_NO_MODULE)
    module = files.str.strip("[]").where(is_module, "")
    module = module.mask(files.str.startswith("bpf_prog_"), "bpf")
    # 0 is all of user mode.
    told = pd.DataFrame({"address": address, "symbol": names, "module": module})[inside]
    frame_of = np.zeros(len(flat), dtype="i4")
    frame_of[inside] = told.groupby(list(told), sort=False).ngroup() + 1
    stacks: dict[tuple[int, ...], int] = {}
    of_sample = []
    for whole in np.split(frame_of, np.cumsum(np.bincount(flat.index))[:-1]):
        # Innermost first: user mode is behind the kernel, and counts once.
        outside = np.flatnonzero(whole == 0)[:1]
        stack = tuple(whole[: outside[0] + 1] if len(outside) else whole)
        of_sample.append(stacks.setdefault(stack, len(stacks)))
    begins = np.cumsum([0, *map(len, stacks)], dtype="i8")
    places = np.array([frame for stack in stacks for frame in stack], dtype="i4")
    samples = rows.drop(columns=lists)
    samples["stack"] = np.array(of_sample, dtype="i4")
    return Profile(event, samples, begins, places, _frames(told.drop_duplicates()))


def _frames(distinct: pd.DataFrame) -> pd.DataFrame:
    # The first stands for user mode, of which nothing is known. A text has the distance from a
    # function's start only where perf was told to write it.
    user = pd.DataFrame({"address": np.zeros(1, "u8"), "symbol": "", "module": ""})
    frames = pd.concat([user, distinct], ignore_index=True)
    names = frames[["symbol", "module"]].astype(object).replace("", None)
    return frames.assign(
        in_kernel=frames.index > 0,
        **names.astype("category"),
        offset=pd.array([pd.NA] * len(frames), dtype="UInt64"),
        function=[name and folded(name) for name in names["symbol"]],
    )


@dataclass(frozen=True)
class Classified(Profile):
    """Samples of one event by component.

    samples: with component and interrupts_off_in, as categories, and weight, what each stands for.
    components: their names, UNCLASSIFIED and APPLICATION first. of_stack: for each stack a place
    among them. decided_by: for each stack the frame (a row of frames) that a rule names, -1 where
    none does. off_in: for each stack what interrupts were off in, None where they were on.
    """

    components: list[str]
    of_stack: NDArray[np.int16]
    decided_by: NDArray[np.int32]
    off_in: NDArray[np.object_]

    def within(
        self, cpu: int | None, start_ns: int | None = None, end_ns: int | None = None
    ) -> pd.DataFrame:
        """The samples of a CPU, and of a stretch of the recording's clock, None for all."""
        rows = self.samples
        if cpu is not None:
            require_cpu(cpu, set(rows["cpu"]))
            rows = rows[rows["cpu"].eq(cpu).to_numpy(dtype=bool)]
        if start_ns is not None:
            rows = rows[rows["time_ns"].to_numpy() >= start_ns]
        return rows if end_ns is None else rows[rows["time_ns"].to_numpy() < end_ns]


def classified(
    capture: Capture, event: str | None = None, own: str | None = None, user: bool = False
) -> Classified:
    # A capture's samples of functions, or those beside it, of an event. own: a file of a user's
    # rules. Raises CaptureError where there are none, or the kernel's functions have no names.
    source = sampled(capture)
    profile = profile_of(source, chosen_event(source, event), user=user)
    has_names = bool(profile.frames["symbol"].notna().any())
    require_names(source.path, bool(profile.in_kernel.any()), has_names)
    return _classified(source, profile.event, own, user)


@once
def _classified(source: Capture, event: str, own: str | None, user: bool) -> Classified:
    # The innermost frame that a rule names decides; of several rules for it the first.
    profile, given = profile_of(source, event, user=user), rules(own)
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
    # beneath: by all rules but those of a timer's samples. ended: the entry of an interrupt that
    # had ended with nothing run behind it, -1 for none.
    of_stack, decided_by, beneath, ended = (
        np.frombuffer(of, kind)
        for of, kind in zip(arrays, ("<i2", "<i4", "<i2", "<i4"), strict=True)
    )
    names, functions = components_of(given), profile.names["function"].to_numpy()
    off = np.full(len(of_stack), None, dtype=object)
    for at in np.flatnonzero(of_stack == names.index(HIDDEN)) if HIDDEN in names else ():
        off[at] = off_in(functions[ended[at]] if ended[at] >= 0 else None, names[beneath[at]])
    codes, places = pd.factorize(off)
    stack = profile.samples["stack"].to_numpy()
    samples = profile.samples.assign(
        component=pd.Categorical.from_codes(of_stack[stack], pd.Index(names)),
        interrupts_off_in=pd.Categorical.from_codes(codes[stack], pd.Index(places)),
        weight=profile.samples["period"].fillna(1).to_numpy(dtype="i8"),
    )
    whole = {one.name: getattr(profile, one.name) for one in fields(Profile)}
    return Classified(
        **whole | {"samples": samples},
        components=names,
        of_stack=of_stack,
        decided_by=decided_by,
        off_in=off,
    )


def summed(rows: pd.DataFrame, by: str, every: list[str] | range) -> pd.DataFrame:
    # Of all values of a column how many samples, what they stand for, and the sum of its squares.
    squares = rows["weight"].astype(float) ** 2
    sums = rows.assign(samples=1, squares=squares).groupby(by, observed=True)
    return sums[["samples", "weight", "squares"]].sum().reindex(every, fill_value=0)


def groups_of_text(source: Capture, asked: Asked, user: bool) -> SampleGroups:
    # What native sums up of other recordings: a part per stack.
    profile = classified(source, asked.event, asked.rules, user)
    rows = profile.within(asked.cpu, *window_ns(source, asked.start_s, asked.end_s))
    number = len(profile.leaves)
    functions = _texts(profile.frames["function"])
    leaf = profile.frames.iloc[profile.leaves]
    columns = zip(
        _texts(leaf["function"]),
        _texts(leaf["module"]),
        _texts(leaf["dso"]) if "dso" in leaf else [None] * number,
        leaf["in_kernel"].tolist(),
        (profile.components[at] for at in profile.of_stack),
        profile.off_in,
        (functions[at] if at >= 0 else None for at in profile.decided_by),
        *summed(rows, "stack", range(number)).to_dict("list").values(),
        strict=True,
    )
    return SampleGroups(
        profile.event, profile.components, [SampleGroup(*values) for values in columns]
    )


def _texts(values: "pd.Series[Any]") -> list[str | None]:
    known = values.astype(object)
    return known.where(known.notna(), None).tolist()
