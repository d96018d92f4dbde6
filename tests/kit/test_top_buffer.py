# The kernel's own trace buffer, which trace-cmd takes: what is saved of it and put back. On folders
# that stand for tracefs, for a buffer that is not expanded is found once per boot; and here.

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.host import ROOT
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
    for name, text in files.items():
        (folder / "tracing" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "tracing" / name).write_text(text + "\n")
    return folder / "tracing"


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
