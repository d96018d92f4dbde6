# What a load read: what lies at its address, a stack, a heap, the kernel's data, slabs and pages;
# and where the data came from.

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...capture.capture import Capture
from ...parsers.proc_text import Area, ram, virtual_areas

Words = NDArray[np.uint64]

FILE, DEVICE, PAGES = "program or library", "device registers", "page structures"
KERNEL = "unknown, of the kernel"
# Who asks for the memory of stacks, and for data that each CPU has.
_STACKS = (
    *("dup_task_struct", "copy_process", "alloc_thread_stack", "irq_init_percpu_irqstack"),
    *("init_irq_stacks", "arch_alloc_vmap_stack"),
)
_HIGH = np.uint64(1 << 63)
# Documentation/arch/x86/x86_64/mm.rst: as they are without KASLR and with 4 levels of page tables;
# with it their order stays, and they end before the third.
_DIRECT = 0xFFFF888000000000
_VMEMMAP = (0xFFFFEA0000000000, 0xFFFFEB0000000000)
_ENTRY_AREA = 0xFFFFFE0000000000
_IMAGE_X86 = (0xFFFFFFFF80000000, 0xFFFFFFFFA0000000)
# The direct mapping begins at a multiple of what one entry of the third level maps.
_ALIGNED = np.uint64((1 << 30) - 1)
_LIMIT_BYTES = 64 << 20
_DATA = "dDbBrRvVaA"


class Objects(NamedTuple):
    # A value for each load. name: the file, module or symbol, "" where there is none.
    kind: NDArray[Any]
    name: NDArray[Any]


def data_objects(source: Capture, samples: pd.DataFrame) -> Objects:
    # samples: with addr, and where they were recorded pid and phys_addr.
    addresses = samples["addr"].to_numpy(dtype="u8")
    kind = np.full(len(addresses), "unknown", dtype=object)
    kind[addresses > 0] = "unknown, of a task"
    kind[addresses >= _HIGH] = KERNEL
    found = Objects(kind, np.full(len(addresses), "", dtype=object))
    mappings = source.mappings().sort_values("address", kind="stable")
    if "pid" in samples:
        _of_tasks(found, samples["pid"], addresses, mappings[mappings["pid"] >= 0])
    if "phys_addr" in samples:
        _by_physical_address(found, source, samples["phys_addr"].to_numpy(dtype="u8"), addresses)
    _by_area(found, source, addresses)
    _of_modules(found, addresses, mappings[mappings["pid"] < 0])
    _of_image(found, source, addresses)
    return found


def _place(addresses: "Words", start: "Words", end: "Words") -> NDArray[np.int64]:
    # The area that an address is in, -1 for none; areas by their start.
    at = np.searchsorted(start, addresses, "right") - 1
    inside = (at >= 0) & (addresses < np.append(end, np.uint64(0))[at])
    return np.where(inside, at, -1)


def _in_mappings(addresses: "Words", rows: pd.DataFrame) -> NDArray[np.int64]:
    start, length = (rows[name].to_numpy(dtype="u8") for name in ("address", "length"))
    # One that would reach beyond the last address ends there.
    return _place(addresses, start, start + np.minimum(length, ~start))


def _of_tasks(
    found: Objects, pids: "pd.Series[int]", addresses: "Words", mappings: pd.DataFrame
) -> None:
    # Where an address was mapped several times the last mapping counts.
    mappings = mappings.drop_duplicates(["pid", "address"], keep="last")
    by_pid = mappings.groupby("pid").indices
    user = np.flatnonzero((addresses > 0) & (addresses < _HIGH))
    for pid, inside in pd.Series(user).groupby(pids.to_numpy()[user]).indices.items():
        if pid in by_pid:
            mine, rows = user[inside], mappings.iloc[by_pid[pid]]
            at = _in_mappings(addresses[mine], rows)
            files = rows["filename"].astype(str).to_numpy(dtype=object)[at[at >= 0]]
            kinds = [_kind(file) for file in files]
            found.kind[mine[at >= 0]] = kinds
            found.name[mine[at >= 0]] = [
                Path(file).name if kind == FILE else ""
                for file, kind in zip(files, kinds, strict=True)
            ]


def _kind(file: str) -> str:
    if file.startswith("[stack"):
        return "stack of a task"
    if file == "[heap]":
        return "heap of a task"
    if file in ("", "//anon") or file.startswith(("[anon", "/dev/zero", "/SYSV", "anon_inode:")):
        return "anonymous memory of a task"
    return FILE


def _beside(source: Capture, name: str) -> str:
    # What netcost-record copied beside the samples; a link in it could lead anywhere.
    path = Path(source._trace, "kcore_dir", name)
    if path.parent.is_symlink() or path.is_symlink() or not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_LIMIT_BYTES)


def _in_areas(addresses: "Words", areas: list[Area]) -> NDArray[np.int64]:
    start, end = np.array([area[:2] for area in areas], dtype="u8").T
    return _place(addresses, start, end)


def _by_physical_address(
    found: Objects, source: Capture, physical: "Words", addresses: "Words"
) -> None:
    # In the direct mapping an address is the physical one plus the mapping's begin.
    base = addresses - physical
    known = (addresses >= _HIGH) & (physical > 0) & (base & _ALIGNED == 0) & (base >= _HIGH)
    if not known.any():
        return
    bases, counts = np.unique(base[known], return_counts=True)
    direct = bases[counts.argmax()]
    here = known & (base == direct)
    found.kind[here] = "slab or page"
    if memory := ram(_beside(source, "iomem")):
        found.kind[here & (_in_areas(physical, sorted(memory)) < 0)] = DEVICE
    if int(direct) == _DIRECT and source.info["arch"] == "x86_64":
        found.kind[(addresses >= _VMEMMAP[0]) & (addresses < _VMEMMAP[1])] = PAGES


def _by_area(found: Objects, source: Capture, addresses: "Words") -> None:
    areas = virtual_areas(_beside(source, "vmallocinfo"))
    if not areas:
        return
    at = _in_areas(addresses, areas)
    kinds = np.array([_area(area.name) for area in areas], dtype=object)
    found.kind[at >= 0] = kinds[at[at >= 0]]
    if source.info["arch"] == "x86_64":
        # Per-CPU data is at the upper end of that space, and page structures are next.
        last = np.uint64(max(area.end for area in areas))
        above = (addresses >= last) & (addresses < np.uint64(_ENTRY_AREA))
        found.kind[above & (found.kind == KERNEL)] = PAGES


def _area(caller: str) -> str:
    if caller == "ioremap":
        return DEVICE
    if caller.startswith("pcpu_"):
        return "per-CPU data"
    return "kernel stack" if caller.startswith(_STACKS) else "vmalloc area"


def _of_modules(found: Objects, addresses: "Words", mappings: pd.DataFrame) -> None:
    files = mappings["filename"].astype(str)
    is_module = files.str.startswith("[") & ~files.str.startswith(("[kernel.", "[guest."))
    at = _in_mappings(addresses, mappings[is_module])
    names = files[is_module].str.strip("[]").to_numpy(dtype=object)
    here = (at >= 0) & (addresses >= _HIGH)
    found.kind[here], found.name[here] = "data of a module", names[at[here]]


def _of_image(found: Objects, source: Capture, addresses: "Words") -> None:
    # Between the kernel's first symbol and its end; by symbols of data where they were kept.
    symbols = source.kallsyms()
    if symbols is None:
        return
    own = symbols[symbols["module"].isna()]
    bounds = own.drop_duplicates("name").set_index("name")["address"]
    first = next((int(bounds[name]) for name in ("_text", "_stext") if name in bounds), None)
    last = next((int(bounds[name]) for name in ("_end", "__bss_stop") if name in bounds), None)
    if first is None or last is None or not first < last:
        if source.info["arch"] != "x86_64":
            return
        first, last = _IMAGE_X86
    here = np.flatnonzero((addresses >= np.uint64(first)) & (addresses < np.uint64(last)))
    found.kind[here] = "data of the kernel"
    data = own[own["type"].isin(list(_DATA)) & own["address"].between(first, last)]
    data = data.sort_values("address", kind="stable")
    at = np.searchsorted(data["address"].to_numpy(dtype="u8"), addresses[here], "right") - 1
    found.name[here] = np.append(data["name"].to_numpy(dtype=object), "")[at]


UNKNOWN = "unknown"
LOAD = "load"
HIT, MISS = "hit", "miss"
# perf's data_src: union perf_mem_data_src of include/uapi/linux/perf_event.h, Linux 6.18, whose
# bits are the same since they were introduced. The first bit of each field, and how many it has.
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


def decoded(data_src: NDArray[np.uint64]) -> pd.DataFrame:
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
