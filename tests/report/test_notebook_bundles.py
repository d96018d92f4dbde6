# The last section of the report on bundles that lack one thing or another.

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.host import ROOT
from support.told_notebook import Told, tell

SAMPLE = ROOT / "sample-data" / "nic-stolen-time"


def changed(folder: Path, **fields: Any) -> Path:
    bundle = folder / "bundle"
    shutil.copytree(SAMPLE, bundle)
    manifest = json.loads((bundle / "manifest.json").read_text())
    (bundle / "manifest.json").write_text(json.dumps(manifest | fields))
    return bundle


def lacking(told: Told) -> str:
    return next(html for html in told.html if "netcost-record -o DIR" in html)


def test_without_a_baseline_two_estimates_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tell(changed(tmp_path, baseline=None), monkeypatch)
    assert "There is no baseline" in lacking(told)
    assert "--victim-cpu 0</code>" in lacking(told)
    assert "What the victim got by ticks, by trace, by work done" in told.pictures
    assert "points more than the work" not in told.text


WHOSE = "These estimates are of openssl (<code>openssl speed"


# A page about another task says whose the estimates are.
def test_the_estimates_are_the_recorded_victims(monkeypatch: pytest.MonkeyPatch) -> None:
    told = tell(SAMPLE, monkeypatch, victim="udpsink")
    assert WHOSE in told.text
    assert "Nothing was counted for udpsink" in told.text
    assert "What the victim got by ticks, by trace, by work done" in told.pictures


def test_without_a_victim_the_one_who_lost_most_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tell(changed(tmp_path, victim=None), monkeypatch)
    assert "No victim was run beside this recording" in lacking(told)
    assert "from openssl, most first" in " ".join(told.pictures)
    assert "What the victim got by ticks, by trace, by work done" not in told.pictures


def test_a_victim_that_left_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = {"command": "./mine -x", "cpu": 1, "pid": 384, "output": None}
    told = tell(changed(tmp_path, victim=victim), monkeypatch)
    assert "The victim left no result in its output" in lacking(told)
    # Its pid is openssl's.
    assert "from openssl, most first" in " ".join(told.pictures)


def test_with_notes_and_without_a_kernel_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = changed(tmp_path, notes=["times are an emulator's", "other"])
    (bundle / "kernel_config").unlink()
    told = tell(bundle, monkeypatch)
    assert "times are an emulator's (more: <code>caveats</code>)" in told.html[0]
    assert "What a monitor would show is unknown" in told.text
    assert WHOSE not in told.text


@pytest.mark.parametrize(
    "fields",
    [
        {
            "victim": {"command": None, "cpu": "0", "pid": "x", "start_ns": "1", "wall_s": None},
            "host": ["x"],
            "notes": "one",
            "load": "y",
            "record_command": None,
        },
        {
            "victim": {"command": "openssl", "start_ns": True, "end_ns": 1.5, "cpu": True},
            "notes": [None, {"a": 1}, "<script>alert(1)</script>"],
            "host": {"cpu_model": ["<b>"]},
        },
    ],
    ids=["wrong types and no command", "odd numbers and markup"],
)
def test_a_manifest_of_a_stranger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]
) -> None:
    told = tell(changed(tmp_path, **fields), monkeypatch)
    assert "Packet processing took <strong>53.0 %</strong>" in told.text
    assert "<script" not in told.text
