# Who pays for a unit of work, and whether anything moved: planted work is found where it went, and
# none where nothing was planted.

from pathlib import Path

import numpy as np
import pytest

import netcost_analysis as netcost
from netcost_analysis.answers.answer import Answer
from netcost_analysis.questions.comparison.who_paid import Paid, paid_in
from support.compared import recorded

PLANTED = {"poll_ns": 3_000, "irq_ns": 2_000}


def tree(path: Path, count: int, paired: bool = False, **planted: int) -> Answer:
    sides = [
        [recorded(path / f"{name}{at}", first + at, packets=200, **more) for at in range(count)]
        for name, first, more in (("base", 0, {}), ("new", 100, planted))
    ]
    return netcost.compare(*sides, paired=paired).ask.comparison.cost_tree()


# 1,020 ns of the client's softirqs a packet become an interrupt elsewhere.
@pytest.mark.parametrize(("count", "paired"), [(6, False), (9, True), (1, False)])
def test_moved_work_has_an_interval(tmp_path: Path, count: int, paired: bool) -> None:
    found = tree(tmp_path, count, paired, **PLANTED)
    assert found["is_moved"]
    assert found["moved_in_all_ns"] == pytest.approx(1_020, abs=120)
    assert found["moved_low_ns"] < 1_020 < found["moved_high_ns"]
    assert found["moved_high_ns"] - found["moved_low_ns"] < 300
    # Nothing was added.
    assert found["difference_low_ns"] < 0 < found["difference_high_ns"]
    assert " moved" in found.words
    assert "may have moved" not in found.words
    assert "may have been" in found.words
    assert ("blocks of time" in found.words) == (count == 1) == bool(found["time_blocks"])


def test_added_work_has_an_interval(tmp_path: Path) -> None:
    found = tree(tmp_path, 6, irq_ns=2_000)
    assert found["difference_low_ns"] > 900
    assert found["difference_high_ns"] < 1_150
    assert "was added" in found.words
    assert not found["is_moved"]


def test_too_short_a_recording_tells_nothing(tmp_path: Path) -> None:
    sides = [recorded(tmp_path / f"{at}", at, packets=4) for at in range(2)]
    found = netcost.compare(*sides).ask.comparison.cost_tree()
    assert not found["is_moved"]
    assert "may have" in found.words


# Parts of runs whose sum is fixed: what one has by chance, others lack.
def by_chance(seed: int, paired: bool, parts: int = 10, runs: int = 6) -> Paid:
    draw = np.random.default_rng(seed)
    sizes = draw.lognormal(7, 1, parts)
    sides = []
    for _ in range(2):
        values = sizes * (1 + draw.normal(0, 0.08, (runs, parts)))
        sides.append(np.clip(values - values.mean(axis=1, keepdims=True) + sizes.mean(), 0, None))
    counted = {
        (f"process {part}", "itself"): [
            [(np.array([value]), np.ones(1)) for value in side[:, part]] for side in sides
        ]
        for part in range(parts)
    }
    return paid_in(counted, 0.02 * float(sizes.sum()), paired)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("seeds", [20, pytest.param(1_000, marks=pytest.mark.slow)])
def test_nothing_moves_by_chance(seeds: int, paired: bool) -> None:
    moved = sum(by_chance(seed, paired).is_moved for seed in range(seeds))
    # What chance exceeds once in a thousand times, at 5 %.
    assert moved <= {20: 5, 1_000: 72}[seeds]


# Of next to nothing a change has no end in percent.
def test_a_part_that_was_next_to_nothing_changes_in_its_unit() -> None:
    values = {("kernel thread", "itself"): (1, 10_000), ("client", "itself"): (1_000, 2_000)}
    counted = {
        key: [[(np.array([mean + at]), np.ones(1)) for at in range(6)] for mean in means]
        for key, means in values.items()
    }
    rows = paid_in(counted, 20, False).parts.set_index("process_context")
    assert rows["is_relative"].to_dict() == {"kernel thread": False, "client": True}
    assert rows["change"].to_list() == pytest.approx([9_999, 1_000 / 1_002.5])
    assert np.isfinite(rows[["change_low", "change_high"]]).all(axis=None)
