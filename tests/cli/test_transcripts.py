# What the commands print, and how they refuse.

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.compared import compared_once
from support.transcript import ROOT, differences


@pytest.fixture(autouse=True, scope="module")
def compared() -> Iterator[None]:
    with compared_once():
        yield


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests/golden").glob("*.console")), ids=lambda path: path.stem
)
def test_commands_print_what_their_transcript_says(path: Path) -> None:
    found = differences(path)
    assert not found, "\n\n".join(found)
