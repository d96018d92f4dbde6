# What tests of netcost-record share.

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kit.record import Recorder, recorder_in


# Whose recordings `recorder` makes; a test's own parameter goes before it.
@pytest.fixture
def tool() -> str:
    return "tracefs"


@pytest.fixture
def recorder(tool: str, tmp_path: Path) -> Iterator[Recorder]:
    with recorder_in(tmp_path, tool) as recorder:
        yield recorder
