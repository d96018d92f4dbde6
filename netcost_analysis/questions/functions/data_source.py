# Where the data of a load came from: perf's data_src taken apart (union perf_mem_data_src of
# include/uapi/linux/perf_event.h, Linux 6.18, whose bits are the same since they were introduced).

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNKNOWN = "unknown"
LOAD = "load"
HIT, MISS = "hit", "miss"
# The first bit of each field, and how many it has.
_OP, _LVL, _SNOOP, _TLB, _LVLNUM, _REMOTE = (0, 5), (5, 14), (19, 5), (26, 7), (33, 4), (37, 1)
# The lowest bit of a field of flags: not available. Who sets it says nothing else.
_NA = 1
_OPS = {0x02: LOAD, 0x04: "store", 0x08: "prefetch", 0x10: "execute"}
_RESULTS = {0x02: HIT, 0x04: MISS}
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
# The one that says most comes first: what another core has changed, then what it has.
_SNOOPS = {0x10: "modified", 0x04: HIT, 0x08: MISS, 0x02: "none"}


def decoded(data_src: "NDArray[np.uint64]") -> pd.DataFrame:
    # A row per word; "unknown" where the word does not say, or contradicts itself.
    words, place = np.unique(data_src, return_inverse=True)
    columns = ["memory_op", "memory_level", "level_result", "snoop", "dtlb_result"]
    rows = pd.DataFrame([_decoded(int(word)) for word in words], columns=columns, dtype=object)
    return rows.take(place).reset_index(drop=True)


def _decoded(word: int) -> tuple[str, ...]:
    op, flags, snoop, tlb, number, is_remote = (
        word >> first & (1 << width) - 1
        for first, width in (_OP, _LVL, _SNOOP, _TLB, _LVLNUM, _REMOTE)
    )
    level = _NUMBERED.get(number) or _only(flags, _FLAGS)
    if is_remote:
        level = _FAR.get(level, level)
    most = next((name for flag, name in _SNOOPS.items() if snoop & flag), UNKNOWN)
    return (
        _only(op, _OPS),
        level,
        _only(flags, _RESULTS),
        UNKNOWN if snoop & _NA else most,
        _only(tlb, _RESULTS),
    )


def _only(flags: int, names: dict[int, str]) -> str:
    # Several of them contradict each other.
    found = [name for flag, name in names.items() if flags & flag]
    return found[0] if len(found) == 1 and not flags & _NA else UNKNOWN
