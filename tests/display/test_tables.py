# Ranges as a reader sees them: two ends only where they differ by what is shown.

import pytest

from netcost_analysis.display.tables import between, share_between


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        # 7 µs apart, on both sides of where a digit changes.
        (344_496_000, 344_503_000, "345 ms"),
        (344_000_000, 345_000_000, "344 ms – 345 ms"),
        (0, 7_000, "≤ 7.00 µs"),
        (5, 6, "5.00 ns – 6.00 ns"),
        (0, 0, ""),
        (0, None, ""),
    ],
)
def test_times(low: int, high: int | None, text: str) -> None:
    assert between(low, high) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.34349, 0.34351, "34.4 %"),
        (0.3434, 0.3446, "34.3 % – 34.5 %"),
        (0.0002, 0.0004, "<0.1 %"),
        (0, 0.0004, "<0.1 %"),
        (0, 0.3, "≤ 30.0 %"),
        (float("nan"), float("nan"), ""),
    ],
)
def test_shares(low: float, high: float, text: str) -> None:
    assert share_between(low, high) == text
