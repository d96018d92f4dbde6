# Samples of perf script's text, whose frames have their names beside them, as a profile has them.

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..._native import CaptureError, folded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...capture.capture import Capture

# Of 64 bits; what is written without them is told by where it is.
_UPPER_HALF = 1 << 63
_KERNEL, _GUEST = "[kernel", "[guest"
# In brackets, and no module's.
_NO_MODULE = r"\[(?:kernel|guest|vdso|vsyscall|stack|heap|unknown|anon)"


def text_stacks(
    capture: "Capture", event: str
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
    names, places = _flat(rows["symbols"]), _flat(rows["dsos"])
    kernel, guest = (
        places.str.startswith(begin).to_numpy(dtype=bool) for begin in (_KERNEL, _GUEST)
    )
    inside = ((address >= _UPPER_HALF) | kernel) & ~guest
    is_module = places.str.startswith("[") & ~places.str.match(_NO_MODULE)
    module = places.str.strip("[]").where(is_module, "")
    module = module.mask(places.str.startswith("bpf_prog_"), "bpf")
    # 0 is all of user mode.
    told = pd.DataFrame({"address": address, "symbol": names, "module": module})[inside]
    number, distinct = pd.MultiIndex.from_frame(told).factorize()
    frame_of = np.zeros(len(address), dtype="i4")
    frame_of[inside] = number + 1
    stacks: dict[bytes, int] = {}
    kept: list[NDArray[np.int32]] = []
    of_sample = np.zeros(len(rows), dtype="i4")
    begin = 0
    for at, length in enumerate(lengths):
        whole = frame_of[begin : begin + length]
        begin += int(length)
        outside = np.flatnonzero(whole == 0)
        # Innermost first: user mode is behind the kernel, and counts once.
        one = whole[: outside[0] + 1] if len(outside) else whole
        one = one if len(one) else np.zeros(1, dtype="i4")
        place = stacks.setdefault(one.tobytes(), len(stacks))
        if place == len(kept):
            kept.append(one)
        of_sample[at] = place
    begins = np.append(0, np.cumsum([len(one) for one in kept])).astype("i8")
    flat = np.concatenate(kept) if kept else np.zeros(0, dtype="i4")
    samples = rows.drop(columns=["callchain", "symbols", "dsos"]).assign(stack=of_sample)
    return samples, begins, flat, _frames(distinct)


def _flat(values: "pd.Series[Any]") -> "pd.Series[str]":
    # Of lists the elements, "" for none.
    return pd.Series([one or "" for row in values for one in row], dtype=object).astype(str)


def _frames(distinct: Any) -> pd.DataFrame:
    address, symbol, module = ([one[at] for one in distinct] for at in range(3))
    frames = pd.DataFrame(
        {
            "address": np.array([0, *address], dtype="u8"),
            "in_kernel": [False] + [True] * len(address),
            "symbol": pd.Categorical([None, *(name or None for name in symbol)]),
            "module": pd.Categorical([None, *(name or None for name in module)]),
        }
    )
    # A text has the distance from a function's start only where perf was told to write it.
    frames["offset"] = pd.array([pd.NA] * len(frames), dtype="UInt64")
    known = [None, *(folded(name) if name else None for name in symbol)]
    frames["function"] = pd.Series(known, dtype=object)
    return frames
