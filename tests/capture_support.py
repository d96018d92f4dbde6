# Running the capture kit from tests: as a user would, in a session of its own and with a TMPDIR of
# its own, so that whatever it leaves behind is found.

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conftest import ROOT, missing

RECORD = ROOT / "capture" / "netcost-record"
LAB = ROOT / "capture" / "lab" / "stolen-time"

# A word in the command line of everything a test starts: nobody else's process can hold it.
MARK = f"mark-{os.getpid()}-"


def started(command: Sequence[object], **options: Any) -> subprocess.Popen[str]:
    # A test run in the background ignores SIGINT, and what it starts would inherit that for good.
    return subprocess.Popen(
        [str(word) for word in command],
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        text=True,
        **options,
    )


def ended(command: Sequence[object], **options: Any) -> subprocess.CompletedProcess[str]:
    process = started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    try:
        out, err = process.communicate(timeout=90)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def processes_with(word: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line and path.parent.name != str(os.getpid()):
            found.append(line)
    return found


def manifest_of(bundle: Path) -> dict[str, Any]:
    manifest = json.loads((bundle / "manifest.json").read_text(encoding="ascii"))
    assert isinstance(manifest, dict)
    return manifest


def shellcheck() -> str:
    beside = Path(sys.executable).with_name("shellcheck")
    found = str(beside) if beside.exists() else shutil.which("shellcheck")
    if not found:
        missing("needs shellcheck, which is not installed")
    return found or ""
