# What the declarations of columns say of a frame's; that they are whole: `make lint`.

import importlib
import pkgutil

import pandas as pd
import pytest

import netcost_analysis
from netcost_analysis.questions.ledger import ledger
from netcost_analysis.questions.stolen import stolen
from netcost_analysis.schema import column, is_instant, typed, unit_of
from netcost_analysis.timeline.tables import TABLES
from support.kept import kept


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


# What kind of values a column has: whether two of them can be joined.
def kind_of(dtype: object) -> str:
    if isinstance(dtype, pd.CategoricalDtype):
        return kind_of(dtype.categories.dtype)
    kind = getattr(dtype, "kind", "O")
    return "O" if kind in "OUT" else kind


# A column of a name is of one kind wherever it stands: an answer's rows find a table's.
def test_tables_and_answers_can_be_joined() -> None:
    timeline = kept("nic-stolen-time").timeline()
    tables = {name: getattr(timeline, name) for name in (*TABLES, "irqs")}
    tables |= {"sums": timeline.sums(), "by_thief": timeline.sums_by_thief()}
    found = {
        (name, of): kind_of(values.dtype)
        for of, table in tables.items()
        for name, values in table.items()
        if len(table) and (one := column(name)) is not None and not one.type.startswith("list")
    }
    assert ("napi", "polls") in found
    declared = {
        key: kind_of(pd.Series([], dtype=column(key[0]).dtype).dtype)  # type: ignore[union-attr]
        for key in found
    }
    assert found == declared
    thieves = timeline.ask.stolen_time.thieves().frame
    addresses = [thieves["napi"], *(table["napi"] for table in tables.values() if "napi" in table)]
    assert {str(values.dtype) for values in addresses} == {"UInt64"}
    assert len(thieves.dropna(subset="napi").merge(timeline.polls, on="napi"))


# The public names, whichever module was imported first.
def test_every_public_name_is_there() -> None:
    for name in netcost_analysis.__all__:
        assert getattr(netcost_analysis, name) is not None
    assert set(netcost_analysis.__all__) <= set(dir(netcost_analysis))


def test_no_module_takes_the_place_of_a_public_name() -> None:
    modules = {one.name for one in pkgutil.iter_modules(netcost_analysis.__path__)}
    assert not modules & set(netcost_analysis.__all__)
    for module in sorted(modules - {"__main__"}):
        importlib.import_module(f"netcost_analysis.{module}")
    assert callable(ledger)
    assert callable(stolen)


def test_a_wrong_name_is_an_attribute_error() -> None:
    assert not hasattr(netcost_analysis, "nonsense")
