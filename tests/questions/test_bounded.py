# Every question of a recording that does not fit into memory, each in a process of its own: with a
# bound on its address space, and less than 1 GiB resident.

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.repeat import repeat
from netcost_analysis import open_capture
from netcost_analysis.answers.registry import questions
from support.host import SAMPLES

pytestmark = pytest.mark.slow

ASKED = sorted(name for name, one in questions().items() if "Timeline" in one.sources)
# The recording, and how many times: some 5 million events.
RECORDINGS = {"nic-stolen-time": 27, "stolen-time-tcp.netcost.tar.zst": 8}
ANSWERED = """
import resource, sys
import netcost_analysis as netcost
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
answer = netcost.open_capture(sys.argv[1]).ask(sys.argv[2])
print(answer.refusal or answer.words)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.fixture(scope="module", params=RECORDINGS)
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "perf.data"
    bundle = open_capture(SAMPLES / request.param).bundle
    assert bundle is not None
    repeat(bundle.trace, RECORDINGS[request.param], path)
    return path


@pytest.mark.parametrize("name", ASKED)
def test_any_question_in_less_than_a_gibibyte(name: str, large: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ANSWERED, str(large), name], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-800:]
    assert int(done.stdout.rsplit("\n", 2)[1]) / 1024 < 1024
