# The last section of the report on bundles that lack one thing or another.

from pathlib import Path
from typing import Any

import pytest

from support.doctored import doctored
from support.host import SAMPLES
from support.told_notebook import Told, tell


# What the victim left, and what was read of it.
def without(bundle: Path) -> Path:
    for left in ("victim.txt", "victim_stat", "samples/victim", "kernel_config"):
        (bundle / left).unlink()
    return bundle


def lacking(told: Told) -> str:
    return next(html for html in told.html if "netcost-record -o DIR" in html)


def test_without_a_baseline_two_estimates_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = ["times are an emulator's", "other"]
    told = tell(doctored(tmp_path / "b", baseline=None, notes=notes), monkeypatch)
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
    told = tell(SAMPLES / "nic-stolen-time", monkeypatch, victim="udp-load")
    assert WHOSE in told.text
    assert "for udp-load" in told.text
    assert any(ESTIMATES in one for one in told.pictures)


def test_without_a_victim_the_one_who_lost_most_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tell(without(doctored(tmp_path / "b", victim=None)), monkeypatch)
    assert "No victim" in lacking(told)
    assert "from openssl," in " ".join(told.pictures)
    assert not any(ESTIMATES in one for one in told.pictures)


def test_a_victim_that_left_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = {"command": "./mine -x", "cpu": 0, "pid": 500, "output": None}
    told = tell(without(doctored(tmp_path / "b", victim=victim)), monkeypatch)
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
    told = tell(doctored(tmp_path / "b", **fields), monkeypatch)
    assert "15.0 %" in told.text
    assert "<script" not in told.text
