# What netcost does where a recording is large, on a small one.

from unittest.mock import patch

import pytest

import netcost_analysis as netcost
from netcost_analysis.capture import recording
from netcost_analysis.timeline import group
from netcost_analysis.view.tiles import Tiles


# Rows are not kept: aggregates take some of them at once.
def take_in_parts(patch: pytest.MonkeyPatch, rows: int) -> None:
    patch.setattr(recording, "SMALL", 0)
    patch.setattr(group, "_AT_ONCE", rows)


# Tiles as they are of a capture that is larger than memory: sums alone, few of them, and all that
# is finer read again in small parts.
def summed_only(timeline: netcost.Timeline, entries: int = 200, part: int = 100) -> Tiles:
    # Nothing of it may have been read before.
    capture = netcost.open_capture(timeline.capture.path)
    with patch.multiple("netcost_analysis.view.tiles", _SMALL=0, _MOST_ENTRIES=entries):
        tiles = Tiles.of_capture(
            capture, timeline.start_s, timeline.end_s, timeline.cpus, most_segments=0
        )
    assert not tiles.holds_segments or not tiles.duration_ns
    tiles._parts.most = (part, part)
    return tiles
