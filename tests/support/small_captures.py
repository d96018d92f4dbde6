# A small capture of each kind that the writer can make, with a little of everything in it: what
# mutations and fuzzing start from.

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from support import story
from support.perfdata import (
    MACHINES,
    X86_64,
    Attr,
    Auxtrace,
    Branch,
    Bytes,
    Common,
    Counts,
    Encoder,
    FinishedRound,
    Format,
    Header,
    IdIndex,
    Machine,
    Mmap2,
    Record,
    Sample,
    SampleType,
    Where,
    wrapped,
    write_file,
    write_pipe,
)
from support.perfdata import records as r
from support.perfdata import tracepoints as t
from support.perfdata.attr import BRANCH_ANY, BRANCH_HW_INDEX, READ_GROUP, READ_ID, READ_LOST
from support.perfdata.formats import Value
from support.perfdata.records import Other
from support.perfdata.sample import CONTEXT_KERNEL, CONTEXT_USER, CPU_MODES
from support.story import S
from support.texts import small_texts
from support.tracedat.small import small_trace_dats

HEADER = Header(
    clock="monotonic",
    cmdline=("perf", "record", "-e", "irq:*", "--filter", "vec==3"),
    saved_cmdlines=((500, "openssl"),),
    kallsyms="ffffffff81000000 T _text\nffffffff81000010 t startup [kernel]\n",
)


@dataclass(frozen=True)
class Described:
    attrs: tuple[Attr, ...]
    formats: tuple[Format, ...]
    records: tuple[Record | Sample, ...]
    machine: Machine = X86_64

    def file(self, **how: int) -> bytes:
        parts = (self.attrs, self.formats, self.records, HEADER, self.machine)
        return write_file(*parts, **how)  # type: ignore[arg-type]

    def pipe(self, **how: int) -> bytes:
        parts = (self.attrs, self.formats, self.records, HEADER, self.machine)
        return write_pipe(*parts, **how)  # type: ignore[arg-type]

    def head(self) -> bytes:
        return write_pipe(self.attrs, self.formats, (), HEADER, self.machine)

    def encoded(self) -> bytes:
        return Encoder(self.attrs, self.machine).all(self.records)

    def payloads(self, format_: Format) -> list[bytes]:
        samples = [one for one in self.records if isinstance(one, Sample)]
        return [one.raw for one in samples if self.attrs[one.where.event].config == format_.id]


KERNEL = 0xFFFFFFFF81000000


# A record of every kind that stands beside samples, some of odd sizes, by the names that perf gives
# them.
def one_of_each(where: Where) -> dict[str, Record]:
    def plain(kind: int, *parts: tuple[int, int] | bytes | str, misc: int = 0) -> r.Plain:
        return r.Plain(kind, parts, where, misc)

    task = ((4, where.pid), (4, where.tid))
    poked = ((8, KERNEL + 0x123), (2, 5), (2, 5), b"\x0f\x1f\x44\0\0", b"\xe9\1\2\3\4")
    spaces = [word for place in range(7) for word in ((8, 4), (8, 4026531840 + place))]
    return {
        "MMAP": r.Mmap(
            -1, KERNEL, 0xC00000, "[kernel.kallsyms]_text", where, tid=-1, mode="kernel"
        ),
        "LOST": r.Lost(0, 5, where),
        "COMM": r.Comm(500, 501, "a-name-of-15-ch", where),
        "FORK": r.Fork(700, 500, 700, 500, where.time, where),
        "EXIT": r.Fork(700, 500, 700, 500, where.time, where, exits=True),
        "THROTTLE": r.Throttle(where),
        "UNTHROTTLE": r.Throttle(where, unthrottle=True),
        "READ": r.Read(where, Counts(((0, 12345, 0),))),
        "MMAP2": r.Mmap2(500, 0x400000, 4096, "/usr/bin/openssl", where),
        "AUX": plain(11, (8, 0), (8, 4096), (8, 1)),
        "ITRACE_START": plain(12, *task),
        "LOST_SAMPLES": r.LostSamples(5, where),
        "SWITCH": plain(14, misc=r.MISC_PER_TYPE),
        "SWITCH_CPU_WIDE": plain(15, (4, 600), (4, 601)),
        "NAMESPACES": plain(16, *task, (8, 7), *spaces),
        "KSYMBOL": r.KernelSymbol(
            0xFFFFFFFFC0001000, 300, "bpf_prog_6deef7357e7b4530", where=where
        ),
        "BPF_EVENT": plain(18, (2, 1), (2, 0), (4, 42), b"\xde\xad\xbe\xef\1\2\3\4"),
        "CGROUP": plain(19, (8, 4711), "/system.slice/sshd.service"),
        "TEXT_POKE": plain(20, *poked, misc=CPU_MODES["kernel"]),
        "BUILD_ID": r.BuildId(-1, bytes(range(20)), "[kernel.kallsyms]"),
        "ID_INDEX": r.IdIndex(((10, 0, 1, -1 % 2**64),)),
    }


# Records beside samples, of every type.
HERE = Where(0, S)
OTHERS: tuple[Record, ...] = (
    *(
        one
        for name, one in one_of_each(HERE).items()
        if name not in ("LOST", "LOST_SAMPLES", "READ", "ID_INDEX")
    ),
    Mmap2(500, 0x400000, 4096, "/usr/bin/openssl", HERE, build_id=b"\x12" * 20),
    # AUX_OUTPUT_HW_ID, and the user's half of a call chain, walked when its task was about to
    # return to user space.
    *(r.Plain(21, ((8, 1),), HERE), r.Plain(22, ((8, 7), (8, 1), (8, 0x400010)), HERE)),
    IdIndex(((100, 0, 0, -1), (101, 1, 1, -1)), ((4000, 0), (4000, 1))),
    *(Other(82), Auxtrace(bytes(16)), Other(200, b"\xff" * 24)),
)


# An interface's receive path over four interrupts, and what the scheduler and the rings do.
def networking(machine: Machine = X86_64, **settings: int) -> Described:
    told = story.networking(machine, **settings)
    return Described(tuple(told.attrs()), told.formats, (*OTHERS, *told.records()), machine)


CHAIN = (CONTEXT_KERNEL, 0xFFFFFFFF81000010, 0xFFFFFFFF81000020, CONTEXT_USER, 0x400010, 0x400020)
BASE = SampleType.IP | SampleType.TID | SampleType.TIME | SampleType.CPU | SampleType.PERIOD
WITH_CHAINS = BASE | SampleType.IDENTIFIER | SampleType.CALLCHAIN
ALL_KINDS = SampleType(0)
for kind in SampleType:
    ALL_KINDS |= kind
ALL_KINDS &= ~SampleType.WEIGHT


# An event of the CPU's beside a tracepoint, whose samples both have all that `kinds` says.
def sampled(
    kinds: SampleType, machine: Machine = X86_64, read_format: int = READ_ID | READ_LOST
) -> Described:
    tracepoint = replace(t.SCHED_SWITCH, id=77)
    shape = {"branch_sample_type": BRANCH_ANY | BRANCH_HW_INDEX, "user_registers": 5}
    shape |= {"interrupt_registers": 3, "read_format": read_format}
    attrs = (
        Attr("cycles", 0, (1, 2), 0, kinds, 4000, **shape),  # type: ignore[arg-type]
        Attr(tracepoint.event, 77, (3, 4), 2, kinds | SampleType.RAW, **shape),  # type: ignore[arg-type]
    )
    values: dict[str, Value] = {one.name: "a" if one.is_text else 7 for one in tracepoint.fields}
    switched = tracepoint.pack(values, Common(0, 1, 500), machine)
    records: list[Record | Sample] = [*OTHERS]
    for number in range(6):
        cycles = Sample(
            Where(number % 2, S + 1000 * number, 500, 500, 0),
            callchain=CHAIN[:number],
            mode="user" if number % 2 else "guest kernel",
            counts=Counts(((0, number, 0), (1, 2 * number, 1))),
            branches=(Branch(1, 2),) * (number % 3),
            user_registers=(1, 2) if number % 2 else None,
            user_stack=b"stack" * (number % 2),
            interrupt_registers=(3, 4),
            aux=b"aux" * number,
        )
        switch = replace(cycles, where=replace(cycles.where, event=1), raw=switched, mode="kernel")
        records += (cycles, switch, FinishedRound())
    records += (r.Read(HERE, Counts(((0, 5, 0),))), r.Lost(0, 3, HERE), r.LostSamples(2, HERE))
    return Described(attrs, (tracepoint,), tuple(records), machine)


# A capture: its files by name, of which a folder has several. Where records or all of it are
# compressed, also what is inside and how that is packed, since damage to packed bytes seldom gets
# past the decompressor.
@dataclass(frozen=True)
class Small:
    files: dict[str, bytes]
    inside: bytes = b""
    pack: Callable[[bytes], bytes] | None = None


def packed(pack: Callable[[bytes], bytes], inside: bytes) -> Small:
    return Small({"data": pack(inside)}, inside, pack)


def packed_records(told: Described, pipe: bool, version: int) -> Small:
    def pack(records: bytes) -> bytes:
        one = replace(told, records=(Bytes(records),))
        return (one.pipe if pipe else one.file)(compressed=version)

    # perf writes what is no plain record beside the compressed ones.
    plain = tuple(one for one in told.records if not isinstance(one, Auxtrace))
    return packed(pack, replace(told, records=plain).encoded())


def wrapping(kind: str, whole: bytes) -> Small:
    # Not even the writer packs nothing into two.
    return packed(lambda data: wrapped(data or bytes(1), kind, members=2), whole)


@cache
def small_captures() -> dict[str, Small]:
    told, chains = networking(), sampled(WITH_CHAINS)
    s390x, ppc, i386, arm = (MACHINES[name] for name in ("s390x", "ppc", "i386", "arm"))
    big, big_old, old = networking(s390x), networking(ppc, attr_size=64), networking(attr_size=64)
    plain = {
        "file": told.file(),
        "file-unfinished": told.file(unfinished=True),
        "file-version-1": old.file(version=1, names=True),
        "file-short-header": old.file(version=1, short=True, names=True),
        "file-big-endian": big.file(),
        "file-big-endian-32": networking(ppc).file(),
        "file-big-endian-version-1": big_old.file(version=1, names=True),
        "file-32": networking(i386).file(),
        "pipe": told.pipe(),
        "pipe-big-endian": big.pipe(),
        "pipe-32": networking(arm).pipe(),
        "pipe-old": old.pipe(old=True),
        "pipe-old-big-endian": big_old.pipe(old=True, chrome=True),
        "sampled": chains.file(),
        "sampled-pipe": chains.pipe(),
        "sampled-everything": sampled(ALL_KINDS, read_format=31).file(),
        "sampled-everything-group": sampled(ALL_KINDS, read_format=READ_GROUP | READ_ID).pipe(),
        "sampled-big-endian": sampled(ALL_KINDS, s390x, 31).file(),
    }
    trace_dats = {
        name: Small({"data": data}, inside, pack)
        for name, (data, inside, pack) in small_trace_dats().items()
    }
    return (
        trace_dats
        | {name: Small({"data": data}) for name, data in (plain | small_texts()).items()}
        | {
            "file-compressed": packed_records(told, pipe=False, version=1),
            "file-compressed2": packed_records(told, pipe=False, version=2),
            "pipe-compressed": packed_records(told, pipe=True, version=1),
            "pipe-compressed2": packed_records(told, pipe=True, version=2),
            "pipe-big-endian-compressed": packed_records(big, pipe=True, version=1),
            "gzip": wrapping("gzip", chains.file()),
            "zstd": wrapping("zstd", chains.pipe()),
            "folder": Small(
                {
                    "data": told.file(threads=True),
                    "data.0": told.encoded(),
                    "data.1": b"",
                    "data.2": b"",
                }
            ),
        }
    )
