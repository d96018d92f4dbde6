# nic-guest: what it says where there is no QEMU for it, and the host's half of it with a program in
# QEMU's place that does what a guest does. With QEMU itself and a Debian mirror: NETCOST_GUEST_WORK
# names the folder of an earlier run's file system and kernels.

import os
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.kit.lab import (
    LAB,
    guest,
    interrupted,
    nothing_of_the_lab_left,
    ran,
    require_lab,
    series,
)
from support.kit.record import ended

pytestmark = pytest.mark.alone


def run(folder: Path, environment: dict[str, str], *options: str) -> tuple[int, list[str]]:
    words = ["--kernels", "6.1", "--work", folder / "work", "--duration", "1", *options]
    done = ended([LAB / "nic-guest", "-o", folder / "out", *words], env=environment)
    return done.returncode, done.stderr.splitlines()


def test_it_says_what_it_needs(tmp_path: Path) -> None:
    environment = guest(tmp_path, version=7)
    status, said = run(tmp_path, {**os.environ, **environment})
    assert (status, len(said)) == (1, 1)
    assert "version 7" in said[0]
    (tmp_path / "programs" / "qemu-system-x86_64").write_text("#!/bin/sh\nexit 127\n")
    status, said = run(tmp_path, {**os.environ, **environment})
    assert (status, len(said)) == (1, 1)
    bare = tmp_path / "bare"
    bare.mkdir()
    for program in Path("/usr/bin").iterdir():
        if not program.name.startswith("qemu"):
            (bare / program.name).symlink_to(program)
    status, said = run(tmp_path, {"PATH": str(bare)})
    assert (status, len(said)) == (1, 1)
    assert "qemu-system-x86_64" in said[0]
    assert not (tmp_path / "out").exists()


def test_a_series_of_what_the_guest_left(tmp_path: Path) -> None:
    require_lab("cc")
    programs = guest(tmp_path)
    with nothing_of_the_lab_left(tmp_path) as environment:
        status, said = run(tmp_path, {**environment, **programs}, "--paths", "nic,bridge")
    # What a path did not give is said, and what the others gave is kept.
    assert status == 1
    assert any(line.startswith("guest: ") for line in said)
    assert any("path bridge, 2" in line for line in said)
    experiment, rows = series(tmp_path / "out")
    assert experiment["experiment"] == "nic-guest"
    assert [row["bundle"] for row in rows] == ["6.1-nic-1-flows", "6.1-nic-2-flows"]
    assert {(row["kernel"], row["nic"], row["path"]) for row in rows} == {("6.1", "virtio", "nic")}
    # The sender ran until the guest had enough.
    sent = (tmp_path / "out" / "6.1-nic-1-flows" / "manifest.json").read_text()
    assert sent.startswith("sent ")
    assert int(sent.split()[1]) > 100


def test_a_step_whose_control_fails_is_left_out(tmp_path: Path) -> None:
    require_lab("cc")
    elsewhere = {**guest(tmp_path), "NETCOST_TEST_ELSEWHERE": "yes"}
    with nothing_of_the_lab_left(tmp_path) as environment:
        status, said = run(tmp_path, {**environment, **elsewhere}, "--paths", "nic")
    assert status == 3
    assert not any("ended early" in line for line in said)
    experiment, [row] = series(tmp_path / "out")
    assert (row["bundle"], row["control_packets"]) == ("6.1-nic-1-flows", "4096")
    [note] = (one for one in experiment["notes"] if "6.1-nic-2-flows" in one)
    assert "its control failed" in note
    assert not (tmp_path / "out" / "6.1-nic-2-flows").exists()
    assert not (tmp_path / "out" / "unfinished").exists()


def test_a_guest_that_dies_leaves_nothing(tmp_path: Path) -> None:
    require_lab("cc")
    programs = guest(tmp_path)
    (tmp_path / "work" / "6.1.cpio").write_text("another")
    with nothing_of_the_lab_left(tmp_path) as environment:
        status, said = run(tmp_path, {**environment, **programs})
    assert status == 1
    assert len(said) >= 1
    assert not (tmp_path / "out").exists()


def test_a_guest_is_ended_with_the_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_lab("cc")
    kept = tmp_path / "kept"
    kept.mkdir()
    monkeypatch.setenv("PATH", guest(kept)["PATH"])
    monkeypatch.setenv("NETCOST_TEST_HANGS", "yes")
    folder = tmp_path / "run"
    folder.mkdir()
    options = ("--kernels", "6.1", "--work", str(kept / "work"))
    interrupted("nic-guest", folder, "booting kernel 6.1", *options)


@pytest.mark.slow
def test_interrupts_of_a_nic(tmp_path: Path) -> None:
    work = os.environ.get("NETCOST_GUEST_WORK")
    if not work:
        pytest.skip("NETCOST_GUEST_WORK names no folder of nic-guest --work")
    require_lab("cc", "qemu-system-x86_64", "debootstrap")
    options = ("--work", work, "--flows", "1", "--duration", "2")
    _, rows = series(ran("nic-guest", tmp_path, *options))
    timeline = open_capture(tmp_path / "nic-guest" / rows[0]["bundle"]).timeline()
    lines = timeline.irqs
    assert (lines["device"] == "eth0").any()
    polls = timeline.polls
    assert (polls["device"] == "eth0").sum() > 100
    assert set(timeline.segments.query("device == 'eth0'")["cpu"]) == {0}
