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
    assert frame["duration_ns"].tolist() == [992_000, 993_000]
    for row, name in zip(frame.itertuples(), ("a", "b"), strict=True):
        folder = tmp_path / name
        digest = hashlib.sha256((folder / "trace.perf.data").read_bytes()).hexdigest()
        assert digest == open_capture(folder).ask.completeness.provenance()["sha256"]
        assert (row.of_run, row.path, row.sha256) == (name, str(folder), digest)
        assert (row.kernel, row.cpu_model, row.recorder) == ("6.18.0", "EPYC", "perf 6.1.187")
        assert (row.load, row.event_count, row.lost_events) == (COMMAND, 400, 0)
        assert row.recorded_share == 1


def test_a_run_without_a_recording_has_a_row(tmp_path: Path) -> None:
    base = measured("base", [1.0])
    comparison = compared(base, recorded(tmp_path / "b"))
    answer = comparison.ask.comparison.runs_compared()
    first = answer.frame.iloc[0]
    assert (first["of_run"], first["is_recorded"], first["kernel"]) == ("base/0", False, "base")
    assert answer.frame[["path", "sha256", "duration_ns", "load"]].iloc[0].isna().all()
    side = answer["sides"][0]
    assert (side["side"], side["runs"], side["recorded"]) == ("base", 1, 0)
    assert comparison.recording_to_name.endswith(" b")
    assert "base" not in compared(base, measured("new", [1.0])).recording_to_name


def test_bare_recordings_are_known_by_their_headers(tmp_path: Path) -> None:
    folder = tmp_path / "rotated"
    folder.mkdir()
    for at in range(2):
        recording(polling(2_000 + at)).write(folder / f"perf.data.202611200000000{at}")
    other = recording(polling()).write(tmp_path / "other.data")
    answer = compare(folder, other).ask.comparison.runs_compared()
    assert list(answer.frame["record_command"]) == ["perf record -a"] * 3
    assert answer.frame[["load", "cpu_model"]].isna().all(axis=None)
    # A row per file.
    rows = answer.frame[answer.frame["side"] == "base"]
    assert (rows["of_run"].nunique(), rows["sha256"].nunique()) == (1, 2)
    side = answer["sides"][0]
    assert (side["side"], side["runs"], side["recorded"]) == ("base", 1, 1)
