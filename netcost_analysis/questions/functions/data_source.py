# Where the data of a load came from: perf's data_src taken apart (union perf_mem_data_src of
# include/uapi/linux/perf_event.h, Linux 6.18, whose bits are the same since they were introduced).

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]

UNKNOWN = "unknown"
LOAD = "load"
# Of a field its first bit and how many it has.
_OP, _LVL, _SNOOP, _LOCK, _TLB = (0, 5), (5, 14), (19, 5), (24, 2), (26, 7)
_LVLNUM, _REMOTE, _SNOOPX = (33, 4), (37, 1), (38, 2)
# The lowest bit of a field of flags: not available. Who sets it says nothing else.
_NA = 1
_OPS = {0x02: LOAD, 0x04: "store", 0x08: "prefetch", 0x10: "execute"}
_HIT, _MISS = 0x02, 0x04
# mem_lvl_num, since Linux 4.14; what is nearest first.
_NUMBERED = {
    7: "L0",
    1: "L1",
    0xC: "line fill buffer",
    2: "L2",
    5: "L2 miss buffer",
    3: "L3",
    4: "L4",
    0xB: "a cache",
    6: "memory-side cache",
    0xD: "memory",
    0xE: "persistent memory",
    9: "CXL memory",
    0xA: "I/O",
    8: "uncached",
}
# mem_lvl, which is older: flags, of which one is set.
_FLAGS = {
    0x08: "L1",
    0x10: "line fill buffer",
    0x20: "L2",
    0x40: "L3",
    0x80: "memory",
    0x100: "remote memory",
    0x200: "remote memory",
    0x400: "remote cache",
    0x800: "remote cache",
    0x1000: "I/O",
    0x2000: "uncached",
}
_FAR = {"memory": "remote memory", **dict.fromkeys(("L2", "L3", "L4", "a cache"), "remote cache")}
# Behind the caches of the CPU's own processor.
BEHIND = ("memory", "remote memory", "persistent memory", "CXL memory", "memory-side cache")
REMOTE = ("remote cache", "remote memory")
HIT, MISS = "hit", "miss"
# Of several the one that says most: what another core has changed, then what it has.
_SNOOPS = {0x10: "modified", 0x04: HIT, 0x08: MISS, 0x02: "none"}


def decoded(data_src: "Words") -> pd.DataFrame:
    # A row per word: memory_op, memory_level, level_result (hit or miss), snoop, dtlb_result (hit
    # or miss); "unknown" where the word does not say, or contradicts itself.
    words, of = np.unique(data_src, return_inverse=True)
    level = _levels(words)
    columns = {
        "memory_op": _one_of(_field(words, _OP), _OPS),
        "memory_level": level,
        "level_result": _result(_field(words, _LVL)),
        "snoop": _first_of(_field(words, _SNOOP), _SNOOPS),
        "dtlb_result": _result(_field(words, _TLB)),
    }
    return pd.DataFrame({name: pd.Categorical(values[of]) for name, values in columns.items()})


def _field(words: "Words", place: tuple[int, int]) -> "NDArray[np.int64]":
    first, width = place
    found = (words >> np.uint64(first)) & np.uint64((1 << width) - 1)
    return found.astype("i8")


def _filled(number: int) -> "NDArray[Any]":
    return np.full(number, UNKNOWN, dtype=object)


def _one_of(flags: "NDArray[np.int64]", names: dict[int, str]) -> "NDArray[Any]":
    # Several of them contradict each other.
    found = _filled(len(flags))
    mask = sum(names)
    for flag, name in names.items():
        found[((flags & mask) == flag) & (flags & _NA == 0)] = name
    return found


def _first_of(flags: "NDArray[np.int64]", names: dict[int, str]) -> "NDArray[Any]":
    found = _filled(len(flags))
    for flag, name in reversed(names.items()):
        found[(flags & flag > 0) & (flags & _NA == 0)] = name
    return found


def _result(flags: "NDArray[np.int64]") -> "NDArray[Any]":
    return _one_of(flags & (_HIT | _MISS | _NA), {_HIT: HIT, _MISS: MISS})


def _levels(words: "Words") -> "NDArray[Any]":
    # By number where there is one, else by flags.
    flags, number = _field(words, _LVL), _field(words, _LVLNUM)
    found = _one_of(flags, _FLAGS)
    for code, name in _NUMBERED.items():
        found[number == code] = name
    for near, far in _FAR.items():
        found[(found == near) & (_field(words, _REMOTE) == 1)] = far
    return found
