# Which captures paths name: files, bundles, folders at any depth, globs, URLs.

import shutil
from pathlib import Path

import fsspec
import pandas as pd
import pytest

from netcost_analysis.errors import ArgumentError
from netcost_analysis.gathering.gather import gather_fleet
from netcost_analysis.gathering.sources import sources
from support.fleets import Told, captures, content, gathered
from support.host import ROOT

SAMPLES = ROOT / "sample-data"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    captures(tmp_path / "some" / "deep", [Told(), Told(host="web2")])
    bare = tmp_path / "some" / "perf.data"
    shutil.copy(tmp_path / "some" / "deep" / Told().name / "perf.data", bare)
    shutil.copy(bare, f"{bare}.2026112406071300")
    (tmp_path / "some" / "notes.txt").write_text("no capture")
    return tmp_path / "some"


def names(*paths: object) -> list[str]:
    return [Path(one.path).name for one in sources(map(str, paths))]


def test_a_folder_is_all_that_is_in_it(folder: Path) -> None:
    bundles = sorted([Told().name, Told(host="web2").name])
    assert names(folder) == [*bundles, "perf.data", "perf.data.2026112406071300"]
    assert names(folder / "deep" / "*", folder) == names(folder)
    assert names(f"{folder}/**/*.data") == ["perf.data", "perf.data", "perf.data"]
    # What is named itself may be called anything: whoever reads it says what it is.
    assert names(folder / "notes.txt") == ["notes.txt"]
    first = sources([str(folder)])[0]
    assert first.place == first.path
    assert first.bytes == sum(
        path.stat().st_size for path in Path(first.path).rglob("*") if path.is_file()
    )


def test_paths_stay_as_they_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    [one] = sources(["./deep/../perf.data"])
    assert (one.path, one.place) == ("perf.data", str(folder / "perf.data"))


def test_the_samples() -> None:
    assert names(SAMPLES / "nic-stolen-time") == ["nic-stolen-time"]
    assert len(names(SAMPLES / "flows")) == 12


def test_urls_name_the_same(folder: Path) -> None:
    local = sources([str(folder)])
    remote = sources([f"file://{folder}"])
    assert sorted(one.path for one in remote) == sorted(f"file://{one.path}" for one in local)
    assert {one.path: one.bytes for one in remote} == {
        f"file://{one.path}": one.bytes for one in local
    }
    assert all(one.is_url and one.modified for one in remote)
    assert names(f"file://{folder}/*.data") == ["perf.data"]
    assert names(f"file://{folder}/perf.data") == ["perf.data"]


@pytest.mark.parametrize("url", ["nothing://x/y", "file:///none/at/all", "file:///none/*"])
def test_a_url_of_nothing(url: str) -> None:
    with pytest.raises((ArgumentError, OSError)) as told:
        sources([url])
    assert "\n" not in str(told.value)


# Fetched to a copy, which goes; a folder's bundle with all that is in it.
@pytest.mark.usefixtures("sums_alone")
@pytest.mark.parametrize("protocol", ["file", "memory"])
def test_a_url_is_asked_as_a_file_is(
    folder: Path, tmp_path: Path, protocol: str, unpacking: Path
) -> None:
    place = str(folder) if protocol == "file" else "/netcost-fleet"
    files = fsspec.filesystem(protocol)
    if protocol == "memory":
        files.put(str(folder), place, recursive=True)
    url = f"{protocol}://{place}"
    gathered(folder, tmp_path / "local")
    remote = tmp_path / "remote"
    done = gather_fleet([url], remote, one_by_one=True)
    assert (done.captures, done.asked, done.failed) == (4, 4, 0)
    assert list(unpacking.iterdir()) == []
    assert gather_fleet([url], remote, one_by_one=True).asked == 0
    pd.testing.assert_frame_equal(answers(tmp_path / "local"), answers(remote))
    if protocol == "memory":
        files.rm(place, recursive=True)


def answers(where: Path) -> pd.DataFrame:
    # By the captures' names. A bare recording has no time but its file's.
    frame = content(where)["answers"].drop(columns="recorded_at")
    frame["path"] = [Path(path).name for path in frame["path"]]
    return frame.sort_values("path", ignore_index=True)
