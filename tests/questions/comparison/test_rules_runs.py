# How many runs there are, in which order they were made, and how far apart they are.

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from netcost_analysis import Run, compare
from netcost_analysis.comparison.comparison import Comparison
from netcost_analysis.comparison.run_set import RunSet
from support.host import SAMPLES
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.run_sets import NET_RX, codes, compared, measured, only, plain, polling, recorded

STEADY = [100, 103, 99, 101, 98, 102, 100, 101]
RISING = [100, 101, 102, 104, 105, 106, 107, 108]
EVEN, ODD = range(0, 16, 2), range(1, 16, 2)


def figures(
    base: Sequence[float],
    new: Sequence[float],
    base_rows: Sequence[int] = EVEN,
    new_rows: Sequence[int] = ODD,
    **labels: str,
) -> Comparison:
    first = measured("base", base, base_rows[: len(base)], **labels)
    return compared(
        first, measured("new", new, new_rows[: len(new)], **dict.fromkeys(labels, "other"))
    )


def test_interleaved_steady_repeats_are_not_suspected() -> None:
    assert codes(figures(STEADY, STEADY)) == set()


def test_too_few_repeats_are_noted() -> None:
    comparison = figures(STEADY, STEADY[:5])
    found = only(comparison, "repeats")
    assert (found.severity, found.side, found.found, found.limit) == ("note", "new", 5, 6)
    assert codes(comparison) == {"repeats"}


@pytest.mark.parametrize(
    ("first", "rows"), [("base", (range(8), range(8, 16))), ("new", (range(8, 16), range(8)))]
)
def test_one_side_after_the_other_is_warned_of(first: str, rows: tuple[range, range]) -> None:
    comparison = figures(STEADY, STEADY, *rows)
    assert codes(comparison) == {"order"}
    assert only(comparison, "order").figures["first"] == first


def test_drift_is_found_on_the_side_that_has_it() -> None:
    comparison = figures(STEADY, RISING)
    found = only(comparison, "drift")
    assert (found.severity, found.side) == ("warning", "new")
    assert found.found < found.limit
    assert (found.figures["rises"], found.figures["runs"]) == (True, 8)
    assert not only(figures(RISING[::-1], STEADY), "drift").figures["rises"]
    # Of five nobody can tell.
    assert "drift" not in codes(figures(STEADY, RISING[:5]))


def test_the_order_is_of_the_steps_not_of_the_names() -> None:
    # As they were made they went up and down.
    mixed = [1, 9, 3, 15, 5, 13, 7, 11]
    assert codes(figures(STEADY, RISING, EVEN, mixed)) == set()


def test_runs_that_nobody_ordered_are_noted() -> None:
    sides = figures(STEADY, STEADY).sides
    bare = [RunSet(replace(run, place=None) for run in runs) for runs in sides.values()]
    found = only(compared(*bare), "order_unknown")
    assert found.severity == "note"


def test_captures_are_ordered_by_their_hosts_clock(tmp_path: Path) -> None:
    def run(at: int, host: str = "one") -> Run:
        files = {"before/settings/hostname": f"{host}\n"}
        return recorded(tmp_path / f"{host}{at}", at_s=1_000 + at, files=files)

    first, second, third, fourth = map(run, (1, 2, 3, 4))
    turns = compared(RunSet([first, third]), RunSet([second, fourth]))
    assert codes(turns) == {"repeats"}
    assert codes(compared(RunSet([first, second]), RunSet([third, fourth]))) == {"repeats", "order"}
    others = compared(RunSet([first, third]), RunSet([run(2, "other")]))
    assert "order_unknown" in codes(others)


def test_a_disturbed_base_is_found_over_its_repeats() -> None:
    wild = [60, 140, 75, 120, 90, 110, 70, 130]
    found = only(figures(wild, STEADY), "baseline")
    assert (found.severity, found.side) == ("warning", "base")
    assert found.found == pytest.approx(0.4875)
    assert (found.figures["number"], found.figures["of"]) == (8, "repeats")
    # Of the new side that is its own figure's interval.
    assert codes(figures(STEADY, wild)) == set()


def test_a_disturbed_base_is_found_over_parts_of_its_time(tmp_path: Path) -> None:
    # Its polls take ten times as long from the middle on.
    happenings: list[h.Happening] = []
    for at in range(10_000, 1_010_000, 10_000):
        cost = 500 if at < 500_000 else 5_000
        happenings += [
            h.SoftirqRaise(at, NET_RX),
            h.SoftirqEntry(at, NET_RX),
            h.NapiPoll(at + cost, "eth0", 4),
            h.SoftirqExit(at + cost, NET_RX),
        ]
    disturbed = recorded(tmp_path / "a", cpu(0, *happenings))
    comparison = compared(disturbed, recorded(tmp_path / "b"))
    assert codes(comparison) == {"baseline", "repeats"}
    found = only(comparison, "baseline").figures
    assert (found["number"], found["of"]) == (8, "parts")
    assert codes(compared(plain(), recorded(tmp_path / "d", polling(3_000)))) == {"repeats"}


def test_two_labels_that_differ_cannot_be_told_apart() -> None:
    comparison = figures(STEADY, STEADY, data_path="bridge")
    assert codes(comparison) == {"labels"}
    named = only(comparison, "labels").figures["labels"]
    assert named == {"kernel": ("base", "new"), "data_path": ("bridge", "other")}


def test_a_label_that_one_side_lacks_is_not_known_to_differ(tmp_path: Path) -> None:
    labelled = recorded(tmp_path / "a", labels={"kernel": "6.1", "data_path": "xdp"})
    assert codes(compared(labelled, recorded(tmp_path / "b", labels={"data_path": "bridge"}))) == {
        "repeats"
    }


# Six repeats in an order of chance: of UDP they lie close, of TCP without deferral far apart.
@pytest.mark.parametrize(
    ("protocol", "expected", "spread"), [("udp", set(), 0.03), ("tcp", {"baseline"}, 0.3)]
)
def test_a_disturbed_sample_is_found(protocol: str, expected: set[str], spread: float) -> None:
    comparison = compare(
        SAMPLES / "local-regression",
        where={"network": "loopback", "protocol": protocol, "rps": "off", "cpus": "two"},
        base_where={"skb_defer_max": 0},
        new_where={"skb_defer_max": 64},
    )
    assert codes(comparison) == expected
    rates = [run.figures["received_bits_per_second"] for run in comparison.base]
    first, middle, third = np.percentile(rates, [25, 50, 75])
    assert (third - first) / middle == pytest.approx(spread, abs=0.01)
    if expected:
        found = only(comparison, "baseline")
        assert (found.severity, found.side) == ("warning", "base")
        assert found.found == pytest.approx((third - first) / middle)
        assert found.figures["number"] == 6
