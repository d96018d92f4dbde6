# What a CaptureError says to a program: its kind, and the byte that it is about.

import errno
import os
import re
import resource
from collections.abc import Callable
from functools import partial
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from netcost_analysis._native import Capture, CaptureError, mask_recording
from netcost_analysis.errors import LackingError
from netcost_analysis.files import replacing
from support.host import ROOT
from support.mutations import Mutant, lay_out, mutant
from support.perfdata import wrapped
from support.run_cli import Netcost
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


class Unchanged:
    def replace(self, _kind: str, original: bytes) -> bytes:
        return original

    def progress(self, _fraction: float) -> None:
        pass


def masked(whole: bytes, path: Path) -> None:
    path.write_bytes(whole)
    mask_recording(path, path.with_name("masked"), Unchanged())


def no_record(path: Path) -> None:
    # The first record claims to have no bytes.
    whole, at = small("file"), FIRST + 6
    masked(whole[:at] + bytes(2) + whole[at + 2 :], path)


def without_page(path: Path) -> object:
    (path / "per_cpu").mkdir(parents=True)
    (path / "header_page").write_text("\tfield: char data;\toffset:16;\tsize:0;\tsigned:1;\n")
    return Capture(str(path))


def shortened(path: Path) -> object:
    capture = opened(small("file"), path)
    return capture.scan(lambda _done: os.truncate(path, 200))


VERSION_7 = next(name for name in small_captures() if small(name).startswith(b"\x17\x08Dtracing7"))
FIRST = int.from_bytes(small("file")[40:48], "little")
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
    "nothing": (lambda path: opened(b"", path), "not_a_capture", None),
    "records that cannot be masked": (no_record, "damaged", FIRST),
    "no capture, masked": (lambda path: masked(b"\x7fELF" + bytes(99), path), "not_a_capture", 0),
    "a gzip file that is masked and cut": (
        lambda path: masked(small("gzip")[:-20], path),
        "cut_short",
        len(small("gzip")) - 20,
    ),
    "a copy of tracefs without a page": (without_page, "damaged", 0),
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
    assert "\n" not in str(raised.value)
    assert (raised.value.kind, raised.value.offset) == (kind, offset), str(raised.value)


# Of a folder any file may be meant; of what is packed as a whole, the bytes inside.
def is_within(offset: int | None, one: Mutant) -> bool:
    longest = max(map(len, one.files.values()))
    return offset is not None and (offset <= longest or one.kind in ("gzip", "zstd"))


def test_damage_is_at_a_byte_of_the_file(tmp_path: Path) -> None:
    met, wrong = set(), []
    for one in map(mutant, range(400)):
        path = lay_out(one, tmp_path / str(one.number))
        out = path.with_name(f"{one.number}.masked")
        for call in (partial(Capture, str(path)), partial(mask_recording, path, out, Unchanged())):
            try:
                call()
            except CaptureError as error:
                if error.kind in ("damaged", "cut_short"):
                    met.add((call.func, error.kind))
                    wrong += [] if is_within(error.offset, one) else [f"{one}: {error}"]
    assert len(met) == 4
    assert not wrong


def test_what_python_itself_refuses_has_a_kind_too(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Capture(str(tmp_path / "absent"))
    assert (CaptureError("a line").kind, CaptureError("a line").offset) == ("refused", None)
    assert LackingError("events", "a line").kind == "missing"


def test_every_kind_is_met() -> None:
    known = re.findall(r'=> "(\w+)"', (ROOT / "native" / "src" / "error.rs").read_text())
    # Who stops a pass from Python gets the exception that did.
    assert {kind for _, kind, _ in CASES.values()} == {*known} - {"interrupted"}


# What cannot be written is told of the file that was asked for, and nothing is left beside it.


NIC = str(ROOT / "sample-data" / "nic-stolen-time")
WRITERS = {
    "x.csv": ("events", NIC, "napi:napi_poll"),
    "x.parquet": ("events", NIC, "napi:napi_poll"),
    "ledger.csv": ("ask", "ledger", NIC, "--table", "ns"),
    "x.perfetto-trace": ("convert", NIC),
    "x.md": ("report", NIC, "--notebook", "long.ipynb"),
}


# Executed sooner than one of the project's.
@pytest.fixture
def notebook(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("notebook")
    cells = [new_code_cell("path = ''", metadata={"tags": ["parameters"]})]
    cells += [new_markdown_cell("long " * 200)]
    nbformat.write(new_notebook(cells=cells), folder / "long.ipynb")
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_told_of_the_file(
    netcost: Netcost, name: str, tmp_path: Path, notebook: None
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # None of these files is as small.
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
    try:
        run = netcost(*WRITERS[name], "-o", str(tmp_path / name))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert run.code == 1
    assert run.err.endswith(f"{tmp_path / name}: {os.strerror(errno.EFBIG)}\n")
    assert list(tmp_path.iterdir()) == []


def test_what_is_read_meanwhile_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as failed, replacing(tmp_path / "out"):
        (tmp_path / "capture").read_bytes()
    assert failed.value.filename == str(tmp_path / "capture")
    with pytest.raises(FileNotFoundError) as failed, replacing(tmp_path / "no" / "out"):
        pass
    assert failed.value.filename == str(tmp_path / "no" / "out")
    assert list(tmp_path.iterdir()) == []
