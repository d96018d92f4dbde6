# What the scheduler did to tasks, block by block, is the same in one batch of stays and in many.

from typing import Any

import pandas as pd
import pytest

from netcost_analysis.capture.capture import Capture
from netcost_analysis.questions import inputs
from netcost_analysis.questions.comparison.scheduled import scheduled
from support.kept import kept

SAMPLES = ("local-migrations.netcost.tar.zst", "nic-guest/6.12-nic-2-flows.netcost.tar.zst")


@pytest.mark.parametrize(
    ("sample", "window"), list(zip(SAMPLES, ({"start_s": 0.2, "end_s": 0.5}, {}), strict=True))
)
def test_batches_change_nothing(
    sample: str, window: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def block_of(times: "pd.Series[int]") -> "pd.Series[int]":
        return times // 20_000_000

    whole = scheduled(kept(sample).timeline(**window), block_of)
    assert whole is not None
    assert {"voluntary", "wake-up", "asleep"} <= set(whole["what"])
    monkeypatch.setattr(inputs, "_MOST_SEGMENTS", 1)
    monkeypatch.setattr(inputs, "_ROWS", 500)
    parts = scheduled(Capture.timeline(kept(sample), **window), block_of)
    pd.testing.assert_frame_equal(parts, whole)
