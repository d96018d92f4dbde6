# A recording that is larger than memory: questions read it in batches as native gives them, answer
# to the last bit what they answer in one, and stay small.

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from benchmarks.repeat import repeat
from netcost_analysis.capture.capture import Capture
from netcost_analysis.questions import inputs
from netcost_analysis.questions.ask import questions
from support.host import ROOT
from support.kept import kept

TOPICS = ("batches", "devices", "energy", "functions")
ASKED = [
    name
    for name, one in questions().items()
    if one.topic in TOPICS and one.sources == ("Timeline",) and one.inputs
]
FUNCTIONS = "stolen-time-functions.netcost.tar.zst"
# How many rows a batch has.
CASES = [
    *((name, "nic-stolen-time", 1_000) for name in ASKED),
    ("interrupt_components", FUNCTIONS, 100_000),
]
LARGER = [
    *((name, "nic-guest/6.12-nic-2-flows.netcost.tar.zst", 1_000) for name in ASKED),
    *((name, "veth-stolen-time", 20_000) for name in ASKED),
    *((name, FUNCTIONS, 50_000) for name in ASKED),
]
WINDOWS: list[dict[str, Any]] = [{}, {"start_s": 0.3, "end_s": 0.7, "cpus": [0]}]


def told(answer: netcost.Answer[Any]) -> dict[str, Any]:
    if answer.refusal is not None:
        return {"refusal": str(answer.refusal)}
    return {**answer.tables, "words": answer.words}


@pytest.mark.parametrize(
    ("name", "sample", "rows"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in LARGER)],
)
def test_batches_change_no_digit(
    name: str, sample: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for window in WINDOWS:
        whole = told(kept(sample).timeline(**window).ask(name))
        with monkeypatch.context() as small:
            small.setattr(inputs, "_MOST_SEGMENTS", 1)
            small.setattr(inputs, "_ROWS", rows)
            parts = told(Capture.timeline(kept(sample), **window).ask(name))
        assert list(parts) == list(whole)
        for part, expected in whole.items():
            if isinstance(expected, pd.DataFrame):
                pd.testing.assert_frame_equal(parts[part], expected, check_exact=True, obj=part)
            else:
                assert parts[part] == expected


PEAK = """
import sys
import netcost_analysis as netcost
answer = netcost.open_capture(sys.argv[1]).ask(sys.argv[2])
print(answer.refusal or len(answer.frame), len(answer.words))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # 5.6 million events, 4.3 million segments; as tables they take some GB.
    folder = tmp_path_factory.mktemp("large")
    sample = ROOT / "sample-data" / "stolen-time-tcp.netcost.tar.zst"
    subprocess.run(["tar", "-C", folder, "--zstd", "-xf", sample], check=True)
    (recorded,) = folder.glob("*/trace.perf.data")
    repeat(recorded, 9, folder / "large.data")
    return folder / "large.data"


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_a_question_stays_below_a_gibibyte(name: str, large: Path) -> None:
    command = [sys.executable, "-c", PEAK, str(large), name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-1]) < 1 << 20, done.stdout
