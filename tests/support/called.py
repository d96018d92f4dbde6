# Captures of samples with call chains whose functions have names, by kcore_dir/kallsyms.

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.perfdata import Attr, Comm, FinishedRound, Sample, SampleType, Where, write_file
from support.perfdata.attr import TYPE_SOFTWARE
from support.perfdata.sample import CONTEXT_KERNEL, CONTEXT_USER

T = SampleType
KINDS = T.IDENTIFIER | T.IP | T.TID | T.TIME | T.CPU | T.PERIOD | T.CALLCHAIN
FLAGS = frozenset({"sample_id_all", "freq"})
CLOCK = Attr("cpu-clock", 0, (10,), TYPE_SOFTWARE, KINDS, 1000, flags=FLAGS)
BASE, USER = 0xFFFFFFFF81000000, 0x55D0C0DE0000
SIZE = 64


# Samples of one path, outermost first; "user" frames are none of the kernel's.
@dataclass(frozen=True)
class Called:
    path: Sequence[str]
    comm: str = "openssl"
    tid: int = 70
    times: int = 1
    period: int = 1_000_000
    cpu: int = 0


def write(folder: Path, *told: Called, attr: Attr = CLOCK) -> str:
    (folder / "kcore_dir").mkdir(parents=True)
    functions = list(dict.fromkeys(name for one in told for name in one.path if name != "user"))
    at = {name: BASE + SIZE * place for place, name in enumerate(functions)}
    records: list[Comm | Sample | FinishedRound] = [
        Comm(tid, tid, comm) for tid, comm in {one.tid: one.comm for one in told}.items()
    ]
    time = 1_000_000
    for one in told:
        inside = [at[name] + 1 for name in reversed(one.path) if name != "user"]
        outside = [USER + 16 * place for place in range(list(one.path).count("user"))]
        chain = ([CONTEXT_KERNEL, *inside] if inside else []) + (
            [CONTEXT_USER, *outside] if outside else []
        )
        for _ in range(one.times):
            time += 1_000_000
            records.append(
                Sample(
                    Where(one.cpu, time, one.tid, one.tid),
                    ip=(inside or outside)[0],
                    callchain=tuple(chain),
                    period=one.period,
                    mode="kernel" if inside else "user",
                )
            )
    (folder / "data").write_bytes(write_file([attr], [], [*records, FinishedRound()]))
    text = "".join(f"{address:x} T {name}\n" for name, address in at.items())
    (folder / "kcore_dir" / "kallsyms").write_text(text)
    return str(folder)
