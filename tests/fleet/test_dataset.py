# A fleet's dataset: parts that are there whole or not at all, and of each capture the last answers.

import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from netcost_analysis import CaptureError
from netcost_analysis.errors import ArgumentError
from netcost_analysis.fleet.dataset import Dataset
from netcost_analysis.fleet.tables import SCHEMAS


def rows(*paths: str, events: int = 1) -> dict[str, list[dict[str, Any]]]:
    return {
        "captures": [{"path": path, "events": events} for path in paths],
        "histograms": [{"path": path, "count": events} for path in paths for _ in range(2)],
    }


def events(data: Dataset) -> dict[str, int]:
    return {row["path"]: row["events"] for row in data.read("captures").to_pylist()}


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    return Dataset.create(tmp_path / "fleet")


def test_the_last_answers_count(data: Dataset) -> None:
    data.add(rows("b", "a"))
    data.add(rows("b", events=2))
    assert events(data) == {"a": 1, "b": 2}
    assert data.read("histograms")["count"].to_pylist() == [1, 1, 2, 2]
    assert data.parts() == ["part-000001", "part-000002"]
    data.tidy()
    assert events(data) == {"a": 1, "b": 2}
    # Who reads the files alone finds each capture once.
    read = pq.read_table(data.folder / "captures")
    assert sorted(read["path"].to_pylist()) == ["a", "b"]


def test_parts_are_joined(data: Dataset) -> None:
    data.add(rows("a"))
    data.join([data.add(rows("b")), data.add(rows("a", "c", events=3))])
    assert data.parts() == ["part-000004"]
    assert events(data) == {"a": 3, "b": 1, "c": 3}


def test_what_is_removed_was_told(data: Dataset) -> None:
    data.add(rows("a", "b"))
    data.add(rows("c"))
    data.tidy({"b"}.__contains__)
    assert events(data) == {"b": 1}
    assert data.parts() == ["part-000001"]
    assert data.read("histograms")["path"].to_pylist() == ["b", "b"]


# A run that is killed leaves a draft, or a part that the table of captures has not.
@pytest.mark.parametrize("table", [name for name in SCHEMAS if name != "captures"])
def test_nothing_half_written_is_read(data: Dataset, table: str) -> None:
    data.add(rows("a"))
    whole = data.file(table, "part-000001").read_bytes()
    data.file(table, "part-000002").write_bytes(whole)
    draft = data.folder / table / ".part-000002.parquet.x1.parquet"
    draft.write_bytes(whole[:99])
    assert data.read(table).num_rows == len(rows("a").get(table, ()))
    data.tidy()
    assert not draft.exists()
    assert [path.name for path in (data.folder / table).iterdir()] == ["part-000001.parquet"]


# Whatever file a run was about to write when it ended.
@pytest.mark.parametrize("left", range(5))
def test_a_part_is_there_whole_or_not(
    data: Dataset, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.add(rows("a", "b"))
    written = 0
    write = pq.write_table

    def some(*given: Any, **named: Any) -> None:
        nonlocal written
        if written == left:
            raise KeyboardInterrupt
        written += 1
        write(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(pq, "write_table", some)
        try:
            data.add(rows("b", events=2))
            ended = True
        except KeyboardInterrupt:
            ended = False
    again = Dataset(data.folder)
    assert ended == (left == 4)
    assert events(again) == {"a": 1, "b": 2 if ended else 1}
    again.tidy()
    assert events(again) == {"a": 1, "b": 2 if ended else 1}
    assert again.read("histograms")["count"].to_pylist() == [1, 1, *[2 if ended else 1] * 2]
    assert not list(data.folder.rglob(".part-*"))


def test_no_folder_of_somebody_elses(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ArgumentError, match=r"no fleet\.json"):
        Dataset.create(tmp_path)
    with pytest.raises(CaptureError, match="no answers"):
        Dataset(tmp_path)


def test_a_newer_one_is_not_read(data: Dataset) -> None:
    for text in ("", "{", "[]", '{"netcost_fleet": 2}', '{"netcost_fleet": "1"}'):
        (data.folder / "fleet.json").write_text(text)
        with pytest.raises(CaptureError, match="is of format"):
            Dataset(data.folder)


def test_a_damaged_file_is_named(data: Dataset) -> None:
    data.add(rows("a"))
    data.file("devices", "part-000001").write_bytes(b"PAR1 and no more")
    with pytest.raises(CaptureError, match=r"devices/part-000001\.parquet") as told:
        data.read("devices")
    assert "\n" not in str(told.value)


def test_two_do_not_write_at_once(data: Dataset) -> None:
    seen: list[str] = []

    def other() -> None:
        try:
            with Dataset(data.folder).locked():
                seen.append("written")
        except ArgumentError:
            seen.append("refused")

    with data.locked():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == ["refused"]
