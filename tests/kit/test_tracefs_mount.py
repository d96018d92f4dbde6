# tracefs where it is not mounted: each of several recorders has it for as long as it records, in
# whatever order they begin and end, and the last of them unmounts it. In mount namespaces of their
# own, so that the host's stays as it is.

import itertools
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.host import ROOT, missing, require_tool

pytestmark = pytest.mark.live

UNMOUNTED = """
    umount /sys/kernel/debug/tracing /sys/kernel/debug /sys/kernel/tracing 2>/dev/null
    [ ! -e /sys/kernel/tracing/events ] && echo unmounted
    read -r _
"""
RECORDER = f"""
    check_only=''
    die() {{ echo "$*"; exit 1; }}
    note() {{ :; }}
    . {ROOT}/capture/lib/tracefs.sh
    find_tracefs
    echo "$tracefs"
    read -r _
    ls "$tracefs" | grep -x events
    unmount_tracefs
    echo ended
"""


@contextmanager
def without_tracefs() -> Iterator[list[str]]:
    """The words before a command that is to run where tracefs is not mounted."""
    if os.geteuid() != 0:
        missing("needs root: it mounts")
    unshare, nsenter = require_tool("unshare"), require_tool("nsenter")
    with piped([unshare, "--mount", "sh", "-c", UNMOUNTED]) as namespace:
        if heard(namespace) != "unmounted":
            missing("needs a host whose tracefs can be unmounted in a namespace")
        yield [nsenter, f"--mount=/proc/{namespace.pid}/ns/mnt"]


def piped(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def orders(recorders: int) -> Iterator[tuple[int, ...]]:
    """Each way in which so many begin and end: the first time that one is named it begins."""
    both = [one for one in range(recorders) for _ in ("begin", "end")]
    for order in sorted(set(itertools.permutations(both))):
        begins = list(dict.fromkeys(order))
        if begins == sorted(begins):
            yield order


@pytest.mark.parametrize("order", [*orders(2), *orders(3)], ids=str)
def test_the_last_recorder_unmounts_what_the_first_has_mounted(order: tuple[int, ...]) -> None:
    with without_tracefs() as inside:
        begun: dict[int, subprocess.Popen[str]] = {}
        for one in order:
            if one not in begun:
                begun[one] = piped([*inside, "sh", "-c", RECORDER])
                assert heard(begun[one]) == "/sys/kernel/tracing"
                continue
            recorder = begun[one]
            said, _ = recorder.communicate("end\n")
            assert said.split() == ["events", "ended"]
        left = subprocess.run([*inside, "ls", "/sys/kernel/tracing"], capture_output=True)
        assert left.stdout == b""


def test_what_another_has_mounted_stays() -> None:
    with without_tracefs() as inside:
        mount = [*inside, "mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing"]
        subprocess.run(mount, check=True)
        with piped([*inside, "sh", "-c", RECORDER]) as recorder:
            assert recorder.communicate("end\n")[0].split()[-1] == "ended"
        left = subprocess.run([*inside, "ls", "/sys/kernel/tracing"], capture_output=True)
        assert b"events" in left.stdout
