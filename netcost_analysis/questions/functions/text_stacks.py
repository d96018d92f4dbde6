# Samples of perf script's text, whose frames have their names beside them, as a profile has them.

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..._native import CaptureError, folded
from ...capture.capture import Capture

# The kernel's half of 64 bits. An address that is printed shorter is known by its file.
_UPPER_HALF = 1 << 63
_KERNEL, _GUEST = "[kernel", "[guest"
# Names in brackets that are no module's.
_NO_MODULE = r"\[(?:kernel|guest|vdso|vsyscall|stack|heap|unknown|anon)"


def text_stacks(
    capture: Capture, event: str
) -> "tuple[pd.DataFrame, NDArray[np.int64], NDArray[np.int32], pd.DataFrame]":
    """The samples of an event, and where each different stack begins, its places, and the frames.

    As Profile has them. What is in user mode is one frame, as of a profile of the kernel only. A
    sample without an address says nothing of functions; raises CaptureError where none has one.
    """
    rows = capture.samples(event)
    rows = rows[rows["callchain"].notna()].reset_index(drop=True)
    if rows.empty:
        raise CaptureError(
            f"no sample of {event} says where it was taken: print addresses and symbols, too "
            "(perf script -F +ip,+sym), or give the recording itself"
        )
    chains = rows["callchain"].to_numpy()
    lengths = np.array([len(chain) for chain in chains], dtype="i8")
    address = np.fromiter((one for chain in chains for one in chain), "u8", int(lengths.sum()))
    names, files = _flat(rows["symbols"]), _flat(rows["dsos"])
    kernel, guest = (
        files.str.startswith(begin).to_numpy(dtype=bool) for begin in (_KERNEL, _GUEST)
    )
    inside = ((address >= _UPPER_HALF) | kernel) & ~guest
    is_module = files.str.startswith("[") & ~files.str.match(_NO_MODULE)
    module = files.str.strip("[]").where(is_module, "")
    module = module.mask(files.str.startswith("bpf_prog_"), "bpf")
    # 0 is all of user mode.
    told = pd.DataFrame({"address": address, "symbol": names, "module": module})[inside]
    frame_of = np.zeros(len(address), dtype="i4")
    frame_of[inside] = told.groupby(list(told), sort=False).ngroup() + 1
    stacks: dict[tuple[int, ...], int] = {}
    of_sample = []
    for whole in np.split(frame_of, np.cumsum(lengths)[:-1]):
        # Innermost first: user mode is behind the kernel, and counts once.
        outside = np.flatnonzero(whole == 0)[:1]
        stack = tuple(whole[: outside[0] + 1] if len(outside) else whole) or (0,)
        of_sample.append(stacks.setdefault(stack, len(stacks)))
    begins = np.cumsum([0, *map(len, stacks)], dtype="i8")
    places = np.array([frame for stack in stacks for frame in stack], dtype="i4")
    samples = rows.drop(columns=["callchain", "symbols", "dsos"])
    samples["stack"] = np.array(of_sample, dtype="i4")
    return samples, begins, places, _frames(told.drop_duplicates())


def _flat(values: "pd.Series[Any]") -> "pd.Series[str]":
    # The elements of all lists, "" for none.
    return pd.Series([one or "" for row in values for one in row], dtype=object).astype(str)


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
