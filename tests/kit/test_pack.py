# netcost-pack: one file with checksums, or none and the reason.

import os
import signal
import time
from pathlib import Path

import pytest

from support.host import require_tool
from support.kit.pack import PACK, members, packed, refused
from support.kit.record import (
    busybox_alone,
    ended,
    interrupted_mktemp,
    path_without,
    small_disk,
    started,
    stub,
)


@pytest.mark.parametrize("suffix", ["zst", "gz"])
def test_all_of_a_bundle_is_in_one_file(
    suffix: str, bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    require_tool("zstd")
    archive = tmp_path / f"out.netcost.tar.{suffix}"
    assert packed(bundle, "-o", archive, env=temporary) == archive
    held = members(archive)
    paths = [path for path in bundle.rglob("*") if path.is_file()]
    assert held == {str(path.relative_to(bundle)): path.read_bytes() for path in paths}
    assert {path.name for path in tmp_path.iterdir()} <= {
        *("quiet", "tmp", "out.netcost.tar", archive.name)
    }


# Whatever it is called, and whoever's tools look at it.
@pytest.mark.parametrize("shell", ["sh", "busybox"])
def test_a_trace_is_known_by_what_it_begins_with(
    shell: str, bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    traces = {
        "a": b"PERFILE2\0",
        "b c": b"2ELIFREP\0",
        "-d": b"PERFFILE",
        "e": b"\x17\x08Dtracing\0",
    }
    others = {"f": b"a PERFILE2", "g": b"\0PERFILE2", "h": b"Dtracing"}
    (bundle / "sub").mkdir()
    for name, data in {**traces, **others}.items():
        (bundle / "sub" / name).write_bytes(data)
    env, shells = temporary, []
    if shell == "busybox":
        env = {**temporary, "PATH": str(busybox_alone(tmp_path))}
        shells = [Path(env["PATH"], "sh")]
    archive = tmp_path / "out.tar.gz"
    done = ended([*shells, PACK, bundle, "-o", archive, "--trace", "omit"], env=env)
    assert (done.returncode, done.stderr) == (0, "")
    held = {name for name in members(archive, owners=True) if name.startswith("sub/")}
    assert held == {f"sub/{name}" for name in others}


def test_without_zstd_it_is_gzip(bundle: Path, tmp_path: Path, temporary: dict[str, str]) -> None:
    bare = {**temporary, "PATH": path_without(tmp_path / "bin", "zstd")}
    archive = packed(bundle, env=bare)
    assert archive == tmp_path / "quiet.netcost.tar.gz"
    assert members(archive)


def test_bundles_that_are_none(bundle: Path, tmp_path: Path, temporary: dict[str, str]) -> None:
    (tmp_path / "there.tar.gz").write_text("mine")
    (tmp_path / "bad.tsv").write_text("no map\n")
    for words, says in (
        ([tmp_path], "manifest.json"),
        ([bundle, "-o", tmp_path / "there.tar.gz"], "exists already"),
        ([bundle, "--mask", "--trace", "omit", "--map", tmp_path / "bad.tsv"], "bad.tsv"),
    ):
        refused(tmp_path, *words, says=says, env=temporary, cwd=tmp_path)
    (bundle / "way-out").symlink_to("/etc/passwd")
    refused(tmp_path, bundle, says="is a link", env=temporary, cwd=tmp_path)


def test_a_file_that_changes_is_found_out(
    bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    require_tool("gzip")
    change = f'echo more >>{bundle}/load.txt; exec {require_tool("gzip")} "$@"'
    path = stub(tmp_path / "bin", "gzip", f'case "$*" in *-6*) {change} ;; esac\n{change[22:]}')
    done = ended([PACK, bundle, "--gzip"], env={**temporary, "PATH": path})
    assert done.returncode == 1
    assert {one.name for one in tmp_path.iterdir()} == {"quiet", "tmp", "bin"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_leaves_nothing(
    number: signal.Signals, bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    began = tmp_path / "bin" / "began"
    path = stub(tmp_path / "bin", "gzip", f": >{began}; exec sleep 60")
    process = started([PACK, bundle, "--gzip"], env={**temporary, "PATH": path})
    lock = tmp_path / "quiet.netcost.tar.gz.lock"
    # A shell that is just starting a program takes its signals when that has ended.
    while not began.exists():
        assert process.poll() is None
        time.sleep(0.05)
    # A second one is told who is at work.
    done = ended([PACK, bundle, "--gzip"], env={**temporary, "PATH": path})
    assert done.returncode == 1
    assert f"process {process.pid}, since" in done.stderr
    assert lock.is_dir()
    os.killpg(process.pid, number)
    status = process.wait(timeout=30)
    assert status == (-number if number == signal.SIGKILL else 128 + number)
    # Of a killed one another process clears up.
    deadline = time.monotonic() + 20
    while number == signal.SIGKILL and time.monotonic() < deadline:
        if not any((tmp_path / "tmp").iterdir()):
            break
        time.sleep(0.1)
    assert {one.name for one in tmp_path.iterdir()} == {"quiet", "tmp", "bin"}


def test_a_signal_as_its_folder_is_made_leaves_nothing(
    bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    path = stub(tmp_path / "bin", "mktemp", interrupted_mktemp())
    done = ended([PACK, bundle, "-o", tmp_path / "p.tar.zst"], env={**temporary, "PATH": path})
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    assert not list(tmp_path.glob("p.tar.zst*"))


def test_a_full_disk_leaves_nothing(
    bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    (bundle / "trace.perf.data").write_bytes(b"PERFILE2" + os.urandom(400_000))
    with small_disk(tmp_path, "128k") as disk:
        done = ended([PACK, bundle, "-o", disk / "x.tar.gz"], env=temporary)
        assert done.returncode == 1
        assert "is there room" in done.stderr
        assert list(disk.iterdir()) == []


def test_where_nothing_can_be_written_one_line_says_so(
    bundle: Path, tmp_path: Path, temporary: dict[str, str]
) -> None:
    # As on a full disk.
    script = "echo 'No space left on device' >&2; exit 1"
    broken = {**temporary, "PATH": stub(tmp_path / "bin", "sort", script)}
    refused(tmp_path, bundle, says="is there room?", env=broken)
