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
    notes = ["times are an emulator's", "other"]
    told = tell(changed(tmp_path, baseline=None, notes=notes), monkeypatch)
    assert "no baseline" in lacking(told)
    assert "--victim-cpu 0</code>" in lacking(told)
    assert any(ESTIMATES in one for one in told.pictures)
    assert "points more" not in told.text
    assert notes[0] in told.html[0]
    assert "<code>caveats</code>" in told.html[0]


WHOSE = "of openssl (<code>openssl"
ESTIMATES = "by ticks,"


# A page about another task says whose the estimates are.
def test_the_estimates_are_the_recorded_victims(monkeypatch: pytest.MonkeyPatch) -> None:
    told = tell(SAMPLE, monkeypatch, victim="udpsink")
    assert WHOSE in told.text
    assert "for udpsink" in told.text
    assert any(ESTIMATES in one for one in told.pictures)


def test_without_a_victim_the_one_who_lost_most_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tell(changed(tmp_path, victim=None), monkeypatch)
    assert "No victim" in lacking(told)
    assert "from openssl," in " ".join(told.pictures)
    assert not any(ESTIMATES in one for one in told.pictures)


def test_a_victim_that_left_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = {"command": "./mine -x", "cpu": 1, "pid": 384, "output": None}
    bundle = changed(tmp_path, victim=victim)
    (bundle / "kernel_config").unlink()
    told = tell(bundle, monkeypatch)
    assert "no result" in lacking(told)
    # Its pid is openssl's.
    assert "from openssl," in " ".join(told.pictures)
    # What a monitor would show is unknown.
    assert WHOSE not in told.text


def test_a_manifest_of_a_stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields: dict[str, Any] = {
        "victim": {"command": None, "cpu": "0", "pid": "x", "start_ns": True, "end_ns": 1.5},
        "notes": [None, {"a": 1}, "<script>alert(1)</script>"],
        "host": {"cpu_model": ["<b>"]},
        "load": "y",
        "record_command": None,
    }
    told = tell(changed(tmp_path, **fields), monkeypatch)
    assert "took <strong>53.0 %</strong>" in told.text
    assert "<script" not in told.text
