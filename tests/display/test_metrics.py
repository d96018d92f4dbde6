# A change in words: each of its states says what is known, and none is a bare "no difference".

from typing import Any

import pytest

from netcost_analysis.display.metrics import (
    found,
    from_to,
    judged,
    metric_name,
    moved,
    quantity,
    span,
    went,
    within,
)
from netcost_analysis.stats.change import MOST_REPEATS

ROW = {
    "metric": "received_bits_per_second",
    "per_unit": "",
    "is_relative": True,
    "base": 3.82e9,
    "new": 1.56e9,
    "change": -0.592,
    "change_low": -0.629,
    "change_high": -0.536,
    "p_adjusted": 0.002,
    "differs": "yes",
    "more_repeats": None,
    "observed_in": "repeats",
    "is_unchanged": False,
}
WIDE = {"differs": "no", "change_low": -0.10, "change_high": 0.87}


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        ({}, ("-59.2 %", "-62.9 to -53.6 %")),
        # An interval that is wide is not "unchanged", whether or not any number would tell.
        ({**WIDE, "more_repeats": 34}, ("undecided (-10.0 to +87.0 %; too few", "34 more")),
        (WIDE, ("undecided (-10.0 to +87.0 %; too few", f"{MOST_REPEATS:,} a side")),
        ({**WIDE, "more_repeats": 0}, ("undecided (-10.0 to +87.0 %; too few repeats)",)),
        # From 0 there is no 5 % to tell.
        (
            {**WIDE, "is_relative": False, "per_unit": "ns/packet"},
            ("undecided (-0.1 to +0.87 ns/packet; too few repeats)",),
        ),
        (
            {"differs": "no", "change_low": -0.01, "change_high": 0.02, "is_unchanged": True},
            ("unchanged within -1.0 to +2.0 %",),
        ),
        ({"differs": "no", "p_adjusted": 0.094, "more_repeats": 7}, ("-59.2 %", "0.094", "7 more")),
        ({"differs": "no"}, ("-59.2 %", f"{MOST_REPEATS:,} a side")),
        ({"differs": "too_few", "more_repeats": 5}, ("too few repeats", "at least 5 more")),
        ({"differs": "refused"}, ("not compared",)),
        ({"new": None, "differs": "one_side"}, ("base alone",)),
    ],
)
def test_a_change_says_what_is_known(more: dict[str, Any], parts: tuple[str, ...]) -> None:
    said = found({**ROW, **more})
    assert all(part in said for part in parts), said


def test_a_unit_is_said_once() -> None:
    assert from_to(ROW) == "3.82 -> 1.56 Gbit/s"
    assert from_to({**ROW, "metric": "x", "base": 990.0, "new": 1_200.0}) == "990 -> 1,200"
    assert [from_to({**ROW, side: None}) for side in ("base", "new")] == [
        "1.56 Gbit/s",
        "3.82 Gbit/s",
    ]
    points = {**ROW, "is_relative": False, "per_unit": "share", "change_high": 0.004}
    assert span(points) == "-62.9 to +0.4 points"
    assert span({**ROW, "change_low": None}) == ""
    assert within(3_100.0, 9_020.0) == "3.10 to 9.02 µs"
    assert within(-120.0, 9_020.0) == "-120 ns to 9.02 µs"
    assert within(None, 9_020.0) == ""
    assert went(3_100.0, 9_020.0) == "3.10 -> 9.02 µs"
    # From 0 there is no part of it.
    times = {**points, "per_unit": "ns/packet", "change_low": -120.0, "change_high": 2_000.0}
    assert span(times) == "-120 ns/packet to +2.00 µs/packet"


@pytest.mark.parametrize(
    ("metric", "per_unit", "words"),
    [
        ("network_ns_per_packet", "ns/packet", "network CPU time per packet"),
        ("latency_p99_ns", "ns", "latency p99"),
        ("bytes_per_s", "bytes/s", "bytes a second"),
        ("server_cpu_percent", "", "server CPU"),
    ],
)
def test_a_metric_has_words(metric: str, per_unit: str, words: str) -> None:
    assert metric_name({"metric": metric, "per_unit": per_unit}) == words


def test_rates_have_multiples() -> None:
    assert quantity(3.824e9, "bit/s") == "3.82 Gbit/s"
    assert quantity(605_448_839.0, "bytes/s") == "605 MB/s"
    assert quantity(52_922.4, "blocks/s") == "52,922/s"
    assert quantity(None, "share") == "unknown"


# What is smaller than a figure's resolution is 0, and 0 has no sign.
@pytest.mark.parametrize("change", [0.0, -0.0, 6.94e-18, -6.94e-18])
@pytest.mark.parametrize(
    ("is_relative", "per_unit", "text"),
    [
        (True, "", "0.0 %"),
        (False, "ns/packet", "0 ns/packet"),
        (False, "share", "0.0 points"),
        (False, "blocks/s", "0/s"),
        (False, "1/packet", "0/packet"),
        (False, "bit/s", "0 bit/s"),
    ],
)
def test_a_change_below_the_resolution_is_none(
    change: float, is_relative: bool, per_unit: str, text: str
) -> None:
    assert moved(change, is_relative, per_unit) == text


def test_a_change_that_is_not_told_has_a_mark() -> None:
    unchanged = {**ROW, **WIDE, "is_unchanged": True}
    marks = [judged(row) for row in (ROW, {**ROW, **WIDE}, unchanged)]
    assert marks == ["-59.2 %", "~", "="]
    assert judged({**ROW, "differs": "one_side"}) == ""
