# Captures asked one after another, without Dask: what is asked again, what is a row, what goes.

import os
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.errors import ArgumentError
from netcost_analysis.gathering import ask_capture as ask_module
from netcost_analysis.gathering import gather as gather_module
from netcost_analysis.gathering.ask_capture import Answered
from netcost_analysis.gathering.gather import gather_fleet
from netcost_analysis.gathering.sources import Source
from support.fleets import Told, assert_same, assert_same_content, captures, content, gathered, some

TOLD = some(hosts=3, days=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    captures(tmp_path / "captures", TOLD)
    return tmp_path / "captures"


def done(paths: object, output: Path, **more: object) -> tuple[int, int, int, int]:
    named = paths if isinstance(paths, list) else [paths]
    found = gather_fleet(named, output, one_by_one=True, **more)  # type: ignore[arg-type]
    return found.asked, found.same, found.failed, found.removed


# Every figure is one that the capture's own answers have.
def test_figures_are_those_of_the_answers(folder: Path, tmp_path: Path) -> None:
    tables = content(gathered(folder, tmp_path / "out"))
    told = TOLD[0]
    path = str(folder / told.name)
    capture = netcost.open_capture(path)
    row = tables["captures"].set_index("path").loc[path]
    info = capture.ask.completeness.recording()
    assert row["hostname"] == info["hostname"] == told.host
    assert row["kernel"] == told.kernel
    assert row["recorded_at"] == told.recorded_at
    assert row["recorded_by"] == "stamp"
    assert (row["events"], row["duration_ns"]) == (info["event_count"], info["duration_ns"])
    answer = tables["answers"].set_index("path").loc[path]
    cost = capture.ask.stolen_time.network_cost()
    victims = capture.ask.stolen_time.stolen().frame
    assert answer["network_cpu_ns"] == cost["network_cpu_ns"]
    assert answer["cpu_ns"] == cost["cpu_ns"]
    assert answer["stolen_network_ns"] == victims["stolen_network_ns"].sum()
    assert answer["net_rx"] == told.rounds
    # Nobody recorded the limits.
    assert pd.isna(answer["squeezes_low"])
    devices = tables["devices"]
    device = devices[devices["path"] == path].iloc[0]
    priced = capture.ask.devices.device_cost().frame.iloc[0]
    assert device["driver"] == told.driver
    whole = device["ns"] - device["cut_poll_ns"]
    assert whole / device["timed_packets"] == pytest.approx(priced["ns_per_work"])
    assert device["busy_polls"] == told.rounds
    bins = tables["histograms"]
    polls = bins[(bins["path"] == path) & (bins["histogram"] == "poll_packets")]
    assert polls[["of", "low", "high", "count"]].values.tolist() == [["eth0", 4, 4, told.rounds]]
    lengths = bins[(bins["path"] == path) & (bins["histogram"] == "softirq_ns")]
    assert lengths["count"].sum() == told.rounds
    assert lengths["ns"].sum() == answer["net_rx_ns"]


@pytest.mark.usefixtures("sums_alone")
def test_only_what_is_new_or_changed_is_asked(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert done(folder, out) == (3, 0, 0, 0)
    first = content(out)
    assert done(folder, out) == (0, 0, 0, 0)
    [new] = captures(folder, [Told(host="db1", day=9)])
    trace = folder / TOLD[1].name / "perf.data"
    touched = trace.stat().st_mtime_ns + 10**9
    os.utime(trace, ns=(touched, touched))
    # One is new, another has another time and the same content.
    assert done(folder, out) == (1, 1, 0, 0)
    assert done(folder, out) == (0, 0, 0, 0)
    tables = content(out)
    assert set(tables["answers"]["path"]) - set(first["answers"]["path"]) == {str(new)}
    # What changed is asked, and its old answers are gone.
    shutil.rmtree(new)
    captures(folder, [Told(host="db1", day=9, rounds=80)])
    other = folder / Told(host="db1", day=9, rounds=80).name
    other.rename(new)
    assert done(folder, out) == (1, 0, 0, 0)
    row = content(out)["answers"].set_index("path").loc[str(new)]
    assert row["net_rx"] == 80
    assert_same(out, gathered(folder, tmp_path / "fresh"))


@pytest.mark.usefixtures("sums_alone")
def test_another_version_asks_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    done(folder, out)
    for module in (gather_module, ask_module):
        monkeypatch.setattr(module, "__version__", "99")
    assert done(folder, out) == (3, 0, 0, 0)
    assert set(content(out)["captures"]["netcost"]) == {"99"}


@pytest.mark.usefixtures("sums_alone")
def test_nothing_is_removed_unless_told(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done(folder, out)
    whole = content(out)
    gone = folder / TOLD[0].name
    shutil.rmtree(gone)
    assert done(folder, out) == (0, 0, 0, 0)
    assert_same_content(content(out), whole)
    assert done(folder, out, prune=True) == (0, 0, 0, 1)
    left = {name: table[table["path"] != str(gone)] for name, table in whole.items()}
    assert_same_content(
        content(out), {name: table.reset_index(drop=True) for name, table in left.items()}
    )


def test_what_cannot_be_read_is_a_row(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    cut = folder / TOLD[0].name / "perf.data"
    cut.write_bytes(cut.read_bytes()[:150])
    (folder / TOLD[1].name / "manifest.json").write_text("{")
    (folder / "empty.data").write_bytes(b"")
    (folder / "noise.netcost.tar.zst").write_bytes(b"\x00\xff" * 50)
    os.mkfifo(tmp_path / "pipe.data")
    missing = tmp_path / "captures" / "gone.data"
    missing.symlink_to(tmp_path / "nowhere")
    named = [folder, tmp_path / "pipe.data", missing]
    assert done(named, out) == (7, 0, 6, 0)
    rows = content(out)["captures"].set_index("path")
    failed = rows[rows["error_kind"].notna()]
    kinds = {Path(path).name: kind for path, kind in failed["error_kind"].items()}
    assert kinds == {
        TOLD[0].name: "refused",
        TOLD[1].name: "refused",
        "empty.data": "refused",
        "noise.netcost.tar.zst": "refused",
        "pipe.data": "unreadable",
        "gone.data": "unreadable",
    }
    assert failed["error"].str.len().gt(10).all()
    assert not failed["error"].str.contains("\n|Traceback").any()
    assert set(content(out)["answers"]["path"]) == set(rows.index[rows["error_kind"].isna()])
    # What a file says does not change; what the system says may.
    missing.unlink()
    shutil.copytree(folder / TOLD[2].name, tmp_path / "nowhere")
    assert done(named[:2], out) == (1, 0, 5, 0)


def test_a_bug_is_a_row_too(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(ask_module, "_sums", wrong)
    assert done(folder, tmp_path / "out") == (3, 0, 3, 0)
    errors = content(tmp_path / "out")["captures"]["error"].unique().tolist()
    assert [one.split(" (")[0] for one in errors] == ["ZeroDivisionError: of ours"]
    assert "NETCOST_TRACEBACK=1" in errors[0]


# Whatever ends a run, what was answered is kept, and the next one goes on.
@pytest.mark.usefixtures("sums_alone")
def test_an_interrupted_run_goes_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    ask = ask_module.ask_capture

    def two(source: Source, known: str | None) -> Answered:
        if len(asked) == 2:
            raise KeyboardInterrupt
        asked.append(source.path)
        return ask(source, known)

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr("netcost_analysis.gathering.cluster.ask_capture", two)
        with pytest.raises(KeyboardInterrupt):
            done(folder, out)
    assert set(content(out)["captures"]["path"]) == set(asked)
    assert done(folder, out) == (1, 0, 0, 0)
    assert_same(out, gathered(folder, tmp_path / "whole"))


def test_hostile_names_are_text(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\n| a | \x1b[31m`$x"
    captures(tmp_path / "captures", [Told(host=hostile, kernel="6.1\n<b>", driver="*d*|")])
    tables = content(gathered(tmp_path / "captures", tmp_path / "out"))
    assert tables["captures"]["hostname"].tolist() == [hostile]
    assert tables["devices"]["kernel"].tolist() == ["6.1\n<b>"]


def test_where_nothing_is(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path / "no*"):
        with pytest.raises(ArgumentError, match=re.escape(str(path))):
            gather_fleet([path], tmp_path / "out", one_by_one=True)
    assert not (tmp_path / "out").exists()
