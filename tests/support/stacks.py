# Samples with call chains, described by the names of the functions in them: a folder as
# `perf record --kcore` makes it.

import atexit
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from netcost_analysis import Capture, open_capture
from support.perfdata import Attr, FinishedRound, Record, Sample, SampleType, Where, write_file
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


_kept = ExitStack()
atexit.register(_kept.close)


# For what is asked by many tests of a process.
def kept_folder() -> Path:
    return Path(_kept.enter_context(TemporaryDirectory()))


# How many samples each component has.
def shares(capture: Capture, **asked: object) -> dict[str, int]:
    frame: pd.DataFrame = capture.ask.functions.components(**asked)["components"]
    return dict(zip(frame["component"], frame["samples"], strict=True))
