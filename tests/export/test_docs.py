# What docs/tables.md says of reading a dataset, executed.

import re
from pathlib import Path
from typing import Any

import pytest

from support.host import ROOT
from support.kept import kept


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("docs") / "out"
    kept("nic-stolen-time").timeline().to_parquet(made)
    return made


def snippets() -> list[str]:
    page = (ROOT / "docs" / "tables.md").read_text()
    part = page.partition("## As Parquet")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", part, re.DOTALL)


def told(text: str, folder: Path) -> Any:
    # The last line is what a reader wants to see.
    *before, last = text.replace("DIR", str(folder)).strip().split("\n")
    names: dict[str, Any] = {}
    exec("\n".join(before), names)  # noqa: S102
    if " = " in last.partition("(")[0]:
        exec(last, names)  # noqa: S102
        return names
    return eval(last, names)  # noqa: S307


def test_pandas(folder: Path) -> None:
    names = told(snippets()[0], folder)
    polls = kept("nic-stolen-time").timeline().polls
    assert names["polls"]["work"].sum() == polls["work"].sum()
    assert str(names["polls"]["start_ns"].dtype) == "Int64"
    assert set(names["part"]["cpu"]) == {1}
    assert set(names["part"]["context"]) == {"softirq"}


def test_polars(folder: Path) -> None:
    read = dict(told(snippets()[1], folder).iter_rows())
    sums = kept("nic-stolen-time").timeline().sums()
    ours = sums.groupby(sums["cost_class"].astype(object).fillna("none"))["ns"].sum()
    assert {name or "none": ns for name, ns in read.items()} == ours.to_dict()


def test_duckdb(folder: Path) -> None:
    read = dict(told(snippets()[2], folder).fetchall())
    slices = kept("nic-stolen-time").timeline().slices
    ours = slices.groupby(slices["comm"].astype(object).fillna("none"))["task_ns"].sum()
    assert {name or "none": ns for name, ns in read.items()} == ours.to_dict()
