import json
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import Bundle, CaptureError


def bundle(folder: Path, **manifest: Any) -> Bundle:
    (folder / "manifest.json").write_text(json.dumps({"netcost_bundle": 1, **manifest}))
    return Bundle(folder)


def test_names_its_files(tmp_path: Path) -> None:
    (tmp_path / "victim.txt").write_text(
        "Doing sha256 for 3s on 1024 size blocks: 4523369 sha256's in 2.41s\n"
    )
    (tmp_path / "kernel_config").write_text("CONFIG_HZ=250\n")
    made = bundle(tmp_path, trace="trace.perf.data", victim={"output": "victim.txt", "cpu": 1})
    assert made.trace == tmp_path / "trace.perf.data"
    assert made.speed_runs[0].user_s == 2.41
    assert made.kernel_config == {"CONFIG_HZ": "250"}
    assert made.load is None
    assert made.load_output is None
    assert made.baseline is None
    assert made.before.stat.empty


def test_a_baseline_is_a_bundle_of_its_own(tmp_path: Path) -> None:
    idle = tmp_path / "baseline"
    idle.mkdir()
    bundle(idle, victim={"user_s": 3.0, "wall_s": 3.0})
    found = bundle(tmp_path, trace="t", baseline="baseline/").baseline
    assert found is not None
    assert found.victim == {"user_s": 3.0, "wall_s": 3.0}


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../../outside", "link", "a\0b"])
def test_no_name_leads_out_of_the_bundle(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "bundle"
    inside.mkdir()
    (tmp_path / "outside").write_text("secret")
    (inside / "link").symlink_to(tmp_path / "outside")
    made = bundle(inside, trace=name, victim={"output": name}, baseline=name)
    with pytest.raises(CaptureError, match="outside the bundle"):
        _ = made.trace
    with pytest.raises(CaptureError, match="outside the bundle"):
        _ = made.victim_output
    with pytest.raises(CaptureError, match="outside the bundle"):
        _ = made.baseline


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no netcost_bundle"),
        ('{"trace": "t"}', "no netcost_bundle"),
        ('{"netcost_bundle": 2}', "format 2"),
    ],
)
def test_a_manifest_that_is_none(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(CaptureError, match=says) as caught:
        Bundle(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["", 7, ["trace"]])
def test_a_trace_that_is_no_name(tmp_path: Path, value: object) -> None:
    with pytest.raises(CaptureError, match="names no file"):
        _ = bundle(tmp_path, trace=value).trace


def test_parts_of_the_wrong_type_count_as_absent(tmp_path: Path) -> None:
    made = bundle(tmp_path, trace="t", victim="openssl", load=[1], host=3)
    assert made.victim is None
    assert made.load is None
    assert "unknown" in repr(made)


@pytest.mark.parametrize(
    ("command", "comm"),
    [
        ("openssl speed -evp sha256", "openssl"),
        ("/usr/bin/openssl speed", "openssl"),
        ("a-name-of-twenty-char", "a-name-of-twent"),
        ("", None),
        (None, None),
    ],
)
def test_the_victims_comm(tmp_path: Path, command: str | None, comm: str | None) -> None:
    assert bundle(tmp_path, victim={"command": command}).victim_comm == comm
