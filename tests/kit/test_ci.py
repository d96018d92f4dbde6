# examples/ci: the fixture says what netcost compare says, and the workflow's commands are real.

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from netcost_analysis.cli.compare import command as compare
from support.host import ROOT
from support.kit.record import RECORD, require_recorder, stub

CI = ROOT / "examples" / "ci"


# The example's test in a pytest of its own; whether it passed, and what it printed.
def ran(folder: Path, record: str, netcost: str, **environment: str) -> tuple[int, str]:
    known = {"NETCOST_RECORD": record, "NETCOST": netcost, "PYTHONPATH": f"{CI}:{ROOT}"}
    # What is installed beside pytest takes longer to import than the test.
    known["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    words = ["-q", "-p", "netcost_gate", "-p", "no:cacheprovider", "-c", os.devnull]
    words += [f"--basetemp={folder / 'base'}", str(CI / "test_cost.py")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        env={**os.environ, **known, **environment},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("status", "outcome", "ended"),
    [(0, "1 passed", 0), (3, "1 failed", 1), (4, "1 skipped", 0), (1, "1 failed", 1)],
)
def test_the_fixture_says_what_was_judged(
    tmp_path: Path, status: int, outcome: str, ended: int
) -> None:
    path = stub(tmp_path, "recorder", f'printf "%s\\n" "$@" >"{tmp_path}/recorded"')
    stub(
        tmp_path, "judge", f'printf "%s\\n" "$@" >"{tmp_path}/judged"; echo why >&2; exit {status}'
    )
    returned, printed = ran(tmp_path, "recorder", "judge", PATH=path)
    assert (returned, outcome in printed) == (ended, True), printed
    recorded = (tmp_path / "recorded").read_text().splitlines()
    base, head = recorded[recorded.index("--alternate") + 1 :]
    assert base.endswith("bench.py 1 1")
    assert head.endswith("bench.py 1 1")
    judged = (tmp_path / "judged").read_text().splitlines()
    assert judged[:2] == ["compare", recorded[1]]
    assert judged[-2:] == ["--fail-if", "change(network_ns_per_work) > 20%"]


def test_the_workflow_uses_options_that_there_are() -> None:
    text = (CI / "workflow.yml").read_text()
    [record] = re.findall(r"netcost-record (.*)", text)
    usage = subprocess.run([RECORD, "--help"], capture_output=True, text=True).stdout
    assert "--alternate" in record
    assert [
        one for one in re.findall(r"(?<!\S)--?\w[\w-]*", record) if f" {one}" not in usage
    ] == []
    known = {name for option in compare.params for name in option.opts}
    [judge] = re.findall(r"netcost compare (.*)", text)
    assert set(re.findall(r"(?<!\S)--[\w-]+", judge)) <= known
    assert "\t" not in text


# Head sends each message as two datagrams; as one, it is what base does.
@pytest.mark.live
@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize(("pieces", "outcome"), [("2", "1 failed"), ("1", "failed")])
def test_a_regression_fails_the_gate(tmp_path: Path, pieces: str, outcome: str) -> None:
    require_recorder("tracefs")
    netcost = f"{sys.executable} -m netcost_analysis"
    _, printed = ran(tmp_path, str(RECORD), netcost, HEAD_PIECES=pieces)
    assert (outcome in printed) == (pieces == "2"), printed
