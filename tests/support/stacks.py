# Samples with call chains, described by the names of the functions in them: a folder as
# `perf record --kcore` makes it.

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from netcost_analysis import Capture, open_capture
from support.perfdata import (
    Attr,
    Comm,
    FinishedRound,
    Record,
    Sample,
    SampleType,
    Where,
    write_file,
)
from support.perfdata.attr import TYPE_HARDWARE
from support.perfdata.sample import CONTEXT_KERNEL, CONTEXT_USER

T = SampleType
BASIC = T.IDENTIFIER | T.IP | T.TID | T.TIME | T.CPU | T.PERIOD
TYPE_SOFTWARE = 1
CYCLES = Attr("cycles", 0, (10,), type=TYPE_HARDWARE, sample_type=BASIC | T.CALLCHAIN)
CLOCK = Attr("cpu-clock", 0, (20,), type=TYPE_SOFTWARE, sample_type=BASIC | T.CALLCHAIN)
KERNEL, MODULE, EACH = 0xFFFFFFFF81000000, 0xFFFFFFFFA0000000, 0x1000
# An address in a program, and one of the kernel at which there is no symbol.
USER, NOWHERE = 0x400010, 0xFFFFFFFF80000010


# frames: the kernel's functions, innermost first: "veth_xmit [veth]" is a module's,
# "handle_softirqs+0x80" at that distance from its start, "?" without a name. user: the addresses
# behind them.
@dataclass(frozen=True)
class Stack:
    frames: tuple[str, ...] = ()
    user: tuple[int, ...] = ()
    period: int = 1
    cpu: int = 0
    time_ns: int = 1
    event: int = 0
    mode: str = ""


def stack(path: str, **said: int | str | tuple[int, ...]) -> Stack:
    return Stack(tuple(path.split(" < ")) if path else (), **said)  # type: ignore[arg-type]


# Where each function lies.
class Symbols:
    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def address(self, frame: str) -> int:
        if frame == "?":
            return NOWHERE
        name, _, rest = frame.partition("+")
        offset, _, module = rest.partition(" ") if rest else ("4", "", "")
        full = f"{name} {module}" if module else name
        at = self._places.setdefault(full, len(self._places))
        return (MODULE if "[" in full else KERNEL) + EACH * at + int(offset, 0)

    def kallsyms(self) -> str:
        lines = {self.address(f"{full}") - 4: full for full in self._places}
        words = {at: full.replace(" ", "\t") for at, full in lines.items()}
        return "".join(f"{at:016x} t {text}\n" for at, text in sorted(words.items()))


def sample(one: Stack, symbols: Symbols) -> Sample:
    inside = [symbols.address(frame) for frame in one.frames]
    chain = [CONTEXT_KERNEL, *inside] if inside else []
    chain += [CONTEXT_USER, *one.user] if one.user else []
    return Sample(
        Where(one.cpu, one.time_ns, 500, 500, one.event),
        ip=(inside or one.user or (USER,))[0],
        mode=one.mode or ("kernel" if inside else "user"),
        callchain=tuple(chain),
        period=one.period,
    )


def capture_of(
    folder: Path,
    *told: Stack | Sample | Record,
    attrs: Iterable[Attr] = (CYCLES,),
    symbols: Symbols | None = None,
    names: bool = True,
) -> Capture:
    symbols = symbols or Symbols()
    records = [sample(one, symbols) if isinstance(one, Stack) else one for one in told]
    (folder / "kcore_dir").mkdir(parents=True)
    (folder / "data").write_bytes(write_file(list(attrs), [], [*records, FinishedRound()]))
    if names:
        (folder / "kcore_dir" / "kallsyms").write_text(symbols.kallsyms())
    return open_capture(folder)


# How many samples each component has.
def shares(capture: Capture, **asked: object) -> dict[str, int]:
    frame: pd.DataFrame = capture.ask.functions.components(**asked)["components"]
    return dict(zip(frame["component"], frame["samples"], strict=True))


# Captures of samples by their call paths, outermost first, of several tasks.
KINDS = BASIC | T.CALLCHAIN
FLAGS = frozenset({"sample_id_all", "freq"})
FREQUENT = Attr("cpu-clock", 0, (10,), TYPE_SOFTWARE, KINDS, 1000, flags=FLAGS)


# Samples of one path; "user" frames are none of the kernel's.
@dataclass(frozen=True)
class Called:
    path: Sequence[str]
    comm: str = "openssl"
    tid: int = 70
    times: int = 1
    period: int = 1_000_000
    cpu: int = 0


def write(folder: Path, *told: Called, attr: Attr = FREQUENT) -> str:
    symbols, time = Symbols(), 1_000_000
    tasks = {one.tid: one.comm for one in told}
    records: list[Comm | Sample] = [Comm(tid, tid, comm) for tid, comm in tasks.items()]
    for one in told:
        frames = tuple(name for name in reversed(one.path) if name != "user")
        user = tuple(0x55D0C0DE0000 + 16 * place for place in range(list(one.path).count("user")))
        for _ in range(one.times):
            time += 1_000_000
            made = sample(Stack(frames, user, one.period, one.cpu, time), symbols)
            records.append(replace(made, where=replace(made.where, pid=one.tid, tid=one.tid)))
    capture_of(folder, *records, attrs=[attr], symbols=symbols)
    return str(folder)
