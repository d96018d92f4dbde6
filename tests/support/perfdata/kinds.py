# A record of every kind that stands beside samples, some of odd sizes.

from .records import (
    MISC_PER_TYPE,
    BuildId,
    Comm,
    Fork,
    IdIndex,
    KernelSymbol,
    Lost,
    LostSamples,
    Mmap,
    Mmap2,
    Plain,
    Read,
    Record,
    Throttle,
)
from .sample import CPU_MODES, Counts, Where

KERNEL = 0xFFFFFFFF81000000


# By the names that perf gives them.
def one_of_each(where: Where) -> dict[str, Record]:
    def plain(kind: int, *parts: tuple[int, int] | bytes | str, misc: int = 0) -> Plain:
        return Plain(kind, parts, where, misc)

    task = ((4, where.pid), (4, where.tid))
    poked = ((8, KERNEL + 0x123), (2, 5), (2, 5), b"\x0f\x1f\x44\0\0", b"\xe9\1\2\3\4")
    spaces = [word for place in range(7) for word in ((8, 4), (8, 4026531840 + place))]
    return {
        "MMAP": Mmap(-1, KERNEL, 0xC00000, "[kernel.kallsyms]_text", where, tid=-1, mode="kernel"),
        "LOST": Lost(0, 5, where),
        "COMM": Comm(500, 501, "a-name-of-15-ch", where),
        "FORK": Fork(700, 500, 700, 500, where.time, where),
        "EXIT": Fork(700, 500, 700, 500, where.time, where, exits=True),
        "THROTTLE": Throttle(where),
        "UNTHROTTLE": Throttle(where, unthrottle=True),
        "READ": Read(where, Counts(((0, 12345, 0),))),
        "MMAP2": Mmap2(500, 0x400000, 4096, "/usr/bin/openssl", where),
        "AUX": plain(11, (8, 0), (8, 4096), (8, 1)),
        "ITRACE_START": plain(12, *task),
        "LOST_SAMPLES": LostSamples(5, where),
        "SWITCH": plain(14, misc=MISC_PER_TYPE),
        "SWITCH_CPU_WIDE": plain(15, (4, 600), (4, 601)),
        "NAMESPACES": plain(16, *task, (8, 7), *spaces),
        "KSYMBOL": KernelSymbol(0xFFFFFFFFC0001000, 300, "bpf_prog_6deef7357e7b4530", where=where),
        "BPF_EVENT": plain(18, (2, 1), (2, 0), (4, 42), b"\xde\xad\xbe\xef\1\2\3\4"),
        "CGROUP": plain(19, (8, 4711), "/system.slice/sshd.service"),
        "TEXT_POKE": plain(20, *poked, misc=CPU_MODES["kernel"]),
        "BUILD_ID": BuildId(-1, bytes(range(20)), "[kernel.kallsyms]"),
        "ID_INDEX": IdIndex(((10, 0, 1, -1 % 2**64),)),
    }
