# What the kit counts on the host and what the package counts of the bundle are the same.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.completeness.completeness import computed, written
from support.host import require_root_tracing
from support.kit.record import RECORD, ended, manifest_of

pytestmark = pytest.mark.live

# Packets of every host: loopback's. Nobody listens on the discard port.
LOAD = "bash -c 'while sleep 0.05; do echo packet >/dev/udp/127.0.0.1/9; done'"


@pytest.mark.parametrize("tool", ["perf", "tracefs"])
def test_host_and_package_agree(tool: str, tmp_path: Path) -> None:
    require_root_tracing()
    folder = tmp_path / "bundle"
    words = ["--tool", tool, "--profile", "stolen", "--duration", "1", "--load", LOAD]
    done = ended([RECORD, "-o", folder, *words], env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    assert done.returncode == 0, done.stderr
    capture, record = netcost.open_capture(folder), manifest_of(folder)["completeness"]
    told, found = written(capture), computed(capture)
    assert told is not None
    assert found.verdict[:2] == told.verdict[:2] == (record["verdict"], record["state"])
    # Of equally many missing the order may be another.
    assert set(found.rows) == set(told.rows)
    assert {"softirq", "packets", "switches"} <= {row.what for row in found.rows}
