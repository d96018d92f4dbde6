# A wait runs from the wake-up to the switch-in that ends it.

import pytest
from hypothesis import given, settings
from narrator import recordings
from native_tables import Answer
from perfdata import Recording


@settings(max_examples=40)
@given(recordings())
def test_wake_up_and_wait_end_at_the_switch_in(
    tmp_path_factory: pytest.TempPathFactory, told: Recording
) -> None:
    got = Answer(told.write(tmp_path_factory.mktemp("waits") / "perf.data"))
    woken = [row for row in got.slices if row["wake_ns"] is not None]
    assert all(row["wake_ns"] + row["wait_ns"] == row["in_ns"] for row in woken)
    assert all(row["wait_ns"] >= 0 for row in woken)
