# What a CaptureError says to a program: its kind, and the byte that it is about.

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from netcost_analysis._native import Capture, CaptureError
from netcost_analysis.errors import LackingError
from support.host import ROOT
from support.perfdata import wrapped
from support.small_captures import small_captures

Provoked = Callable[[Path], object]


def small(name: str) -> bytes:
    return small_captures()[name].files["data"]


def opened(whole: bytes, path: Path) -> Capture:
    path.write_bytes(whole)
    return Capture(str(path))


def patched(name: str, at: int, by: bytes) -> Provoked:
    whole = small(name)
    return lambda path: opened(whole[:at] + by + whole[at + len(by) :], path)


def cut(name: str, size: int) -> Provoked:
    return lambda path: opened(small(name)[:size], path)


def shortened(path: Path) -> object:
    capture = opened(small("file"), path)
    return capture.scan(lambda _done: os.truncate(path, 200))


VERSION_7 = next(name for name in small_captures() if small(name).startswith(b"\x17\x08Dtracing7"))
CASES: dict[str, tuple[Provoked, str, int | None]] = {
    "an image": (lambda path: opened(b"\x89PNG" + bytes(20), path), "not_a_capture", 0),
    "a line": (lambda path: opened(b"that is no event's line\n", path), "not_a_capture", None),
    "a header of another size": (patched("file", 8, b"\x09"), "damaged", 8),
    "packed rubbish": (
        lambda path: opened(wrapped(bytes(99), "gzip")[:10] + b"\xff" * 20, path),
        "damaged",
        0,
    ),
    "half a header": (cut("file", 60), "cut_short", 60),
    "a table of events beyond the end": (cut("file", 110), "cut_short", 110),
    "a trace.dat without its end": (cut(VERSION_7, 20), "cut_short", 18),
    "a version to come": (patched(VERSION_7, 10, b"9"), "unsupported", 10),
    "no such event": (lambda path: opened(small("file"), path).events("no:such"), "missing", None),
    "no such buffer": (
        lambda path: Capture(str(path.write_bytes(small("file")) and path), "none"),
        "missing",
        None,
    ),
    "a window elsewhere": (
        lambda path: opened(small("file"), path).timeline([], start_ns=1 << 60, end_ns=1 << 61),
        "refused",
        None,
    ),
    "shorter than it was": (shortened, "changed", None),
}


@pytest.mark.parametrize("name", CASES)
def test_an_error_has_its_kind_and_its_byte(tmp_path: Path, name: str) -> None:
    provoke, kind, offset = CASES[name]
    with pytest.raises(CaptureError) as raised:
        provoke(tmp_path / "capture")
    assert (raised.value.kind, raised.value.offset) == (kind, offset), str(raised.value)


def test_what_python_itself_refuses_has_a_kind_too() -> None:
    assert (CaptureError("a line").kind, CaptureError("a line").offset) == ("refused", None)
    assert LackingError("events", "a line").kind == "missing"


def test_every_kind_is_documented_and_met() -> None:
    section = (ROOT / "docs" / "definitions.md").read_text().split("| `kind` |")[1]
    documented = re.findall(r"^\| `(\w+)` \|", section.split("\n## ")[0], re.MULTILINE)
    assert sorted(documented) == sorted({kind for _, kind, _ in CASES.values()})
    known = re.findall(r'=> "(\w+)"', (ROOT / "native" / "src" / "error.rs").read_text())
    # Who stops a pass from Python gets the exception that did.
    assert sorted(documented) == sorted({*known} - {"interrupted"})
