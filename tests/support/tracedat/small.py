# A small trace.dat of each kind that the writer can make, with a little of everything in it: what
# mutations and fuzzing start from.

from collections.abc import Callable
from dataclasses import replace

from support.perfdata import MACHINES, X86_64, Common, Machine, cpu, recording
from support.perfdata import happenings as h
from support.perfdata.formats import Value
from support.story import FORMATS, S, networking

from . import options as o
from . import own_events as own
from .contents import SECTIONS, Contents
from .encoded import Packing, encoded
from .ring import Style
from .told import Beside, Dress

OTHER = recording(
    cpu(0, h.SoftirqRaise(S, 1), h.Lost(S + 1, 3), h.SoftirqRaise(S + 2, 1)), formats=FORMATS
)
CHAIN: dict[str, Value] = {"size": 3, "caller": [0x81000000, 0x81000010, 0x81000020]}
COMMON = Common(1, 1, 500)
STACKS = tuple(Beside(0, S + 10_000 * at + 301, own.KERNEL_STACK, CHAIN, COMMON) for at in range(3))
PLAIN = Packing("none")
# Pages smaller than any machine's make small files.
SMALL, PAGE = Style(1024), 1024

# The bytes of a file; and where some of them are packed in it, these before, and how the file is
# made of them.
Made = tuple[bytes, bytes, Callable[[bytes], bytes] | None]


USUAL = Dress(style=SMALL, page_size=PAGE)
EVERYTHING = replace(
    USUAL,
    packing=PLAIN,
    own_formats=own.OWN,
    beside=STACKS,
    instances={"other": OTHER},
    discard_each=3,
    options=(
        *(o.date(1000), o.offset(-5), o.hook("sched:sched_switch,pid/sched:sched_wakeup,pid")),
        o.time_shift(7, [[o.Compared(0, 5), o.Compared(S, 9, 2, 1)], [o.Compared(0, 1)]], 1),
        *(o.guest("guest", 9, {0: 500}), o.tsc2nsec(3, 1), o.cpu_stat(0, 9)),
        o.proc_maps(500, "openssl", [(0x400000, 0x401000, "/usr/bin/openssl")]),
    ),
    kallsyms="ffffffff81000000 T _text\nffffffff81000010 t startup [kernel]\n",
    printk='0xffffffff81000000 : "a text"\n',
)


def made(dress: Dress, machine: Machine = X86_64) -> bytes:
    return encoded(dress.contents(networking(machine)), dress.version, dress.packing)


# Damage to packed bytes seldom gets past the decompressor: here it is done before packing.
def packed_pages(packing: Packing) -> Made:
    contents = USUAL.contents(networking())

    def pack(pages: bytes) -> bytes:
        rings = {**contents.top.rings, 0: pages}
        buffers = (replace(contents.top, rings=rings), *contents.instances)
        return encoded(replace(contents, buffers=buffers), packing=packing)

    inside = contents.top.rings[0]
    return pack(inside), inside, pack


def packed_section(section: int, contents: Contents) -> Made:
    def pack(body: bytes) -> bytes:
        return encoded(contents, bodies={section: body})

    inside = SECTIONS[section](contents)
    return pack(inside), inside, pack


def small_trace_dats() -> dict[str, Made]:
    s390x, ppc, i386 = (MACHINES[name] for name in ("s390x", "ppc", "i386"))
    usual = USUAL.contents(networking())
    large = Dress(packing=PLAIN, style=Style(8192, "absolute", every=True))
    plain = {
        "trace-cmd-6": made(replace(EVERYTHING, version=6)),
        "trace-cmd-6-32": made(replace(USUAL, version=6), i386),
        "trace-cmd-6-big-endian-32": made(replace(USUAL, version=6), ppc),
        "trace-cmd-7": made(EVERYTHING),
        "trace-cmd-7-big-endian": made(EVERYTHING, s390x),
        "trace-cmd-7-large-pages": made(large),
        "trace-cmd-7-many-options": made(
            replace(EVERYTHING, packing=Packing("none", options_each=3))
        ),
        "trace-cmd-7-packed-options": made(replace(EVERYTHING, packing=Packing(options=True))),
    }
    return {name: (data, b"", None) for name, data in plain.items()} | {
        "trace-cmd-7-zstd": packed_pages(Packing(chunk_pages=2)),
        "trace-cmd-7-zlib": packed_pages(Packing("zlib")),
        "trace-cmd-7-zstd-formats": packed_section(o.EVENT_FORMATS, usual),
        "trace-cmd-7-zstd-header": packed_section(o.HEADER_INFO, usual),
    }
