import pandas as pd
import pytest

from netcost_analysis.units import (
    duration,
    ranges,
    share,
    signed_share,
    significant,
)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0"),
        (1, "1.00 ns"),
        (999, "999 ns"),
        (1_234, "1.23 µs"),
        (12_345, "12.3 µs"),
        (123_456, "123 µs"),
        (999_400, "999 µs"),
        (999_600, "1.00 ms"),
        (9_995_000, "10.0 ms"),
        (2_980_000_000, "2.98 s"),
        (-1_500, "-1.50 µs"),
        (None, "unknown"),
        (pd.NA, "unknown"),
        (float("nan"), "unknown"),
    ],
)
def test_duration(ns: object, text: str) -> None:
    assert duration(ns) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.0, "0.0 %"),
        (0.0004, "<0.1 %"),
        (0.1234, "12.3 %"),
        (0.9999, ">99.9 %"),
        (1.0, "100 %"),
        # Of more than the whole: a change, or a spread.
        (2.271, "227 %"),
        (23.2, "2,320 %"),
        (None, ""),
        (pd.NA, ""),
    ],
)
def test_share_never_rounds_to_all_or_nothing(fraction: object, text: str) -> None:
    assert share(fraction) == text


@pytest.mark.parametrize(
    ("cpus", "text"), [([0, 1, 2, 5], "0-2,5"), ([3, 1, 0], "0-1,3"), ([7], "7"), ([], "")]
)
def test_ranges(cpus: list[int], text: str) -> None:
    assert ranges(cpus) == text


# Of changes, which may be more than the whole, and whose sign counts however small they are.
@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.0, "0.0 %"),
        (0.0512, "+5.1 %"),
        (-0.0512, "-5.1 %"),
        (-0.00021, "-0.02 %"),
        (-6.94e-18, "0.0 %"),
        (3.1389, "+314 %"),
        (-0.99987, "-99.987 %"),
        (-0.99999999, "-99.9999 %"),
        (-1.0, "-100 %"),
    ],
)
def test_signed_share(fraction: float, text: str) -> None:
    assert signed_share(fraction) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.2345, "1.23"), (999.4, "999"), (1000, "1,000"), (-4.325e8, "-432,500,000")],
)
def test_significant_digits_never_take_an_exponent(value: float, text: str) -> None:
    assert significant(value) == text
