# Where the change went: a tree whose branches sum to their stem, whatever is compared.

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcost_analysis as netcost
from netcost_analysis.comparison.comparison import Comparison
from netcost_analysis.questions.comparison.cost_tree import LEVELS, moved_between
from support.compared import recorded
from support.examples import examples
from support.host import Fresh

NUMBERS = ("base_ns", "new_ns", "base_ns_per_unit", "new_ns_per_unit", "difference_ns")


def assert_sums(tree: pd.DataFrame) -> None:
    # Each branch is the sum of those one level below it.
    for level in range(len(LEVELS)):
        keys = list(LEVELS[:level])
        stems = tree[tree["level"] == level]
        below = tree[tree["level"] == level + 1]
        whole = below.groupby(keys)[list(NUMBERS)].sum() if keys else below[list(NUMBERS)].sum()
        for stem in stems.to_dict("records"):
            key = tuple(stem[name] for name in keys)
            parts = whole.loc[key] if len(keys) > 1 else whole.loc[key[0]] if keys else whole
            for name in ("base_ns", "new_ns"):
                assert stem[name] == parts[name]
            for name in NUMBERS[2:]:
                assert stem[name] == pytest.approx(parts[name], rel=1e-9, abs=1e-6)


def assert_whole(comparison: Comparison) -> None:
    tree = comparison.ask.comparison.cost_tree()
    assert_sums(tree.frame)
    moved = tree.tables["moved"]
    assert moved["moved_ns"].sum() == pytest.approx(0, abs=1e-6)
    change = tree.frame["difference_ns"].iloc[0]
    assert moved["added_ns"].sum() == pytest.approx(change, abs=1e-6)


COSTS = st.fixed_dictionaries(
    {
        "poll_ns": st.integers(500, 50_000),
        "own_ns": st.integers(1_000, 100_000),
        "irq_ns": st.integers(10, 1_000),
        "packets": st.integers(50, 300),
    }
)


@examples(3)
@given(base=COSTS, new=COSTS)
def test_the_tree_sums_for_any_pair(
    fresh: Fresh, base: dict[str, int], new: dict[str, int]
) -> None:
    folder = fresh()
    sides = [recorded(folder / f"{at}.data", at, **costs) for at, costs in enumerate((base, new))]
    assert_whole(netcost.compare(*sides))


def test_the_network_of_the_tree_is_the_primary_metric(tmp_path: Path) -> None:
    comparison = netcost.compare(
        recorded(tmp_path / "a.data", 1, packets=150), recorded(tmp_path / "b.data", 2, packets=150)
    )
    tree = comparison.ask.comparison.cost_tree().frame
    leaves = tree[tree["level"] == len(LEVELS)]
    network = leaves[~leaves["cost_class"].isin(["own", "perhaps_network"])]
    first = comparison.ask.comparison.changes().frame.set_index("metric")
    for side in ("base", "new"):
        whole = network[f"{side}_ns_per_unit"].sum()
        assert whole == pytest.approx(first.loc["network_ns_per_packet", side])


def test_a_planted_cost_is_where_it_was_planted(tmp_path: Path) -> None:
    base = recorded(tmp_path / "base.data", 1, packets=600)
    new = recorded(tmp_path / "new.data", 2, packets=600, irq_ns=2_000)
    found = netcost.compare(base, new).ask.comparison.cost_tree()
    (first, *_) = found.parts["largest_branches"]
    assert (first["process_context"], first["cost_class"]) == ("other", "stolen")
    assert first["thief"].startswith("irq 24 eth0-rx")
    assert first["difference_ns"] == pytest.approx(1_020, abs=60)
    assert "per packet" in found.plot().get_xlabel()


@examples(30)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6))
def test_moved_and_added_are_the_whole_change(differences: list[float]) -> None:
    names = [f"process {number}" for number in range(len(differences))]
    rows = {"level": 1, "process_context": names, "difference_ns": differences}
    moved = moved_between(pd.DataFrame(rows))
    assert (moved["moved_ns"] + moved["added_ns"]).to_list() == pytest.approx(
        differences, rel=1e-9, abs=1e-3
    )
    assert moved["moved_ns"].sum() == pytest.approx(0, abs=1e-3)
    # What is added has the sign of the whole.
    whole = sum(differences)
    assert all(one * whole >= -1e-3 * abs(whole) for one in moved["added_ns"])
