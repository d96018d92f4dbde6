# Files that are no recording, or too damaged to be one: exit status 1 and the one line that
# docs/formats.md promises.

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from struct import pack

import pytest

from support.doors import one_interrupt
from support.host import ROOT
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.run_cli import Netcost
from support.tracedat import Dress, Packing, write_trace_dat

# A dictionary makes a folder: names to contents. A path is taken as it is.
Left = bytes | dict[str, bytes] | Path
Damage = Callable[[bytes], Left]


def put(at: int, value: int) -> Callable[[bytes], bytes]:
    return lambda whole: whole[:at] + value.to_bytes(8, "little") + whole[at + 8 :]


def version_7_without_options(whole: bytes) -> bytes:
    # Behind the name and version of the compression is where the options are.
    at = whole.index(b"zstd\0") + 5
    at = whole.index(b"\0", at) + 1
    return whole[:at] + bytes(8) + whole[at + 8 :]


def version_7_with_others(whole: bytes) -> bytes:
    # A section begins with its number; that of options is 0.
    at = whole.index(b"zstd\0") + 5
    at = whole.index(b"\0", at) + 1
    options = int.from_bytes(whole[at : at + 8], "little")
    return whole[:options] + b"\x10" + whole[options + 1 :]


def overlapping(whole: bytes) -> bytes:
    # The table of version 6: the second CPU's pages begin where the first one's end.
    def word(at: int) -> int:
        return int.from_bytes(whole[at : at + 8], "little")

    for at in range(len(whole) - 32):
        start, size, following = word(at), word(at + 8), word(at + 16)
        if start > 0 == start % 4096 and size > 0 and start + size == following < len(whole):
            return whole[: at + 16] + start.to_bytes(8, "little") + whole[at + 24 :]
    raise AssertionError("no such table")


NO_CAPTURE = "\x89PNG\r\n\x1a\n".encode("latin-1")
PAGE = b"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"
FORMAT = b'name: one\nID: 1\nformat:\n\nprint fmt: ""\n'

# What is done to a whole perf.data.
DAMAGES: dict[str, Damage] = {
    "empty": lambda whole: b"",
    "fifteen bytes": lambda whole: whole[:15],
    "a script": lambda whole: b"#!/bin/sh\n" + whole,
    "an image": lambda whole: NO_CAPTURE + whole,
    "zeros": lambda whole: bytes(64),
    "header of 105": put(8, 55),
    "half a header": lambda whole: whole[:50],
    "attrs outside": put(24, 1 << 40),
    "attrs of one byte": put(16, 1),
    "no attrs": put(32, 0),
    "an empty stream": lambda whole: put(8, 16)(whole[:16]),
    "a stream of samples": lambda whole: (
        put(8, 16)(whole[:16]) + b"\x09\0\0\0\x01\0\x10\0" + bytes(8)
    ),
    "a stream of nothing": lambda whole: put(8, 16)(whole[:16]) + bytes(64),
    "a killed recorder": lambda whole: put(48, 0)(whole)[: int.from_bytes(whole[40:48], "little")],
    "a text": lambda whole: b"This is a letter,\nand no log at all.\n",
    "nothing but comments": lambda whole: b"# tracer: nop\n#\n# entries: 0/0\n",
    "an empty folder": lambda whole: {},
    "a folder": lambda whole: {"notes.txt": b"no capture"},
    "tracefs without formats": lambda whole: {"header_page": PAGE, "per_cpu/cpu0/raw": b""},
    "tracefs without a page": lambda whole: {
        "header_page": PAGE.replace(b"4080", b"0"),
        "per_cpu/cpu0/raw": b"",
        "events/a/one/format": FORMAT,
    },
    "a device": lambda whole: Path("/dev/null"),
    "a folder for a file": lambda whole: {"data": whole, "data.0/x": b""},
    "no gzip": lambda whole: b"\x1f\x8b" + bytes(100),
    "no zstd": lambda whole: b"\x28\xb5\x2f\xfd" + bytes(100),
    "a bomb": lambda whole: gzip.compress(bytes(1 << 20)) * 150,
}


# And to a trace.dat, in one of these dresses.
DRESSES = {
    "6": Dress(6),
    "7": Dress(7),
    "7, sections not packed": Dress(7, Packing(headers=False)),
}
MANY = 80
TRACE_DAT_DAMAGES: dict[str, tuple[str, Damage]] = {
    "a version to come": ("7", lambda whole: whole.replace(b"tracing7", b"tracing9", 1)),
    "version 6 cut short": ("6", lambda whole: whole[:2000]),
    "version 7 cut short": ("7", lambda whole: whole[:20]),
    "version 7 without its end": ("7", lambda whole: whole[:2000]),
    "no options": ("7", version_7_without_options),
    "other options": ("7", version_7_with_others),
    "pages of eight bytes": ("6", lambda whole: whole[:14] + b"\x08\0\0\0" + whole[18:]),
    "CPUs over each other": ("6", overlapping),
    "pages as large as memory": (
        "7, of many CPUs",
        lambda whole: whole.replace(pack("<II", 4096, MANY), pack("<II", 1 << 20, MANY), 1),
    ),
    "no formats": ("6, of nothing", lambda whole: whole),
    "formats packed in another way": ("7", lambda whole: whole.replace(b"zstd\0", b"lzma\0", 1)),
    "pages packed in another way": (
        "7, sections not packed",
        lambda whole: whole.replace(b"zstd\0", b"lzma\0", 1),
    ),
}


def sentences() -> list[str]:
    # The table's first column, with what differs from file to file left open.
    section = (ROOT / "docs" / "formats.md").read_text().split("## What is refused")[1]
    written = re.findall(r"^\| `(.*?)` \|", section.split("\n## ")[0], re.MULTILINE)
    return [
        re.escape(one).replace("gzip", "(gzip|zstd)").replace("…", ".+")
        for one in (re.sub(r"\bN\b", "0", one) for one in written)
    ]


def matching(line: str) -> list[str]:
    plain = re.sub(r"\d+", "0", line)
    return [one for one in sentences() if re.fullmatch(re.sub(r"\d+", "0", one), plain)]


# What is left of a capture, by the name of the damage.
Damaged = Callable[[str], Left]


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Damaged:
    folder = tmp_path_factory.mktemp("capture")
    perf = Path(one_interrupt(folder)).read_bytes()
    told = recording(*(cpu(number, h.SoftirqRaise(1_000, 1)) for number in range(2)))
    made = {
        name: write_trace_dat(told, folder / "trace.dat", dress).read_bytes()
        for name, dress in DRESSES.items()
    }
    many = recording(*(cpu(number, h.SoftirqRaise(1_000, 1)) for number in range(MANY)))
    for name, other, dress in (
        ("6, of nothing", recording(cpu(0), formats=()), Dress(6)),
        ("7, of many CPUs", many, DRESSES["7, sections not packed"]),
    ):
        made[name] = write_trace_dat(other, folder / "trace.dat", dress).read_bytes()

    def damage(name: str) -> Left:
        if name in DAMAGES:
            return DAMAGES[name](perf)
        dress, done = TRACE_DAT_DAMAGES[name]
        return done(made[dress])

    return damage


def refusal(netcost: Netcost, path: Path, data: Left) -> str:
    if isinstance(data, Path):
        path = data
    elif isinstance(data, bytes):
        path.write_bytes(data)
    else:
        path.mkdir()
        for name, contents in data.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(contents)
    run = netcost("info", str(path))
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith(f"netcost: {path}: ")
    return run.err.removeprefix(f"netcost: {path}: ").rstrip("\n")


def test_a_refusal_is_one_documented_line_and_all_are_said(
    netcost: Netcost, damaged: Damaged, tmp_path: Path
) -> None:
    heard = set()
    for number, name in enumerate((*DAMAGES, *TRACE_DAT_DAMAGES)):
        said = refusal(netcost, tmp_path / str(number), damaged(name))
        assert "\n" not in said, name
        assert len(matching(said)) == 1, (name, said)
        heard.update(matching(said))
    assert heard == set(sentences())
    assert len(heard) > 18
