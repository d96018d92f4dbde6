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
from support.perfdata import Fork, Mmap2, Where
from support.programs import Program, compiled
from support.stacks import Stack, capture_of

BASE = 0x7F0000000000
HERE = Where(0, 1, 500, 500)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return compiled(tmp_path_factory.mktemp("program"))


# A sample in all of the program's file, mapped from its beginning.
def sampled(
    program: Program, folder: Path, path: object = None, build_id: bytes | None = None
) -> Capture:
    size, name = program.path.stat().st_size, str(program.path if path is None else path)
    mapped = Mmap2(500, BASE, size, name, HERE, build_id=build_id)
    return capture_of(folder, mapped, Stack(user=(BASE + program.inside,), time_ns=5))


def frames(capture: Capture, search: "list[str] | None") -> pd.DataFrame:
    found = capture.native.stacks("cycles", None, False, True, search)
    return pa.table(found["frames"]).to_pandas()


def names(capture: Capture) -> list[tuple[object, object]]:
    rows = capture.ask.functions.functions(user=True).frame[["function", "dso"]].astype(object)
    return list(rows.where(rows.notna(), None).itertuples(index=False, name=None))


def test_a_function_has_its_file_its_place_and_what_is_inlined(
    program: Program, tmp_path: Path
) -> None:
    capture = sampled(program, tmp_path / "x", build_id=program.build_id)
    found = frames(capture, [])
    assert found["symbol"].tolist() == ["mix", "outer"]
    assert found["inlined"].tolist() == [True, False]
    assert found["file_offset"].tolist() == [program.inside] * 2
    assert set(found["build_id"]) == {program.build_id.hex()}
    assert found["offset"].tolist()[1] == program.inside - program.offset
    assert names(capture) == [("outer", str(program.path))]
    assert capture.ask.functions.components().frame["component"].tolist() == ["application"]
    # No file is read unless it is asked for.
    found = frames(capture, None)
    assert found["symbol"].isna().all()
    assert found["dso"].tolist() == [str(program.path)]
    frame = capture.ask.functions.functions().frame
    assert frame["function"].tolist() == ["(user mode)"]
    assert frame["dso"].isna().all()


# Where no build was recorded, as where masking left zeros, the file that is there is taken.
def test_a_file_of_another_build_is_not_taken(program: Program, tmp_path: Path) -> None:
    builds = ((bytes(range(20)), None), (bytes(20), "outer"), (None, "outer"))
    for number, (build_id, function) in enumerate(builds):
        capture = sampled(program, tmp_path / str(number), build_id=build_id)
        assert names(capture) == [(function, str(program.path))]


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
    sampled(program, tmp_path / "x", "/opt/gone/program", program.build_id)
    assert names(open_capture(tmp_path / "x")) == [(None, "/opt/gone/program")]
    capture = open_capture(tmp_path / "x", symbols=given)
    assert names(capture) == [("outer", "/opt/gone/program")]
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
        capture = sampled(program, tmp_path / f"x{number}", path)
        assert [function for function, _ in names(capture)] == [None]


def test_damaged_programs_are_read_or_not(program: Program, tmp_path: Path) -> None:
    whole, draw = program.path.read_bytes(), random.Random(7)
    target = tmp_path / "program"
    capture = sampled(program, tmp_path / "x", target)
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
    capture = capture_of(
        tmp_path / "x",
        Mmap2(400, BASE, 4096, "/a", at),
        Fork(500, 400, 500, 400, 5, Where(0, 5, 400, 400)),
        Mmap2(500, BASE, 4096, "/b", later),
        *(Stack(user=(BASE + 8,), time_ns=time) for time in (2, 10, 30)),
    )
    found = capture.native.stacks("cycles", None, False, True, None)
    table = pa.table(found["frames"]).to_pandas()
    stacks = pa.table(found["stacks"]).column("frames").to_pylist()
    samples = pa.table(found["samples"]).column("stack").to_pylist()
    dsos = [table["dso"].tolist()[stacks[number][0]] for number in samples]
    assert [None if isinstance(dso, float) else dso for dso in dsos] == [None, "/a", "/b"]


def test_a_masked_copy_names_no_program(program: Program, tmp_path: Path) -> None:
    sampled(program, tmp_path / "x", build_id=program.build_id)
    mask(tmp_path / "x" / "data", tmp_path / "masked")
    capture = open_capture(tmp_path / "masked", symbols=program.path.parent)
    [(function, dso)] = names(capture)
    assert function is None
    assert isinstance(dso, str)
    assert "program" not in dso
    assert capture.mappings()["build_id"].isna().all()
    assert program.build_id not in (tmp_path / "masked").read_bytes()
