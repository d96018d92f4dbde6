# What lies at the address of a load: a stack, a heap, the kernel's data, slabs and pages.

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...parsers.memory_areas import Area, ram, virtual_areas

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...capture.capture import Capture

    Words = NDArray[np.uint64]

UNKNOWN = "unknown"
USER_STACK, HEAP, ANONYMOUS, FILE = (
    *("stack of a task", "heap of a task", "anonymous memory of a task"),
    "program or library",
)
UNMAPPED = "unknown, of a task"
KERNEL_STACK, PER_CPU, VMALLOC, DEVICE = (
    *("kernel stack", "per-CPU data", "vmalloc area", "device registers"),
)
IMAGE, MODULE, SLAB, PAGES = (
    *("data of the kernel", "data of a module", "slab or page", "page structures"),
)
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
    # Of each load; name: the file, module or symbol, "" where there is none.
    kind: "NDArray[Any]"
    name: "NDArray[Any]"


def data_objects(source: "Capture", samples: pd.DataFrame) -> Objects:
    # samples: with addr, and where they were recorded pid and phys_addr.
    addresses = samples["addr"].to_numpy(dtype="u8")
    kind = np.full(len(addresses), UNKNOWN, dtype=object)
    name = np.full(len(addresses), "", dtype=object)
    in_kernel = addresses >= _HIGH
    kind[~in_kernel & (addresses > 0)] = UNMAPPED
    kind[in_kernel] = KERNEL
    found = Objects(kind, name)
    mappings = source.mappings()
    if "pid" in samples:
        _of_tasks(found, samples["pid"].to_numpy(), addresses, mappings[mappings["pid"] >= 0])
    of_kernel = mappings[mappings["pid"] < 0]
    _by_physical_address(found, source, samples, addresses)
    _by_area(found, source, addresses)
    _of_modules(found, addresses, of_kernel)
    _of_image(found, source, addresses)
    return found


def _place(addresses: "Words", start: "Words", end: "Words") -> "NDArray[np.int64]":
    # Of each address the last of these stretches that begins before it, -1 where it is behind it.
    at = np.searchsorted(start, addresses, side="right") - 1
    inside = (at >= 0) & (addresses < end[np.maximum(at, 0)]) if len(start) else at >= 0
    return np.where(inside, at, -1)


def _ends(rows: pd.DataFrame) -> tuple["Words", "Words"]:
    start, length = (rows[name].to_numpy(dtype="u8") for name in ("address", "length"))
    # One that would reach beyond the last address ends there.
    return start, start + np.minimum(length, ~start)


def _of_tasks(
    found: Objects, pids: "NDArray[Any]", addresses: "Words", mappings: pd.DataFrame
) -> None:
    # Of several mappings of one address the last recorded counts.
    rows = mappings.drop_duplicates(["pid", "address"], keep="last")
    of_pid = rows.sort_values("address", kind="stable").groupby("pid")
    places = dict(of_pid.indices)
    ordered = rows.sort_values("address", kind="stable")
    user = np.flatnonzero((addresses > 0) & (addresses < _HIGH))
    by = pd.Series(user).groupby(np.asarray(pids)[user]).indices
    for pid, inside in by.items():
        if pid not in places:
            continue
        mine, own = user[inside], ordered.iloc[places[pid]]
        at = _place(addresses[mine], *_ends(own))
        files = own["filename"].astype(object).to_numpy()
        kinds = np.array([_kind(str(file)) for file in files], dtype=object)
        names = np.array([_name(str(file)) for file in files], dtype=object)
        found.kind[mine[at >= 0]] = kinds[at[at >= 0]]
        found.name[mine[at >= 0]] = names[at[at >= 0]]


def _kind(file: str) -> str:
    if file.startswith("[stack"):
        return USER_STACK
    if file == "[heap]":
        return HEAP
    if file in ("", "//anon") or file.startswith(("[anon", "/dev/zero", "/SYSV", "anon_inode:")):
        return ANONYMOUS
    return FILE


def _name(file: str) -> str:
    return Path(file).name if _kind(file) == FILE else ""


def _beside(source: "Capture", name: str) -> str:
    # What netcost-record copied beside the samples; a link in it could lead anywhere.
    path = Path(source._trace, "kcore_dir", name)
    if path.parent.is_symlink() or path.is_symlink() or not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_LIMIT_BYTES)


def _by_physical_address(
    found: Objects, source: "Capture", samples: pd.DataFrame, addresses: "Words"
) -> None:
    # In the direct mapping an address is the physical one and what the mapping begins at.
    if "phys_addr" not in samples:
        return
    physical = samples["phys_addr"].to_numpy(dtype="u8")
    base = addresses - physical
    known = (addresses >= _HIGH) & (physical > 0) & (base & _ALIGNED == 0) & (base >= _HIGH)
    if not known.any():
        return
    bases, counts = np.unique(base[known], return_counts=True)
    direct = bases[counts.argmax()]
    here = known & (base == direct)
    memory = ram(_beside(source, "iomem"))
    is_ram = _within(physical, memory) if memory else np.ones(len(physical), dtype=bool)
    found.kind[here & is_ram] = SLAB
    found.kind[here & ~is_ram] = DEVICE
    if int(direct) == _DIRECT and source.info["arch"] == "x86_64":
        found.kind[(addresses >= _VMEMMAP[0]) & (addresses < _VMEMMAP[1])] = PAGES


def _within(addresses: "Words", areas: list[Area]) -> "NDArray[np.bool_]":
    rows = sorted(areas)
    start, end = (np.array([row[at] for row in rows], dtype="u8") for at in (0, 1))
    return _place(addresses, start, end) >= 0


def _by_area(found: Objects, source: "Capture", addresses: "Words") -> None:
    areas = virtual_areas(_beside(source, "vmallocinfo"))
    if not areas:
        return
    start, end = (np.array([row[at] for row in areas], dtype="u8") for at in (0, 1))
    at = _place(addresses, start, end)
    kinds = np.array([_area(row.name) for row in areas], dtype=object)
    found.kind[at >= 0] = kinds[at[at >= 0]]
    if source.info["arch"] == "x86_64":
        # Per-CPU data is at the upper end of that space, and page structures are next.
        above = (addresses >= end.max()) & (addresses < np.uint64(_ENTRY_AREA))
        found.kind[above & (found.kind == KERNEL)] = PAGES


def _area(caller: str) -> str:
    if caller == "ioremap":
        return DEVICE
    if caller.startswith("pcpu_"):
        return PER_CPU
    return KERNEL_STACK if caller.startswith(_STACKS) else VMALLOC


def _of_modules(found: Objects, addresses: "Words", mappings: pd.DataFrame) -> None:
    files = mappings["filename"].astype(str)
    inside = files.str.startswith("[") & ~files.str.startswith(("[kernel.", "[guest."))
    rows = mappings[inside].sort_values("address", kind="stable")
    at = _place(addresses, *_ends(rows))
    names = rows["filename"].astype(str).str.strip("[]").to_numpy(dtype=object)
    here = (at >= 0) & (addresses >= _HIGH)
    found.kind[here], found.name[here] = MODULE, names[at[here]]


def _of_image(found: Objects, source: "Capture", addresses: "Words") -> None:
    # Between the kernel's first symbol and its end; by symbols of data where they were kept.
    symbols = source.kallsyms()
    if symbols is None:
        return
    own = symbols[symbols["module"].isna()]
    bounds = own.drop_duplicates("name").set_index("name")["address"]
    x86 = source.info["arch"] == "x86_64"
    first = next((int(bounds[name]) for name in ("_text", "_stext") if name in bounds), None)
    last = next((int(bounds[name]) for name in ("_end", "__bss_stop") if name in bounds), None)
    if first is None or last is None or not first < last:
        if not x86:
            return
        first, last = _IMAGE_X86
    here = np.flatnonzero((addresses >= np.uint64(first)) & (addresses < np.uint64(last)))
    found.kind[here] = IMAGE
    data = own[own["type"].isin(list(_DATA)) & own["address"].between(first, last)]
    data = data.sort_values("address", kind="stable")
    if len(data):
        at = np.searchsorted(data["address"].to_numpy(dtype="u8"), addresses[here], "right") - 1
        names = data["name"].to_numpy(dtype=object)
        found.name[here] = np.where(at >= 0, names[np.maximum(at, 0)], "")
