# A change in words: each of its states says what is known, and none is a bare "no difference".

from typing import Any

import pytest

from netcost_analysis.display.metrics import found, from_to, metric_name, quantity, span
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
}


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        ({}, ("-59.2 %", "-62.9 to -53.6 %")),
        (
            {"differs": "no", "change_low": -0.01, "change_high": 0.28, "more_repeats": 34},
            ("unchanged within -1.0 to +28.0 %", "34 more"),
        ),
        (
            {"differs": "no", "change_low": -0.01, "change_high": 0.02, "more_repeats": 0},
            ("+2.0 %",),
        ),
        ({"differs": "no", "p_adjusted": 0.094, "more_repeats": 7}, ("-59.2 %", "0.094", "7 more")),
        ({"differs": "no"}, ("-59.2 %", f"{MOST_REPEATS:,} a side")),
        ({"differs": "too_few", "more_repeats": 5}, ("too few repeats", "at least 5 more")),
        ({"differs": "refused"}, ("not compared",)),
        ({"new": None}, ("base alone",)),
    ],
)
def test_a_change_says_what_is_known(more: dict[str, Any], parts: tuple[str, ...]) -> None:
    said = found({**ROW, **more})
    assert all(part in said for part in parts), said


def test_a_unit_is_said_once() -> None:
    assert from_to(ROW) == "3.82 to 1.56 Gbit/s"
    assert from_to({**ROW, "metric": "x", "base": 990.0, "new": 1_200.0}) == "990 to 1,200"
    points = {**ROW, "is_relative": False, "per_unit": "share", "change_high": 0.004}
    assert span(points) == "-62.9 to +0.4 points"
    assert span({**ROW, "change_low": None}) == ""
    # From 0 there is no part of it.
    times = {**points, "per_unit": "ns/packet", "change_low": -120.0, "change_high": 2_000.0}
    assert span(times) == "-120 ns/packet to +2.00 µs/packet"


@pytest.mark.parametrize(
    ("metric", "per_unit", "words"),
    [
        ("network_ns_per_packet", "ns/packet", "network CPU time per packet"),
        ("latency_p99_ns", "ns", "latency p99"),
        ("bytes_per_s", "bytes/s", "bytes a second"),
        ("server_cpu_percent", "", "server CPU percent"),
    ],
)
def test_a_metric_has_words(metric: str, per_unit: str, words: str) -> None:
    assert metric_name({"metric": metric, "per_unit": per_unit}) == words


def test_rates_have_multiples() -> None:
    assert quantity(3.824e9, "bit/s") == "3.82 Gbit/s"
    assert quantity(52_922.4, "blocks/s") == "52,922/s"
    assert quantity(None, "share") == "unknown"
