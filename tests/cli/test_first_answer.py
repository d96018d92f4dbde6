# ledger and stolen answer before pandas could be imported: on native's plain columns.

import subprocess
import sys
from typing import get_args

import pytest

from netcost_analysis.timeline.by import By
from support.host import ROOT
from support.kept import kept

HEAVY = {"numpy", "pandas", "pyarrow", "scipy", "matplotlib", "jinja2", "IPython", "tqdm"}
# What is loaded is told by the command's own process, when it has answered.
WATCH = """
import sys
sys.argv[0] = "netcost"
from netcost_analysis.cli.main import main
main()
print(*sorted(sys.modules), file=sys.stderr)
"""


def loaded(*words: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", WATCH, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return set(done.stderr.split()) & HEAVY


# Of the second the kernel counted more than was recorded, and some of its time is nobody's.
@pytest.mark.parametrize("sample", ["nic-stolen-time", "stolen-time-tcp.netcost.tar.zst"])
@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize("by", [None, *get_args(By)])
def test_the_ledger_needs_no_pandas(sample: str, form: tuple[str, ...], by: str | None) -> None:
    told = () if by is None else ("--by", by)
    assert not loaded("ledger", str(ROOT / "sample-data" / sample), *told, *form)


@pytest.mark.parametrize("sample", ["nic-stolen-time", "stolen-time-tcp.netcost.tar.zst"])
@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--victim", "openssl"),
        ("--victim", "TID"),
        ("--start", "0.2", "--end", "0.6", "--cpu", "0"),
    ],
)
def test_what_each_task_lost_needs_no_pandas(
    sample: str, form: tuple[str, ...], words: tuple[str, ...]
) -> None:
    path = ROOT / "sample-data" / sample
    if "TID" in words:
        rows = kept(path).timeline().owned_by()
        words = ("--victim", str(next(row.tid for row in rows if row.comm == "openssl")))
    assert not loaded("stolen", str(path), *words, *form)
