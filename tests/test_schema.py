# Every column is declared once, with its type and unit; that answers have it: test_definitions.py.

import re
from collections import Counter

import pandas as pd
import pytest

from netcost_analysis.schema import column, columns, is_instant, typed, unit_of

LISTS = {"list[str]", "list[int64]"}
TYPES = {"int64", "Int64", "float64", "bool", "boolean", "str", *LISTS, "table", "figures"}


@pytest.mark.parametrize("name", sorted(columns()))
def test_a_column_is_declared_whole(name: str) -> None:
    one = columns()[name]
    # Answers have no others: no name holds a device, a task or a vector, nor a place for one.
    assert re.fullmatch(r"([a-z_]+\.)?[a-z][a-z0-9_]*", name)
    assert one.definition.strip()
    assert one.type in TYPES
    if re.search(r"(^|_)ns$", name) and one.type != "table":
        assert one.unit == "ns"
        assert one.type in ("int64", "Int64", "float64")
    if re.search(r"(^|_)share$", name):
        assert (one.unit, one.type) == ("share", "float64")
    assert not one.instant or one.unit == "ns"


def test_every_definition_is_of_one_name() -> None:
    names = Counter(one.definition for one in columns().values())
    assert not [definition for definition, many in names.items() if many > 1]


def test_units() -> None:
    assert unit_of("stolen_ns") == unit_of("anything_ns") == "ns"
    assert unit_of("napi") == "address"
    assert unit_of("comm") is None
    assert is_instant("start_ns")
    assert not is_instant("stolen_ns")
    assert column("stolen_softirq_NET_RX_ns") is None


def test_types_keep_what_is_missing() -> None:
    frame = pd.DataFrame(
        {
            "comm": pd.Series(["a", None], dtype=object),
            "cpu": pd.array([0, 1], dtype="int32"),
            "median_ns": [1.4, None],
            "mine": [1, 2],
        }
    ).set_index("comm")
    made = typed(frame).reset_index()
    # Whatever is in it.
    assert typed(frame[:1]).dtypes.tolist() == typed(frame).dtypes.tolist()
    assert made["comm"].isna().tolist() == [False, True]
    assert made["median_ns"].tolist() == [1, pd.NA]
    assert str(made["mine"].dtype) == "int64"
    assert {str(made[name].dtype) for name in ("comm", "cpu")} == {
        str(column(name).type)  # type: ignore[union-attr]
        for name in ("comm", "cpu")
    }


@pytest.mark.parametrize("name", ["stays", "cut"])
def test_no_null_becomes_a_figure(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is null"):
        typed(pd.DataFrame({name: [1, None]}, dtype=object))
