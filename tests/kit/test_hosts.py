# Hosts that are not like this one: a container that hides /proc/timer_list, a kit on a disk that
# runs no programs, a perf that answers nothing.

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from netcost_analysis import open_capture, open_experiment
from netcost_analysis.questions.completeness.summary import verdict
from support.host import ROOT, missing, require_tool
from support.kit.record import (
    RECORD,
    SHORT,
    Recorder,
    commands_with,
    ended,
    lasting_processes,
    manifest_of,
    small_disk,
    stub,
)


@pytest.mark.live
def test_times_of_another_clock_accuse_nobody(tmp_path: Path, recorder: Recorder) -> None:
    # Containers put /dev/null there: it can be read, and says nothing.
    hide = 'mount --bind /dev/null /proc/timer_list && exec "$0" "$@"'
    command = ["unshare", "-m", "sh", "-c", hide, RECORD, "-o", tmp_path / "b", *SHORT]
    done = ended([*command, "--cpus", "0", "--duration", "0.5"], env=recorder.environment)
    if "mount" in done.stderr or "unshare" in done.stderr:
        missing("cannot hide a file in a mount namespace here")
    assert done.returncode == 0, done.stderr
    manifest = manifest_of(tmp_path / "b")
    assert manifest["completeness"]["state"] == "unknown"
    assert any("snapshot times" in note for note in manifest["notes"])
    said = verdict(open_capture(tmp_path / "b"))
    assert said.state == "unknown"


# A trial has 20 s to end, on a busy host, too.
@pytest.mark.slow
@pytest.mark.measures
def test_a_kit_on_a_disk_that_runs_no_programs(tmp_path: Path, recorder: Recorder) -> None:
    with small_disk(tmp_path, "16m,noexec") as disk:
        shutil.copytree(ROOT / "capture", disk / "capture")
        kit = ["sh", disk / "capture" / "netcost-record"]
        done = ended([*kit, "-o", tmp_path / "b", *SHORT, "--check"], env=recorder.environment)
        assert "verdict: go" in done.stdout, done.stdout + done.stderr
        done = ended(
            [*kit, "-o", tmp_path / "e", *SHORT, "--repeat", "1", "--duration", "0.2"],
            env=recorder.environment,
        )
        assert done.returncode == 0, done.stderr
        assert len(open_experiment(tmp_path / "e").steps) == 1


@pytest.mark.slow
@pytest.mark.measures
@pytest.mark.parametrize(
    "options", [["--check", "--profile", "stolen,functions"], ["--profile", "stolen,counters"], []]
)
def test_a_perf_that_answers_nothing_is_waited_for_within_limits(
    options: list[str], tmp_path: Path, recorder: Recorder
) -> None:
    path = stub(tmp_path / "bin", "perf", "exec sleep 300")
    stub(tmp_path / "bin", "trace-cmd", "exit 1")
    limits = {"NETCOST_ASKED_SECONDS": "1", "NETCOST_START_SECONDS": "2"}
    status = int("--check" in options)
    # Whoever waits for it longer is ended.
    quick = ("--sidecars", "none", "--duration", "0.2")
    recorder(*quick, *options, status=status, env=limits, path=path)
    assert status or manifest_of(tmp_path / "b")["tool"] == "tracefs"


@pytest.mark.live
def test_a_full_temporary_folder_costs_no_recording(tmp_path: Path, recorder: Recorder) -> None:
    with small_disk(tmp_path, "1m") as disk:
        fill = f"sleep 0.3; dd if=/dev/zero of={disk}/full bs=64k 2>/dev/null; sleep 0.7; exit 0"
        done = ended(
            [RECORD, "-o", tmp_path / "b", *SHORT, "--victim", fill],
            env={**recorder.environment, "TMPDIR": str(disk)},
        )
        # Whether it can say what it misses or not.
        assert open_capture(tmp_path / "b").event_count > 0, done.stderr
        state = manifest_of(tmp_path / "b")["completeness"]["state"]
        assert state == "unknown", done.stderr


# By the next, whoever that is.
@pytest.mark.alone
def test_an_instance_that_all_were_killed_over_is_removed_by_the_next(
    tmp_path: Path, recorder: Recorder
) -> None:
    instances = Path("/sys/kernel/tracing/instances")
    with recorder.begun(*SHORT, "--duration", "30") as process:
        time.sleep(0.3)
        # As the end of a container does: all at once.
        group = commands_with(str(tmp_path))
        subprocess.run(["kill", "-KILL", *map(str, group)], check=False)
    for path in Path(recorder.environment["TMPDIR"]).iterdir():
        subprocess.run(["rm", "-r", path], check=True)
    subprocess.run(["rm", "-r", tmp_path / "b.partial"], check=True)
    left = [path.name for path in instances.glob(f"netcost-{process.pid}-*")]
    assert len(left) == 1
    recorder(*SHORT, "--duration", "0.2", name="c")
    assert not (instances / left[0]).exists()
    assert any(left[0] in note for note in manifest_of(tmp_path / "c")["notes"])
    assert lasting_processes(str(tmp_path)) == []


# What a kernel has once per boot: a guest that is booted for it, on QEMU's own emulation.
# Takes a kernel (NETCOST_GUEST_KERNEL, or the newest in /boot), busybox, trace-cmd and cpio.


PROGRAMS = ("busybox", "trace-cmd", "setsid", "taskset", "nsenter", "unshare")
SIZE = "/sys/kernel/tracing/buffer_size_kb"
INIT = """#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /tmp; mount -t tmpfs tmpfs /run; mount -t tracefs tracefs /sys/kernel/tracing
{}
poweroff -f
"""


def kernel() -> Path:
    named = os.environ.get("NETCOST_GUEST_KERNEL")
    found = [Path(named)] if named else sorted(Path("/boot").glob("vmlinuz-*"))
    if not found:
        missing("needs a kernel to boot: NETCOST_GUEST_KERNEL names one")
    return found[-1]


def copied(program: str, root: Path) -> None:
    found = require_tool(program)
    shutil.copy(found, root / "bin" / program)
    said = subprocess.run(["ldd", found], capture_output=True, text=True).stdout
    for library in re.findall(r"(/\S+) \(", said):
        (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, root / library[1:])


def booted(folder: Path, *commands: str) -> list[str]:
    """What the commands print in a guest that has just been booted."""
    qemu = require_tool("qemu-system-x86_64")
    root = folder / "root"
    for name in ("bin", "proc", "sys", "dev", "tmp", "run"):
        (root / name).mkdir(parents=True)
    for program in PROGRAMS:
        copied(program, root)
    shutil.copytree(ROOT / "capture", root / "capture")
    (root / "init").write_text(INIT.format("\n".join(commands)))
    (root / "init").chmod(0o755)
    archive = f"find . | {require_tool('cpio')} -o -H newc --quiet >../initramfs"
    subprocess.run(["sh", "-c", archive], cwd=root, check=True)
    command = [qemu, "-nographic", "-no-reboot", "-m", "1G", "-smp", "2", "-kernel", kernel()]
    command += ["-initrd", folder / "initramfs", "-append", "console=ttyS0 quiet panic=-1"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )
    return done.stdout.replace("\r", "").splitlines()


@pytest.mark.slow
def test_the_first_recording_after_boot_leaves_the_shared_buffer_its_size(tmp_path: Path) -> None:
    record = "sh /capture/netcost-record -o /tmp/b --tool trace-cmd --sidecars none --min-free 2"
    said = booted(
        tmp_path,
        f'echo "before: $(cat {SIZE})"',
        f"{record} --duration 1",
        'echo "status: $?"',
        f'echo "after: $(cat {SIZE})"',
        "echo 1 >/sys/kernel/tracing/events/sched/sched_switch/enable",
        f'echo "used: $(cat {SIZE})"',
    )
    # The kernel writes on the same console.
    told = dict(re.findall(r"(before|status|after|used): ([^\n]+)", "\n".join(said)))
    assert told.get("status") == "0", "\n".join(said[-40:])
    expanded = re.fullmatch(r"\d+ \(expanded: (\d+)\)", told["before"])
    assert expanded, f"a kernel whose buffer has been used already: {told}"
    # A size that is written is rounded up to whole pages of the ring.
    assert 0 <= int(told["after"]) - int(expanded[1]) <= 4
    assert told["used"] == told["after"]
