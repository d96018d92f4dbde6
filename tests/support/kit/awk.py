# Running the capture kit's awk programs from tests, with every awk that is here.

import shutil
import subprocess
from collections.abc import Iterable, Sequence

import pytest

from support.host import ROOT

LIBRARY = ROOT / "capture" / "lib"
AWKS = [[name] for name in ("mawk", "gawk", "original-awk") if shutil.which(name)]
AWKS += [["busybox", "awk"]] if shutil.which("busybox") else []
every_awk = pytest.mark.parametrize("awk", AWKS, ids=" ".join)


def run(awk: Sequence[str], scripts: Sequence[str], words: Iterable[object], **options: str) -> str:
    assigned = [word for name, value in options.items() for word in ("-v", f"{name}={value}")]
    files = [word for name in scripts for word in ("-f", LIBRARY / f"{name}.awk")]
    command = [str(word) for word in (*awk, *assigned, *files, *words)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
