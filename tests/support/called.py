# Captures of samples by their call paths, outermost first, of several tasks.

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from support.perfdata import Attr, Comm, Sample
from support.stacks import BASIC, TYPE_SOFTWARE, Stack, Symbols, T, capture_of, sample

KINDS = BASIC | T.CALLCHAIN
FLAGS = frozenset({"sample_id_all", "freq"})
CLOCK = Attr("cpu-clock", 0, (10,), TYPE_SOFTWARE, KINDS, 1000, flags=FLAGS)
USER = 0x55D0C0DE0000


# Samples of one path; "user" frames are none of the kernel's.
@dataclass(frozen=True)
class Called:
    path: Sequence[str]
    comm: str = "openssl"
    tid: int = 70
    times: int = 1
    period: int = 1_000_000
    cpu: int = 0


def write(folder: Path, *told: Called, attr: Attr = CLOCK) -> str:
    symbols, time = Symbols(), 1_000_000
    tasks = {one.tid: one.comm for one in told}
    records: list[Comm | Sample] = [Comm(tid, tid, comm) for tid, comm in tasks.items()]
    for one in told:
        frames = tuple(name for name in reversed(one.path) if name != "user")
        user = tuple(USER + 16 * place for place in range(list(one.path).count("user")))
        for _ in range(one.times):
            time += 1_000_000
            made = sample(Stack(frames, user, one.period, one.cpu, time), symbols)
            records.append(replace(made, where=replace(made.where, pid=one.tid, tid=one.tid)))
    capture_of(folder, *records, attrs=[attr], symbols=symbols)
    return str(folder)
