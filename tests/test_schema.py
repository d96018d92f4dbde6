# Every column is declared once, and has in every answer the type that is declared.

import re

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.answer import Answer
from netcost_analysis.questions.ask import questions
from netcost_analysis.schema import column, columns, is_instant, typed, unit_of
from support.host import ROOT
from support.kept import kept
from support.typed import assert_whole

ALL = sorted(questions())
BUNDLES = ("nic-stolen-time", "local-migrations.netcost.tar.zst")
TYPES = {"int64", "Int64", "float64", "bool", "boolean", "str", "object"}


def answers(name: str) -> list[Answer[object]]:
    if questions()[name].sources == ("Experiment",):
        sweep = "datapath-sweep" if name == "rate_curve" else "hidden-cost"
        return [netcost.open_experiment(ROOT / "sample-data" / sweep).ask(name)]
    return [kept(bundle).ask(name) for bundle in BUNDLES]


@pytest.mark.parametrize("name", ALL)
def test_answers_have_the_declared_types(name: str) -> None:
    for answer in answers(name):
        assert_whole(answer)


@pytest.mark.parametrize("name", sorted(columns()))
def test_a_column_is_declared_whole(name: str) -> None:
    one = columns()[name]
    assert one.definition.strip()
    assert one.type in TYPES | {None}
    if re.search(r"(^|_)ns$", name):
        assert one.unit == "ns"
        assert one.type in ("int64", "Int64", "float64", None)
    if re.search(r"(^|_)share$", name):
        assert (one.unit, one.type or "float64") == ("share", "float64")
    assert not one.instant or one.unit == "ns"


def test_units() -> None:
    assert unit_of("stolen_ns") == unit_of("anything_ns") == "ns"
    assert unit_of("stolen_softirq_NET_RX_ns") == "ns"
    assert unit_of("napi") == "address"
    assert unit_of("comm") is None
    assert is_instant("start_ns")
    assert not is_instant("stolen_ns")


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
    assert made["comm"].isna().tolist() == [False, True]
    assert made["median_ns"].tolist() == [1, pd.NA]
    assert str(made["mine"].dtype) == "int64"
    assert {str(made[name].dtype) for name in ("comm", "cpu")} == {
        str(column(name).type)  # type: ignore[union-attr]
        for name in ("comm", "cpu")
    }
