# Where the change went: a tree whose branches sum to their stem, whatever is compared.

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcost_analysis as netcost
from netcost_analysis.questions.comparison.tree_rows import LEVELS, moved_between
from support.compared import recorded
from support.host import Fresh, examples

NUMBERS = ("base_ns", "new_ns", "base_ns_per_unit", "new_ns_per_unit", "difference_ns")


# Each branch is the sum of those one level below it.
def assert_sums(tree: pd.DataFrame) -> None:
    for level in range(len(LEVELS)):
        keys = [*LEVELS[:level], "level"]
        stems, below = (tree[tree["level"] == at].assign(level=0) for at in (level, level + 1))
        sums = below.groupby(keys)[list(NUMBERS)].sum()
        stems = stems.set_index(keys)[list(NUMBERS)].loc[sums.index]
        assert len(stems) == (tree["level"] == level).sum()
        assert (stems[["base_ns", "new_ns"]] == sums[["base_ns", "new_ns"]]).all(axis=None)
        np.testing.assert_allclose(stems, sums, rtol=1e-9, atol=1e-6)


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
    tree = netcost.compare(*sides).ask.comparison.cost_tree()
    assert_sums(tree.frame)
    moved = tree.tables["moved"]
    assert moved["moved_ns"].sum() == pytest.approx(0, abs=1e-6)
    change = tree.frame["difference_ns"].iloc[0]
    assert moved["added_ns"].sum() == pytest.approx(change, abs=1e-6)


def test_a_planted_cost_is_where_it_was_planted(tmp_path: Path) -> None:
    base = recorded(tmp_path / "base.data", 1, packets=600)
    new = recorded(tmp_path / "new.data", 2, packets=600, irq_ns=2_000)
    ask = netcost.compare(base, new).ask.comparison
    found = ask.cost_tree()
    (first, *_) = found.parts["largest_branches"]
    assert (first["process_context"], first["cost_class"]) == ("other", "stolen")
    assert first["thief"].startswith("irq 24 eth0-rx")
    assert first["difference_ns"] == pytest.approx(1_020, abs=60)
    assert "per packet" in found.plot().get_xlabel()
    # The network of the tree is the primary metric.
    leaves = found.frame[found.frame["level"] == len(LEVELS)]
    network = leaves[~leaves["cost_class"].isin(["own", "perhaps_network"])]
    row = ask.changes().frame.iloc[0]
    for side in ("base", "new"):
        assert network[f"{side}_ns_per_unit"].sum() == pytest.approx(row[side])


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
