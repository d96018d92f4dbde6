# What a kernel has once per boot: a guest that is booted for it, on QEMU's own emulation.
# Takes a kernel (NETCOST_GUEST_KERNEL, or the newest in /boot), busybox, trace-cmd and cpio.

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.host import ROOT, missing, require_tool

pytestmark = pytest.mark.slow

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
