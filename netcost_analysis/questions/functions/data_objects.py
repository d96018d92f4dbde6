# What lies at the address of a load: a stack, a heap, the kernel's data, slabs and pages.

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...parsers.proc_text import Area, ram, virtual_areas

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...capture.capture import Capture

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
    kind: "NDArray[Any]"
    name: "NDArray[Any]"


def data_objects(source: "Capture", samples: pd.DataFrame) -> Objects:
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


def _place(addresses: "Words", start: "Words", end: "Words") -> "NDArray[np.int64]":
    # The area that an address is in, -1 for none; areas by their start.
    at = np.searchsorted(start, addresses, "right") - 1
    inside = (at >= 0) & (addresses < np.append(end, np.uint64(0))[at])
    return np.where(inside, at, -1)


def _in_mappings(addresses: "Words", rows: pd.DataFrame) -> "NDArray[np.int64]":
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


def _beside(source: "Capture", name: str) -> str:
    # What netcost-record copied beside the samples; a link in it could lead anywhere.
    path = Path(source._trace, "kcore_dir", name)
    if path.parent.is_symlink() or path.is_symlink() or not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_LIMIT_BYTES)


def _in_areas(addresses: "Words", areas: list[Area]) -> "NDArray[np.int64]":
    start, end = np.array([area[:2] for area in areas], dtype="u8").T
    return _place(addresses, start, end)


def _by_physical_address(
    found: Objects, source: "Capture", physical: "Words", addresses: "Words"
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


def _by_area(found: Objects, source: "Capture", addresses: "Words") -> None:
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


def _of_image(found: Objects, source: "Capture", addresses: "Words") -> None:
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
