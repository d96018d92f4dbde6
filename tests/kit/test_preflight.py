# netcost-record before it records, while the disk fills, and when it measures its own cost: the
# verdict, what it refuses, locks that name their owner, and --calibrate.

import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.host import missing, require_tool
from support.kit.record import (
    MARK,
    RECORD,
    TRACING,
    await_free_buffer,
    ended,
    manifest_of,
    nothing_left,
    recording,
    require_recorder,
    started,
    stub,
)
from support.kit.verdict import verdict

pytestmark = pytest.mark.live

SPIN = "python3 -c 'import time\nwhile time.process_time() < 0.4: pass'"


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[dict[str, str]]:
    require_recorder("tracefs")
    with nothing_left(tmp_path, "tracefs") as environment:
        yield environment


@pytest.mark.measures
def test_a_verdict_without_recording(tmp_path: Path, temporary: dict[str, str]) -> None:
    done = ended([RECORD, "--check"], env=temporary, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    table, go, run = done.stdout.partition("verdict: go\n")
    assert go
    assert run == f"to record: {RECORD} -o {os.uname()[1]}.netcost\n"
    said = verdict(table)
    assert set(said) == {
        *("permissions", "tool", "tracepoints", "clock", "events", "buffer", "cost", "disk")
    }
    assert all(state in ("ok", "warn") for state, _ in said.values())
    assert "profile stolen" in said["tracepoints"][1]
    assert re.search(r"\d+/s", said["events"][1])
    assert re.search(r"\d+ ns an event", said["cost"][1])
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}


@pytest.mark.measures
def test_the_rate_that_is_expected(tmp_path: Path, temporary: dict[str, str]) -> None:
    # A load that runs already: some thousand switches a second, which no event hides.
    script = "import time\nwhile True: time.sleep(0.0002)"
    busy = subprocess.Popen(["python3", "-c", script])
    try:
        time.sleep(0.3)
        options = ["--tool", "tracefs", "--duration", "1", "--sidecars", "none"]
        done = ended([RECORD, "-o", tmp_path / "b", *options], env=temporary)
    finally:
        busy.kill()
        busy.wait()
    assert done.returncode == 0, done.stderr
    manifest = manifest_of(tmp_path / "b")
    recorded = sum(open_capture(tmp_path / "b").info["events"].values()) / manifest["duration_s"]
    assert re.search(r"\d+ events/s", done.stderr)
    # An estimate from counters of the moment before; other programs come and go meanwhile.
    assert recorded / 6 < manifest["expected_events_per_s"] < recorded * 6
    said = verdict((tmp_path / "b" / "preflight.txt").read_text())
    assert f"about {manifest['expected_events_per_s']}/s" in said["events"][1]


def disk_of(folder: Path, size: str) -> Path:
    disk = folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "small", disk]).returncode:
        missing("cannot mount a small disk here")
    return disk


def test_a_disk_without_room_is_refused(tmp_path: Path, temporary: dict[str, str]) -> None:
    disk = disk_of(tmp_path, "16m")
    try:
        for options in (["-o", disk / "b"], ["-o", disk / "b", "--check", "--tool", "tracefs"]):
            done = ended([RECORD, *options], env=temporary)
            assert done.returncode == 1
            assert "256 MiB" in done.stderr + done.stdout
            assert list(disk.iterdir()) == []
        assert done.stdout.endswith("verdict: no\n")
        done = ended([RECORD, "-o", disk / "b", "--min-free", "12345678"], env=temporary)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
        assert "12345678 MiB" in done.stderr
        # A long recording does not fit, whatever is to stay free.
        options = ["-o", disk / "b", "--duration", "900000", "--min-free", "1"]
        done = ended([RECORD, *options], env=temporary)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_full_temporary_folder_is_named(tmp_path: Path, temporary: dict[str, str]) -> None:
    disk = disk_of(tmp_path, "1m")
    command = [RECORD, "-o", tmp_path / "b", "--cpus", "0"]
    try:
        fill = f"dd if=/dev/zero of={disk}/full bs=64k"
        assert subprocess.run(fill.split(), capture_output=True).returncode == 1
        done = ended(command, env={**temporary, "TMPDIR": str(disk)})
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
        assert f"cannot write to {disk}/netcost-record." in done.stderr
        assert "TMPDIR" in done.stderr
        assert [path.name for path in disk.iterdir()] == ["full"]
    finally:
        subprocess.run(["umount", disk], check=True)
    done = ended(command, env={**temporary, "TMPDIR": str(disk / "none")})
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert f"{disk}/none" in done.stderr
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("victim", [True, False])
def test_a_disk_that_fills_ends_the_recording(
    victim: bool, tmp_path: Path, temporary: dict[str, str]
) -> None:
    # The room has to suffice at the rate of the whole host, whatever else runs on it.
    disk = disk_of(tmp_path, "600m")
    try:
        options = ["--tool", "tracefs", "--profile", "light", "--min-free", "300"]
        options += ["--sidecars", "none", "--interval", "0", "--duration", "20"]
        # What fills it is the load, and not the recording.
        fill = f'dd if=/dev/zero of="$NETCOST_FILES/big" bs=1M count=330; sleep 60; : {MARK}'
        options += ["--victim", f"sleep 60; : {MARK}"] if victim else []
        done = ended([RECORD, "-o", disk / "b", *options, "--load", fill], env=temporary)
        assert done.returncode == 3, done.stderr
        manifest = manifest_of(disk / "b")
        assert manifest["cut_short"] is True
        assert manifest["duration_s"] < 19
        assert sum(open_capture(disk / "b").info["events"].values()) > 0
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.measures
def test_what_speaks_against_it_is_said(tmp_path: Path, temporary: dict[str, str]) -> None:
    options = ["--tool", "tracefs", "--buffer", "4", "--duration", "0.3", "--sidecars", "none"]
    done = ended(
        [RECORD, "-o", tmp_path / "b", *options, "--load", "while :; do /bin/true; done"],
        env=temporary,
    )
    assert done.returncode == 0, done.stderr
    said = verdict((tmp_path / "b" / "preflight.txt").read_text())
    assert ("netcost-record: buffer: " in done.stderr) == (said["buffer"][0] == "warn")
    assert "before the load" in said["events"][1]


def test_a_lock_names_its_owner(tmp_path: Path, temporary: dict[str, str]) -> None:
    command = [RECORD, "-o", tmp_path / "b", "--tool", "tracefs", "--duration", "20"]
    first = started(command, env=temporary, stderr=subprocess.PIPE)
    try:
        recording(first)
        second = ended(command, env=temporary)
        assert second.returncode == 1
        user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        assert f"exists: {user}" in second.stderr
        assert f"process {first.pid}, since 2" in second.stderr
        assert len(second.stderr.splitlines()) == 1
    finally:
        first.terminate()
        first.wait(timeout=60)
        assert first.stderr is not None
        first.stderr.close()
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}


@pytest.mark.alone
def test_the_kernels_buffer_has_one_owner(tmp_path: Path) -> None:
    require_recorder("trace-cmd")
    lock = Path("/run/netcost-trace-buffer.lock")
    began = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()[19]
    with nothing_left(tmp_path, "trace-cmd") as environment:
        command = [RECORD, "-o", tmp_path / "b", "--tool", "trace-cmd", "--duration", "0.3"]
        lock.mkdir()
        try:
            (lock / "owner").write_text(f"{os.getpid()}\t{began}\tgreg\tnoon\ta test\n")
            done = ended([*command, "--sidecars", "none"], env=environment)
            assert done.returncode == 1
            assert f"(greg, process {os.getpid()}," in done.stderr
            # Its owner is gone, and another process has the number.
            (lock / "owner").write_text(f"{os.getpid()}\t1\tgreg\tnoon\ta test\n")
            await_free_buffer()
            done = ended([*command, "--sidecars", "none"], env=environment)
            assert done.returncode == 0, done.stderr
        finally:
            subprocess.run(["rm", "-rf", lock], check=True)
    assert "nop" in (TRACING / "current_tracer").read_text()


def test_calibration_is_four_runs(tmp_path: Path, temporary: dict[str, str]) -> None:
    load = f"echo load {MARK}; while :; do sleep 0.01; done"
    options = ["--tool", "tracefs", "--profile", "light", "--sidecars", "none", "--interval", "0.2"]
    options += ["--calibrate", "--victim", SPIN, "--victim-cpu", "0", "--load", load]
    done = ended([RECORD, "-o", tmp_path / "b", *options], env=temporary)
    assert done.returncode == 0, done.stderr
    bundle = tmp_path / "b"
    manifest = manifest_of(bundle)
    runs = manifest["calibration"]
    assert set(runs) == {"idle", "idle_traced", "load", "load_traced"}
    for name, folder in runs.items():
        one = manifest_of(bundle / folder)
        assert one["victim"]["command"] == SPIN
        # Only what is traced has a trace, and only what is loaded has the load.
        traced = (bundle / folder / "trace.tracefs").is_dir()
        assert traced == ("traced" in name) == ("trace" in one)
        loaded = (bundle / folder / "load.txt").exists()
        assert loaded == name.startswith("load") == (one["load"] is not None)
        assert traced == ("completeness" in one)
        assert not traced or one["completeness"]["rows"]
        assert (bundle / folder / "samples" / "stat").is_file()
        assert (bundle / folder / "before" / "stamp").is_file()
    order = [manifest_of(bundle / runs[name])["victim"]["start_ns"] for name in runs]
    assert order == sorted(order)
    assert manifest["baseline"] == runs["idle"] == "baseline/"
    for name in ("idle_traced", "load_traced"):
        info = open_capture(bundle / runs[name]).info
        assert sum(info["events"].values()) > 0


def test_a_failure_in_calibration_leaves_nothing(tmp_path: Path, temporary: dict[str, str]) -> None:
    # The third run of the victim fails: no bundle that lacks it.
    count = tmp_path / "tmp" / "count"
    victim = f'echo x >>{count}; [ "$(wc -l <{count})" -lt 3 ]'
    options = ["--tool", "tracefs", "--profile", "light", "--sidecars", "none", "--interval", "0"]
    options += ["--calibrate", "--victim", victim, "--load", f"sleep 60; : {MARK}"]
    done = ended([RECORD, "-o", tmp_path / "b", *options], env=temporary)
    assert done.returncode == 1
    assert "exit status 1" in done.stderr
    assert count.read_text() == "x\n" * 3
    count.unlink()
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}


def test_who_is_not_root_is_told(tmp_path: Path, temporary: dict[str, str]) -> None:
    path = stub(
        tmp_path / "bin",
        "id",
        f'case "$*" in -u) echo 1000 ;; *) exec {require_tool("id")} "$@" ;; esac',
    )
    done = ended([RECORD, "-o", tmp_path / "b"], env={**temporary, "PATH": path})
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "user 1000" in done.stderr
    assert "recording takes root" in done.stderr
    assert not (tmp_path / "b.partial").exists()
