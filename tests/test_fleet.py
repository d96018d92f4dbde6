# A fleet's dataset: a capture's answers are there whole or not at all, and the last ones count.

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from netcost_analysis import CaptureError
from netcost_analysis.errors import ArgumentError
from netcost_analysis.fleet import Dataset, table_of


def row(path: str, events: int = 1) -> dict[str, Any]:
    bins = [{"histogram": "poll_packets", "low": size, "count": events} for size in (1, 2)]
    return {"path": path, "hostname": f"host {path}", "events": events, "histograms": bins}


def counts(data: Dataset) -> dict[str, int]:
    return {one["path"]: one["events"] for one in data.scan("path", "events").to_pylist()}


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    return Dataset.create(tmp_path / "fleet")


def test_the_last_answers_count(data: Dataset) -> None:
    for one in (row("b"), row("a"), {"path": "c", "error": "cut"}, row("b", events=2)):
        data.write(one)
    assert table_of(data.scan(), "captures")["events"].to_pylist() == [1, 2, None]
    bins = table_of(data.scan(), "histograms").to_pylist()
    assert [(one["hostname"], one["low"], one["count"]) for one in bins] == [
        *(("host a", 1, 1), ("host a", 2, 1), ("host b", 1, 2), ("host b", 2, 2))
    ]
    # Who reads the files alone finds each capture once.
    read = pq.read_table(data.folder / "captures")
    assert sorted(read["path"].to_pylist()) == ["a", "b", "c"]
    data.update("b", bytes=7)
    kept = data.scan("path", "bytes", "events").to_pylist()[1]
    assert kept == {"path": "b", "bytes": 7, "events": 2}
    assert len(table_of(data.scan(), "histograms")) == 4
    data.remove(["a", "none"])
    assert counts(data) == {"b": 2, "c": None}


# Also where a killed run, or a copy without empty folders, left no place for captures, and where
# something else lies there.
def test_an_empty_one_has_its_columns(data: Dataset) -> None:
    (data.folder / "captures" / "README.txt").write_text("no capture")
    for _ in range(2):
        assert (
            table_of(data.scan(), "captures").column_names[:4]
            == table_of(data.scan(), "devices").column_names[:4]
        )
        assert len(table_of(data.scan(), "histograms")) == 0
        shutil.rmtree(data.folder / "captures", ignore_errors=True)


# Whatever a run was about to write when it ended.
@pytest.mark.parametrize("size", [0, 99, None])
def test_nothing_half_written_is_read(
    data: Dataset, size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.write(row("a"))
    write = pq.write_table

    def part(table: object, draft: Path, **given: Any) -> None:
        write(table, draft, **given)
        draft.write_bytes(draft.read_bytes()[:size])
        # What is left of one that was killed.
        (draft.parent / f"{draft.name}.parquet").write_bytes(draft.read_bytes())
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pq, "write_table", part)
        for one in (row("a", events=2), row("b")):
            with pytest.raises(KeyboardInterrupt):
                data.write(one)
    assert counts(Dataset(data.folder)) == {"a": 1}
    assert len(list((data.folder / "captures").iterdir())) == 3
    with data.locked():
        assert list((data.folder / "captures").iterdir()) == [data.file("a")]


def test_no_folder_of_somebody_elses(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ArgumentError, match=r"no fleet\.json"):
        Dataset.create(tmp_path)
    with pytest.raises(CaptureError, match="no answers"):
        Dataset(tmp_path)


def test_another_format_is_not_read(data: Dataset) -> None:
    for text in ("", "{", "[]", '{"netcost_fleet": 1}', '{"netcost_fleet": "2"}'):
        (data.folder / "fleet.json").write_text(text)
        with pytest.raises(CaptureError, match="is of format"):
            Dataset(data.folder)


def test_a_damaged_file_is_named(data: Dataset) -> None:
    for path in ("a", "b"):
        data.write(row(path))
    whole = data.file("b").read_bytes()
    pages = bytes(len(whole) // 2)
    for damaged in (b"", b"PAR1", whole[:-9], whole[:4] + pages + whole[4 + len(pages) :]):
        data.file("b").write_bytes(damaged)
        with pytest.raises(CaptureError) as told:
            table_of(data.scan(), "histograms")
        assert str(told.value).startswith(f"{data.file('b')} cannot be read: ")
        assert "\n" not in str(told.value)


def test_two_do_not_write_at_once(data: Dataset) -> None:
    again = Dataset(data.folder).locked()
    with data.locked(), pytest.raises(ArgumentError, match="another netcost fleet"), again:
        pass
