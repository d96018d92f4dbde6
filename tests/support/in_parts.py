# As of a large recording, whose rows are not kept: aggregates take some of them at once.

import pytest

from netcost_analysis.capture import recording
from netcost_analysis.timeline import group


def take_in_parts(patch: pytest.MonkeyPatch, rows: int) -> None:
    patch.setattr(recording, "SMALL", 0)
    patch.setattr(group, "_AT_ONCE", rows)
