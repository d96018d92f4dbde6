# A capture of 400,000 segments, for what is about many rows.

from pathlib import Path

import pytest

from benchmarks.repeat import repeat
from support.host import ROOT


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "perf.data"
    repeat(ROOT / "sample-data" / "nic-stolen-time" / "trace.perf.data", 4, path)
    return path
