# A capture that somebody makes shorter, or writes anew, while it is read: one line of error from
# every pass, whatever the format, and never a table of what was left. What a recorder appends, and
# a file that another replaces under its name, change nothing.

import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcost_analysis._native import Capture, CaptureError
from support import doors
from support.bounded import put, repeated
from support.native_tables import ALL_TABLES, rows
from support.perfdata import X86_64, Bytes
from support.perfdata import tracepoints as t
from support.perfdata.formats import Common
from support.small_captures import networking, small_captures
from support.texts import lines
from support.tracedat import Buffer, Contents, Entry, encoded, ring

Tell = Callable[[float], object]
PASSES: dict[str, Callable[[Capture, Tell], Any]] = {
    "scan": lambda capture, tell: capture.scan(tell),
    "timeline": lambda capture, tell: capture.timeline(ALL_TABLES, progress=tell),
    "all_events": lambda capture, tell: capture.all_events(tell),
    "mappings": lambda capture, tell: capture.mappings(tell),
    "counts": lambda capture, tell: capture.counts(
        [(["irq:softirq_raise"], "vec", None, [(0, 1 << 60)])], tell
    ),
    "samples": lambda capture, tell: capture.samples(
        capture.header()["events"][0]["name"], progress=tell
    ),
}
LINE = r"(the file|data(\.\d)?|per_cpu/cpu\d/raw) {} while [^\n]*{}; [^\n]+"
SHORTER = LINE.format("became shorter", r": \d+ bytes of \d+")
ANEW = LINE.format("was written anew", "")


def anew(path: Path, more: int) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.write(b"x" * (size + more))


def emptied_and_filled(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[1:] + whole)


def rename_over(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"x")
    other.replace(path)


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(path.read_bytes()[-4096:])


CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "half of it": (lambda path: os.truncate(path, path.stat().st_size // 2), SHORTER),
    "a byte less": (lambda path: os.truncate(path, path.stat().st_size - 1), SHORTER),
    "nothing": (lambda path: os.truncate(path, 0), SHORTER),
    "as long": (lambda path: anew(path, 0), ANEW),
    "longer": (lambda path: anew(path, 5000), ANEW),
    "longer, of the same kind": (emptied_and_filled, ANEW),
}
HARMLESS = (append, rename_over, Path.unlink)


# More than a reader has ahead of what it shows.
def large() -> dict[str, dict[str, bytes]]:
    told, size = networking(), 9_000_000
    records, text = told.encoded(), "\n".join(lines("ftrace")).encode() + b"\n"
    many = records * (size // len(records))
    payload = t.SOFTIRQ_RAISE.payload({"vec": 3}, Common(1, 1, 500), X86_64)
    page = ring([Entry(10**9 + number, payload) for number in range(255)], X86_64)
    pages = repeated(page, 1000)
    put(pages, 0, 10**9 + 1000 * np.arange(1000), "<u8")
    top = Buffer("", "mono", dict.fromkeys(range(2), pages.tobytes()))
    return {
        "file, large": {"data": replace(told, records=(Bytes(many),)).file()},
        "pipe, large": {"data": told.head() + many},
        "text, large": {"data": text * (size // len(text))},
        "trace.dat, large": {"data": encoded(Contents((top,), (t.SOFTIRQ_RAISE,)), 6)},
    }


@cache
def captures() -> dict[str, dict[str, bytes]]:
    return large() | {name: small.files for name, small in small_captures().items()}


def written(folder: Path, name: str) -> tuple[Path, list[Path]]:
    folder.mkdir()
    if name == "tracefs":
        return Path(doors.tracefs(folder)), sorted(folder.glob("*/per_cpu/*/raw"))
    for file, data in captures()[name].items():
        (folder / file).write_bytes(data)
    files = sorted(folder.iterdir())
    return (folder if len(files) > 1 else files[0]), files


# What a pass gives when a file is changed as it first tells how far it is; None for a pass that
# this capture does not have.
def read(folder: Path, name: str, one: str, change: Callable[[Path], None], file: int) -> Any:
    path, files = written(folder, name)
    for each in files:
        os.utime(each, (10**9, 10**9))
    left = [files[file]]
    capture = Capture(str(path))
    try:
        found = PASSES[one](capture, lambda _done: change(left.pop()) if left else None)
    except CaptureError as error:
        return None if left else str(error)
    return None if left else plain(found)


def plain(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: plain(value) for name, value in found.items()}
    return rows(found) if hasattr(found, "__arrow_c_stream__") else found


def changeable(name: str) -> list[int]:
    if name == "tracefs":
        return [0]
    return [at for at, (_, data) in enumerate(sorted(captures()[name].items())) if data]


PACKED = ("gzip", "zstd")
SIZES = pytest.mark.parametrize("is_large", [True, False], ids=["large", "small"])


def names(is_large: bool) -> list[str]:
    return [name for name in ["tracefs", *captures()] if ("large" in name) is is_large]


@SIZES
def test_one_line_of_a_file_that_is_no_longer_what_it_was(tmp_path: Path, is_large: bool) -> None:
    for name in names(is_large):
        if name in PACKED:
            continue
        (tmp_path / name).mkdir()
        seen = 0
        # Whatever a pass reads for, it reads the file in one way.
        few = {"scan": CHANGES, "timeline": CHANGES}
        pairs = [(one, what) for one in PASSES for what in few.get(one, ("half of it", "as long"))]
        for one, what in pairs:
            change, line = CHANGES[what]
            for file in changeable(name):
                found = read(tmp_path / name / f"{one} {what} {file}", name, one, change, file)
                if found is not None:
                    assert re.fullmatch(line, str(found)), (name, one, what)
                    seen += 1
        assert seen >= len(CHANGES)


@SIZES
def test_what_changes_nothing_is_no_error(tmp_path: Path, is_large: bool) -> None:
    for name in names(is_large):
        (tmp_path / name).mkdir()
        changes = [*HARMLESS, *(change for change, _ in CHANGES.values() if name in PACKED)]
        for one in ("scan",) if is_large else ("scan", "timeline", "all_events"):
            folder = tmp_path / name / one
            want = read(folder, name, one, lambda _path: None, changeable(name)[0])
            for number, change in enumerate(changes):
                for file in changeable(name):
                    found = read(Path(f"{folder} {number} {file}"), name, one, change, file)
                    assert found == want, (name, one, change)
        assert not isinstance(want, str) or "copy it" not in want
