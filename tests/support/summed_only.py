# Tiles as they are of a capture that is larger than memory: sums alone, few of them, and all that
# is finer read again in small parts.

from unittest.mock import patch

import netcost_analysis as netcost
from netcost_analysis.view.tiles import Tiles

_MODULE = "netcost_analysis.view"


def summed_only(timeline: netcost.Timeline, entries: int = 200, part: int = 100) -> Tiles:
    # Nothing of it may have been read before.
    capture = netcost.open_capture(timeline.capture.path)
    with patch.multiple(f"{_MODULE}.tiles", _SMALL=0, _MOST_ENTRIES=entries):
        tiles = Tiles.of_capture(
            capture, timeline.start_s, timeline.end_s, timeline.cpus, most_segments=0
        )
    assert not tiles.holds_segments or not tiles.duration_ns
    tiles._parts.most = (part, part)
    return tiles
