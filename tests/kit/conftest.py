# What tests of the kit share.

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.host import missing
from support.kit.pack import make_bundle
from support.kit.record import Recorder, recorder_in
from support.kit.steer_host import Host


# Whose recordings `recorder` makes; a test's own parameter goes before it.
@pytest.fixture
def tool() -> str:
    return "tracefs"


@pytest.fixture
def recorder(tool: str, tmp_path: Path) -> Iterator[Recorder]:
    with recorder_in(tmp_path, tool) as recorder:
        yield recorder


@pytest.fixture
def host(tmp_path: Path) -> Host:
    if os.geteuid() != 0:
        missing("needs root: netcost-steer changes nothing for others")
    return Host(tmp_path)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return make_bundle(tmp_path)
