# The kernel's own trace buffer, which trace-cmd takes: what is saved of it and put back. On folders
# that stand for tracefs, for a buffer that is not expanded is found once per boot; and here.

import itertools
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.host import ROOT, missing, require_tool, write_files
from support.kit.record import RECORD, TRACING, ended, nothing_left, require_recorder

LIBRARY = ROOT / "capture" / "lib"
SHELLS = [["sh"], ["busybox", "sh"]]

# What a recording with trace-cmd does to the sizes.
RESIZED = """
for cpu in 0 1; do echo 8192 >"$tracefs/per_cpu/cpu$cpu/buffer_size_kb"; done
echo 8192 >"$tracefs/buffer_size_kb"
"""


def tracefs_of(folder: Path, whole: str, cpus: Sequence[str]) -> Path:
    files = {"trace_clock": "[local] global mono", "tracing_on": "1", "tracing_cpumask": "3"}
    files |= {"trace_options": "print-parent", "set_event": "", "trace": ""}
    files |= {"buffer_size_kb": whole}
    for cpu, size in enumerate(cpus):
        files[f"per_cpu/cpu{cpu}/buffer_size_kb"] = size
        files[f"per_cpu/cpu{cpu}/stats"] = "entries: 0"
    return write_files(folder / "tracing", {name: text + "\n" for name, text in files.items()})


def put_back(shell: list[str], folder: Path, tracefs: Path, meanwhile: str) -> str:
    script = f"""
warn() {{ echo "$*" >&2; }}
tracefs=$1 workspace=$2 events='' pairs=''
. "{LIBRARY}/tracefs.sh"
. "{LIBRARY}/top-buffer.sh"
save_top_buffer || exit
{meanwhile}
restore_top_buffer
"""
    (folder / "work").mkdir(exist_ok=True)
    command = [*shell, "-uc", script, "sh", tracefs, folder / "work"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    sizes = [path.read_text().strip() for path in sorted(tracefs.glob("per_cpu/*/buffer_size_kb"))]
    return " ".join(sizes)


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize(
    ("whole", "sizes", "meanwhile", "left"),
    [
        # As a kernel writes it: only the file of all CPUs says what they will have.
        ("7 (expanded: 1408)", ["7", "7"], RESIZED, "1408 1408"),
        ("7 (expanded: 1408)", ["7", "7"], "", "7 7"),
        ("X", ["64", "2048"], RESIZED, "64 2048"),
    ],
    ids=["not expanded", "not used", "chosen"],
)
def test_a_size_comes_back(
    shell: list[str], whole: str, sizes: list[str], meanwhile: str, left: str, tmp_path: Path
) -> None:
    assert put_back(shell, tmp_path, tracefs_of(tmp_path, whole, sizes), meanwhile) == left


@pytest.mark.alone
def test_the_sizes_of_this_host_after_trace_cmd(tmp_path: Path) -> None:
    require_recorder("trace-cmd")
    expanded = (TRACING / "buffer_size_kb").read_text().partition("expanded: ")[2].rstrip(")\n")
    files = sorted(TRACING.glob("per_cpu/cpu*/buffer_size_kb"))
    before = [int(path.read_text()) for path in files]
    with nothing_left(tmp_path, None if expanded else "trace-cmd") as environment:
        command = [RECORD, "-o", tmp_path / "b", "--tool", "trace-cmd", "--duration", "0.3"]
        done = ended([*command, "--sidecars", "none", "--buffer", "512"], env=environment)
    assert done.returncode == 0, done.stderr
    after = [int(path.read_text()) for path in files]
    # The first recording since boot finds it small; the kernel rounds up to whole pages.
    wanted = [int(expanded)] * len(files) if expanded else before
    assert all(want <= have < want + 16 for want, have in zip(wanted, after, strict=True))


# tracefs where it is not mounted: each of several recorders has it for as long as it records, in
# whatever order they begin and end, and the last of them unmounts it. In mount namespaces of their
# own, so that the host's stays as it is.


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
    return process.stdout.readline().strip()


def orders(recorders: int) -> Iterator[tuple[int, ...]]:
    """Each way in which so many begin and end: the first time that one is named it begins."""
    both = [one for one in range(recorders) for _ in ("begin", "end")]
    for order in sorted(set(itertools.permutations(both))):
        begins = list(dict.fromkeys(order))
        if begins == sorted(begins):
            yield order


@pytest.mark.live
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


@pytest.mark.live
def test_what_another_has_mounted_stays() -> None:
    with without_tracefs() as inside:
        mount = [*inside, "mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing"]
        subprocess.run(mount, check=True)
        with piped([*inside, "sh", "-c", RECORDER]) as recorder:
            assert recorder.communicate("end\n")[0].split()[-1] == "ended"
        left = subprocess.run([*inside, "ls", "/sys/kernel/tracing"], capture_output=True)
        assert b"events" in left.stdout
