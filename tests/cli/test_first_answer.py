# info, ledger, stolen and functions answer before pandas could be imported: on native's plain
# columns.

import json
import subprocess
import sys
from typing import get_args

import pytest

from netcost_analysis.timeline.by import By
from support.host import ROOT
from support.kept import kept

HEAVY = {"numpy", "pandas", "pyarrow", "scipy", "matplotlib", "jinja2", "IPython", "tqdm"}
# What is loaded is told by the commands' own process, when each has answered.
WATCH = """
import json, sys
from netcost_analysis.cli.main import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["netcost", *words]
    main()
    print(*sorted(sys.modules), file=sys.stderr)
"""


# Of the second the kernel counted more than was recorded, and some of its time is nobody's.
@pytest.mark.parametrize(
    ("sample", "start"), [("nic-stolen-time", "3.5"), ("stolen-time-tcp.netcost.tar.zst", "0.5")]
)
def test_ledger_and_stolen_need_no_pandas(sample: str, start: str) -> None:
    path = str(ROOT / "sample-data" / sample)
    # While openssl ran.
    window = ["--start", start, "--end", "4", "--cpu", "0"]
    asked = [["ledger", path, "--by", by, *window] for by in get_args(By)]
    tid = next(row.tid for row in kept(path).timeline().owned_by() if row.comm == "openssl")
    victims = (["--victim", "openssl"], ["--victim", str(tid)])
    asked += [["stolen", path, *words] for words in ([], *victims, window)]
    _check([[*words, *form] for words in asked for form in ([], ["--json"])])


def test_info_and_functions_need_none() -> None:
    path = str(ROOT / "sample-data" / "io-sizes" / "udp-64.netcost.tar.zst")
    asked = [["functions", path, *words] for words in ([], ["--user"], ["--cpu", "0"])]
    asked.append(["functions", path, "--start", "0.2", "--end", "0.6"])
    asked.append(["info", str(ROOT / "sample-data" / "nic-stolen-time")])
    _check([[*words, *form] for words in asked for form in ([], ["--json"])])


def _check(commands: list[list[str]]) -> None:
    # One after another: what is loaded by any of them is there from then on.
    words = [sys.executable, "-c", WATCH, json.dumps(commands)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    found = done.stderr.splitlines()
    for command, modules in zip(commands, found, strict=True):
        assert not set(modules.split()) & HEAVY, command
