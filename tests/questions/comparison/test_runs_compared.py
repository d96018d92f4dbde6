# Which runs a comparison is of: what names each, and what it is worth.

import hashlib
from pathlib import Path

from netcost_analysis import compare, open_capture
from support.perfdata import recording
from support.run_sets import COMMAND, compared, measured, polling, recorded


def test_each_run_is_named_by_its_checksum(tmp_path: Path) -> None:
    base, new = recorded(tmp_path / "a"), recorded(tmp_path / "b", polling(3_000))
    frame = compared(base, new).ask.comparison.runs_compared().frame
    assert list(frame["side"]) == ["base", "new"]
    assert list(frame["of_run"]) == ["a", "b"]
    for row, name in zip(frame.itertuples(), ("a", "b"), strict=True):
        trace = (tmp_path / name / "trace.perf.data").read_bytes()
        assert row.sha256 == hashlib.sha256(trace).hexdigest()
        provenance = open_capture(tmp_path / name).ask.completeness.provenance()
        assert row.sha256 == provenance["sha256"]
        assert row.path == str(tmp_path / name)
        assert row.load == COMMAND
        assert (row.kernel, row.cpu_model, row.recorder) == ("6.18.0", "EPYC", "perf 6.1.187")
        assert (row.event_count, row.lost_events, row.recorded_share) == (400, 0, 1.0)
    assert frame["duration_ns"].tolist() == [992_000, 993_000]


def test_a_run_without_a_recording_has_a_row(tmp_path: Path) -> None:
    answer = compared(
        measured("base", [1.0]), recorded(tmp_path / "b")
    ).ask.comparison.runs_compared()
    first = answer.frame.iloc[0]
    assert (first["of_run"], first["is_recorded"], first["kernel"]) == ("base/0", False, "base")
    assert answer.frame[["path", "sha256", "duration_ns", "load"]].iloc[0].isna().all()
    side = answer["sides"][0]
    assert (side["side"], side["runs"], side["recorded"]) == ("base", 1, 0)


def test_of_two_sides_one_that_was_recorded_is_to_name(tmp_path: Path) -> None:
    base = measured("base", [1.0])
    assert compared(base, recorded(tmp_path / "b")).recording_to_name.endswith(" b")
    assert "base" not in compared(base, measured("new", [1.0])).recording_to_name


def test_a_rotated_recording_has_a_row_per_file(tmp_path: Path) -> None:
    files = [tmp_path / f"perf.data.202611200000000{at}" for at in range(2)]
    for at, file in enumerate(files):
        recording(polling(2_000 + at)).write(file)
    other = recording(polling()).write(tmp_path / "other.data")
    folder = tmp_path / "rotated"
    folder.mkdir()
    for file in files:
        file.rename(folder / file.name)
    answer = compare(folder, other).ask.comparison.runs_compared()
    rows = answer.frame[answer.frame["side"] == "base"]
    assert rows["of_run"].nunique() == 1
    assert rows["sha256"].nunique() == 2
    side = answer["sides"][0]
    assert (side["side"], side["runs"], side["recorded"]) == ("base", 1, 1)


def test_the_command_of_a_bare_recording_is_its_headers(tmp_path: Path) -> None:
    files = [recording(polling(cost)).write(tmp_path / f"{cost}.data") for cost in (2_000, 3_000)]
    frame = compare(*files).ask.comparison.runs_compared().frame
    assert list(frame["record_command"]) == ["perf record -a"] * 2
    assert frame["load"].isna().all()
    assert frame["cpu_model"].isna().all()
