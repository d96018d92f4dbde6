# Functions of programs: which file is at an address, and its functions where that file is at hand
# and is the one that was recorded.

import os
import random
import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from netcost_analysis import Capture, CaptureError, mask, open_capture
from support.perfdata import Fork, Mmap2, Record, Where
from support.programs import Program, compiled
from support.stacks import CYCLES, Stack, capture_of, stack

BASE = 0x7F0000000000
HERE = Where(0, 1, 500, 500)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return compiled(tmp_path_factory.mktemp("program"))


def mapped(program: Program, path: str | None = None, build_id: bytes | None = None) -> Mmap2:
    # All of the file, from its beginning.
    size = program.path.stat().st_size
    name = str(program.path) if path is None else path
    return Mmap2(500, BASE, size, name, HERE, build_id=build_id)


def frames(capture: Capture, search: "list[str] | None") -> pd.DataFrame:
    found = capture.native.stacks("cycles", None, False, True, search)
    return pa.table(found["frames"]).to_pandas()


def one(program: Program, folder: Path, *records: Record) -> Capture:
    return capture_of(folder, *records, Stack(user=(BASE + program.inside,), time_ns=5))


def names(capture: Capture) -> list[tuple[object, object]]:
    frame = capture.ask.functions.functions(user=True).frame
    columns = (
        frame[name].astype(object).where(frame[name].notna(), None) for name in ("function", "dso")
    )
    return list(zip(*columns, strict=True))


def test_a_function_has_its_file_its_place_and_what_is_inlined(
    program: Program, tmp_path: Path
) -> None:
    capture = one(program, tmp_path / "x", mapped(program, build_id=program.build_id))
    found = frames(capture, [])
    assert found["symbol"].tolist() == ["mix", "outer"]
    assert found["inlined"].tolist() == [True, False]
    assert found["file_offset"].tolist() == [program.inside] * 2
    assert set(found["build_id"]) == {program.build_id.hex()}
    assert found["offset"].tolist()[1] == program.inside - program.offset
    assert names(capture) == [("outer", str(program.path))]
    components = capture.ask.functions.components().frame
    assert components["component"].tolist() == ["application"]


def test_no_file_is_read_unless_it_is_asked_for(program: Program, tmp_path: Path) -> None:
    capture = one(program, tmp_path / "x", mapped(program))
    found = frames(capture, None)
    assert found["symbol"].isna().all()
    assert found["dso"].tolist() == [str(program.path)]
    frame = capture.ask.functions.functions().frame
    assert frame["function"].tolist() == ["(user mode)"]
    assert frame["dso"].isna().all()


def test_a_file_of_another_build_is_not_taken(program: Program, tmp_path: Path) -> None:
    capture = one(program, tmp_path / "x", mapped(program, build_id=bytes(range(20))))
    assert names(capture) == [(None, str(program.path))]
    # Where none was recorded, as where masking left zeros, the file that is there is taken.
    capture = one(program, tmp_path / "y", mapped(program, build_id=bytes(20)))
    assert names(capture) == [("outer", str(program.path))]


@pytest.mark.parametrize("kind", ["build id", "path", "name"])
def test_a_folder_of_programs(program: Program, tmp_path: Path, kind: str) -> None:
    given, digits = tmp_path / "symbols", program.build_id.hex()
    at = {
        "build id": given / ".build-id" / digits[:2] / f"{digits[2:]}.debug",
        "path": given / "opt/gone/program",
        "name": given / "program",
    }[kind]
    at.parent.mkdir(parents=True)
    shutil.copy(program.path, at)
    record = mapped(program, "/opt/gone/program", program.build_id)
    one(program, tmp_path / "x", record)
    assert names(open_capture(tmp_path / "x")) == [(None, "/opt/gone/program")]
    capture = open_capture(tmp_path / "x", symbols=given)
    assert names(capture) == [("outer", "/opt/gone/program")]


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    capture_of(tmp_path / "x", stack("a"))
    with pytest.raises(CaptureError, match="nothing is no"):
        open_capture(tmp_path / "x", symbols=tmp_path / "nothing")


# A reader of a FIFO would wait for ever, one of /dev/zero would never end.
def test_a_path_that_leads_to_no_regular_file(program: Program, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "text").write_text("no program")
    (tmp_path / "short").write_bytes(b"\x7fELF")
    own = [str(tmp_path / name) for name in ("fifo", "link", "loop", "text", "short", "missing")]
    others = ["/dev/zero", "/dev/stdin", "/proc/kcore", "/proc/self/mem", "/", ""]
    others += ["[vdso]", "//anon", "../" * 20 + "etc/passwd", "/a\n\x1b[2J" * 400]
    for number, path in enumerate([*own, *others]):
        capture = one(program, tmp_path / f"x{number}", mapped(program, path))
        assert [function for function, _ in names(capture)] == [None]


def test_damaged_programs_are_read_or_not(program: Program, tmp_path: Path) -> None:
    whole, draw = program.path.read_bytes(), random.Random(7)
    target = tmp_path / "program"
    capture = one(program, tmp_path / "x", mapped(program, str(target)))
    for _ in range(400):
        bytes_ = bytearray(whole)
        # Headers more often than the rest.
        for _ in range(draw.randint(1, 8)):
            end = draw.choice([64, 1024, len(bytes_)])
            bytes_[draw.randrange(end)] = draw.choice([0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)])
        target.write_bytes(bytes_[: draw.choice([len(bytes_), draw.randrange(len(bytes_))])])
        assert len(frames(capture, [])) < 64


# A process has what its parent had, and what is mapped later counts from then on.
def test_the_file_is_that_of_the_process_at_the_time(tmp_path: Path) -> None:
    at, later = (Where(0, time, 500, 500) for time in (1, 20))
    user = (BASE + 8,)
    capture = capture_of(
        tmp_path / "x",
        Mmap2(400, BASE, 4096, "/a", at),
        Fork(500, 400, 500, 400, 5, Where(0, 5, 400, 400)),
        Mmap2(500, BASE, 4096, "/b", later),
        *(Stack(user=user, time_ns=time) for time in (2, 10, 30)),
        attrs=[CYCLES],
    )
    found = capture.native.stacks("cycles", None, False, True, None)
    table = pa.table(found["frames"]).to_pandas()
    stacks = pa.table(found["stacks"]).column("frames").to_pylist()
    samples = pa.table(found["samples"]).column("stack").to_pylist()
    dsos = [table["dso"].tolist()[stacks[number][0]] for number in samples]
    assert [None if isinstance(dso, float) else dso for dso in dsos] == [None, "/a", "/b"]


def test_a_masked_copy_names_no_program(program: Program, tmp_path: Path) -> None:
    one(program, tmp_path / "x", mapped(program, build_id=program.build_id))
    mask(tmp_path / "x" / "data", tmp_path / "masked")
    capture = open_capture(tmp_path / "masked", symbols=program.path.parent)
    [(function, dso)] = names(capture)
    assert function is None
    assert isinstance(dso, str)
    assert "program" not in dso
    assert capture.mappings()["build_id"].isna().all()
    assert program.build_id not in (tmp_path / "masked").read_bytes()
