# netcost mask on the command line: what it says, and that it leaves nothing where it fails.

import errno
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import Bundle, mask
from support import packed_bundles as p
from support.host import SAMPLES, missing, write_files
from support.masking import found_in, totals, written
from support.run_cli import Netcost
from support.small_captures import small_captures


# Whatever it is called: the list has a name that follows from it.
@pytest.mark.parametrize("out", ["out", "masked.txt"])
def test_the_command_lists_what_it_did(tmp_path: Path, netcost: Netcost, out: str) -> None:
    source = written(small_captures()["sampled-everything"], tmp_path / "in")
    done = netcost("mask", str(source), str(tmp_path / out))
    assert (done.code, done.err) == (0, "")
    listed = (tmp_path / f"{out}.masked.txt").read_text()
    assert done.out.startswith(listed)
    told: dict[str, Any] = netcost("mask", str(source), str(tmp_path / "two"), "--json").json
    assert told["replaced"]["host"] == 1
    assert told["changes"]["task replaced"] > 10
    for change in ("user stacks", "AUXTRACE"):
        [said] = [one for one in told["changes"] if change in one]
        assert said in listed


def test_refuses_in_a_line_and_leaves_nothing(tmp_path: Path, netcost: Netcost) -> None:
    source = written(small_captures()["file"], tmp_path / "in")
    (tmp_path / "there").write_text("mine")
    (tmp_path / "cut.zst").write_bytes(small_captures()["zstd"].files["data"][:300])
    (tmp_path / "nomap").write_text("task\topenssl\n")
    (tmp_path / "empty").mkdir()
    for words, says in (
        ((str(source), str(tmp_path / "there")), "exists already"),
        ((str(tmp_path / "cut.zst"), str(tmp_path / "out")), "unpack"),
        ((str(tmp_path / "absent"), str(tmp_path / "out")), "no such file"),
        ((str(tmp_path / "empty"), str(tmp_path / "out")), "not a capture"),
        ((str(source), str(tmp_path / "no" / "out")), "No such file"),
        ((str(source), str(tmp_path / "out"), "--map", str(tmp_path / "nomap")), "line 1"),
        (("-", str(tmp_path / "out")), "standard input|give it a file"),
    ):
        before = sorted(tmp_path.rglob("*"))
        done = netcost("mask", *words)
        assert done.code in (1, 2), words
        assert any(one in done.err for one in says.split("|")), done.err
        assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "there").read_text() == "mine"


def test_neither_into_itself_nor_from_a_pipe(tmp_path: Path, netcost: Netcost) -> None:
    source = written(small_captures()["folder"], tmp_path / "in")
    done = netcost("mask", str(source), str(source / "out"))
    assert (done.code, done.err.count("\n")) == (1, 1)
    os.mkfifo(tmp_path / "pipe")
    done = netcost("mask", str(tmp_path / "pipe"), str(tmp_path / "out"))
    assert "regular file" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "pipe"]


# The trace does not fit, by itself or in its bundle; or it does, and a text beside it does not.
@pytest.mark.parametrize("source", ["nic-stolen-time/trace.perf.data", "nic-stolen-time", "text"])
def test_a_full_disk_is_named(tmp_path: Path, netcost: Netcost, source: str) -> None:
    bundle, disk = SAMPLES / source, tmp_path / "disk"
    if source == "text":
        bundle = tmp_path / "text"
        load = {"load.txt": (b"1 " * 32 + b"\n") * (1 << 15)}
        write_files(bundle, p.bundle_files(tmp_path) | load)
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "full", disk]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        missing("cannot mount a small disk here")
    try:
        done = netcost("mask", str(bundle), str(disk / "out"))
        assert (done.code, done.err) == (1, f"netcost: {disk}/out: {os.strerror(errno.ENOSPC)}\n")
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)


# A bundle of a real host.
def test_a_sample(tmp_path: Path) -> None:
    source, target = SAMPLES / "nic-stolen-time", tmp_path / "out"
    told = mask(source, target)
    assert found_in(source, [b"openssl"])
    # The victim's own output tells which compiler options it was built with: that line is hidden.
    assert found_in(target, [b"openssl"]) == []
    assert told.replaced["task"] > 5
    one, other = Bundle(source), Bundle(target)
    assert totals(one.trace) == totals(other.trace)
    assert one.speed_runs == other.speed_runs
    assert one.baseline.speed_runs == other.baseline.speed_runs


# A packed bundle had its own packing under any name, and a folder was called what is none.
def test_the_name_says_how_it_is_packed(tmp_path: Path, netcost: Netcost) -> None:
    bundle = SAMPLES / "nic-guest" / "6.1-nic-1-flows.netcost.tar.zst"
    magic = {"x.tgz": b"\x1f\x8b", "x.tar": b"bundle/", "x.tar.zst": b"\x28\xb5\x2f\xfd"}
    for name, begin in magic.items():
        assert netcost("mask", str(bundle), str(tmp_path / name)).code == 0
        assert (tmp_path / name).read_bytes().startswith(begin)
        assert Bundle(tmp_path / name).trace
    done = netcost("mask", str(bundle), str(tmp_path / "x.zip"))
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert {".zip:", ".tar.zst"} <= set(done.err.replace(",", "").split())
    assert not (tmp_path / "x.zip").exists()
