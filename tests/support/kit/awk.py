# Running the capture kit's awk programs from tests, with every awk that is here; and a locale whose
# numbers have a comma, as mawk then writes them.

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from support.host import ROOT, require_tool

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


COMMA = """\
LC_CTYPE
copy "POSIX"
END LC_CTYPE
LC_COLLATE
copy "POSIX"
END LC_COLLATE
LC_NUMERIC
decimal_point ","
thousands_sep "."
grouping 3;3
END LC_NUMERIC
"""


def decimal_comma(folder: Path) -> dict[str, str]:
    """The environment of the locale, which is made in a new folder."""
    folder.mkdir()
    # All of a country's takes longer than a test. It warns of what is left out.
    (folder / "comma").write_text(COMMA)
    command = [require_tool("localedef"), "-c", "-i", "comma", "-f", "UTF-8", "./comma.UTF-8"]
    subprocess.run(command, cwd=folder, capture_output=True)
    locale = {"LOCPATH": str(folder), "LC_ALL": "comma.UTF-8"}
    said = subprocess.run(["printf", "%.1f", "1,5"], env=locale, capture_output=True)
    assert said.stdout == b"1,5"
    return locale
