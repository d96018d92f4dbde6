# Captures of samples of loads with known answers: no machine that tests run on samples them.

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from netcost_analysis import Capture, open_capture
from support.host import kept_folder
from support.perfdata import Attr, Mmap, Record
from support.perfdata.attr import TYPE_RAW
from support.stacks import BASIC, Symbols, T, capture_of, sample, stack


# Of perf_event.h: what stands where in data_src.
def source(
    op: int = 2, lvl: int = 0, snoop: int = 1, tlb: int = 1, lvlnum: int = 0, remote: int = 0
) -> int:
    return op | lvl << 5 | snoop << 19 | tlb << 26 | lvlnum << 33 | remote << 37


L1 = source(lvl=0x02 | 0x08, lvlnum=1, snoop=2, tlb=0x02 | 0x08 | 0x10)
L3_MODIFIED = source(lvl=0x02 | 0x40, lvlnum=3, snoop=0x10, tlb=0x02 | 0x08 | 0x10)
MEMORY = source(lvl=0x02 | 0x80, lvlnum=0xD, snoop=2 | 8, tlb=0x04 | 0x10)
STORE = source(op=4, lvl=0x02 | 0x08, lvlnum=1)
NOTHING = source(op=1, lvl=1, lvlnum=0xF)
ALL_BITS = 2**64 - 1

LOADS = Attr(
    "cpu/mem-loads,ldlat=30/P",
    0,
    (10,),
    type=TYPE_RAW,
    sample_type=BASIC | T.CALLCHAIN | T.ADDR | T.WEIGHT_STRUCT | T.DATA_SRC | T.PHYS_ADDR,
    clock="monotonic",
)
# Where things lie in the described kernel.
DIRECT, STACK, PER_CPU, DEVICE = (
    *(0xFFFF888000000000, 0xFFFFC90000004000, 0xFFFFE8FFFFC00000, 0xFFFFC90000100000),
)
PAGE, MODULE_DATA, DATA = 0xFFFFEA0000001000, 0xFFFFFFFFC0001000, 0xFFFFFFFF82000100
HEAP, TASK_STACK = 0x555500000000, 0x7FFC00000000
ANONYMOUS, LIBRARY = 0x7F0000000000, 0x7F1000000000
IOMEM = """\
00000000-00000fff : Reserved
00001000-bfffffff : System RAM
  01000000-01ffffff : Kernel code
c0000000-febfffff : PCI Bus 0000:00
  febc0000-febdffff : 0000:00:03.0
100000000-23fffffff : System RAM
"""
VMALLOCINFO = """\
0xffffc90000004000-0xffffc90000009000   20480 dup_task_struct+0x5b/0x1b0 pages=4 vmalloc N0=4
0xffffc90000100000-0xffffc90000121000  135168 pci_iomap_range+0x6d/0x80 phys=0xfebc0000 ioremap
0xffffc90000200000-0xffffc90000205000   20480 bpf_prog_alloc_no_stats+0x4a/0x1d0 pages=4 vmalloc
0xffffe8ffffc00000-0xffffe8ffffe00000 2097152 pcpu_get_vm_areas+0x0/0x1180 vmalloc
"""
SYMBOLS = """\
ffffffff82000000 D _sdata
ffffffff82000100 d net_hotdata
ffffffff82000200 B jiffies
ffffffff82001000 B _end
"""


@dataclass(frozen=True)
class Load:
    path: str
    addr: int
    data_src: int = L1
    latency: int = 10
    period: int = 1
    phys: int = 0
    pid: int = 500


def loads_of(
    folder: Path,
    *loads: Load,
    attr: Attr = LOADS,
    records: Sequence[Record] = (),
    areas: bool = True,
) -> Capture:
    symbols, samples = Symbols(), []
    for one in loads:
        made = sample(stack(one.path, period=one.period), symbols)
        samples.append(
            replace(
                made,
                where=replace(made.where, pid=one.pid, tid=one.pid),
                addr=one.addr,
                data_src=one.data_src,
                weight=(one.latency, 0, 0),
                phys_addr=one.phys,
            )
        )
    capture_of(folder, *records, *samples, attrs=(attr,), symbols=symbols)
    beside = folder / "kcore_dir"
    if areas:
        with (beside / "kallsyms").open("a") as file:
            file.write("ffffffff80f00000 T _text\n" + SYMBOLS)
        (beside / "iomem").write_text(IOMEM)
        (beside / "vmallocinfo").write_text(VMALLOCINFO)
    return open_capture(folder)


def mapped(pid: int, address: int, length: int, name: str) -> Record:
    return Mmap(pid, address, length, name, mode="kernel" if pid < 0 else "user")


MAPPED = (
    mapped(500, HEAP, 0x10000, "[heap]"),
    mapped(500, TASK_STACK, 0x10000, "[stack]"),
    mapped(500, ANONYMOUS, 0x10000, "//anon"),
    mapped(500, LIBRARY, 0x10000, "/usr/lib/libc.so.6"),
    mapped(-1, 0xFFFFFFFFC0000000, 0x4000, "[veth]"),
)


# Half of the time waits for memory of packets, in the copy; page structures are behind the release.
def told_loads() -> list[Load]:
    return [
        *[
            Load("_copy_to_iter", DIRECT + at, MEMORY, 300, 10, phys=at)
            for at in range(0x100000000, 0x100000000 + 640, 64)
        ],
        *[Load("skb_release_data", PAGE + 64 * at, L3_MODIFIED, 100, 10) for at in range(20)],
        *[Load("tcp_v4_rcv", STACK + 8 * at, L1, 5, 10) for at in range(20)],
        Load("tcp_v4_rcv", DATA + 4, L1, 5, 10),
        Load("tcp_v4_rcv", STACK, STORE, 5, 10),
        Load("tcp_v4_rcv", 0, NOTHING, 0, 10),
    ]


@cache
def kept_loads() -> str:
    return str(loads_of(kept_folder() / "loads", *told_loads(), records=MAPPED).path)
