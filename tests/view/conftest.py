from collections.abc import Iterator
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.view.tiles import Tiles
from support.browser import Shown, chromium, served
from support.host import SAMPLES


@pytest.fixture(scope="module")
def timeline() -> netcost.Timeline:
    return netcost.open_capture(SAMPLES / "nic-stolen-time").timeline()


@pytest.fixture(scope="module")
def tiles(timeline: netcost.Timeline) -> Tiles:
    return Tiles.of(timeline)


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address(tiles: Tiles) -> Iterator[str]:
    with served(tiles) as found:
        yield found


@pytest.fixture
def shown(driver: Any, address: str) -> Iterator[Shown]:
    found = Shown(driver, address)
    yield found
    assert found.complaints() == []
