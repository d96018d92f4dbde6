# Every column that a question's answer has is defined in docs/definitions.md, and once.

import dataclasses
import inspect
import re
from importlib import import_module
from typing import Any

import pandas as pd
import pytest
from conftest import ROOT

import netcost_analysis as netcost
from netcost_analysis.series import open_series

SAMPLES = ROOT / "sample-data"
# The modules of questions, and a sample that each can answer them for.
QUESTIONS = {
    "losses": "veth-stolen-time",
    "victim": "veth-stolen-time",
}
# Asked of a Bundle as well as a Timeline, or not of a recording at all.
NOT_QUESTIONS = {"parse_openssl_speed", "SpeedRun"}


def defined() -> dict[str, int]:
    # Name to how often: what stands in code in the first column of a table of columns or figures.
    names: dict[str, int] = {}
    inside = False
    for line in (ROOT / "docs" / "definitions.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if not cells:
            inside = False
        elif cells[0] in ("column", "figure", "field"):
            inside = True
        elif inside:
            for name in re.findall(r"`([^`]+)`", cells[0]):
                names[name] = names.get(name, 0) + 1
    return names


NAMES = defined()


def is_defined(name: str) -> bool:
    # "stolen_softirq_<VEC>_ns" defines one for each vector.
    return name in NAMES or any(
        re.fullmatch(re.sub(r"<\w+>", ".+", one), name) for one in NAMES if "<" in one
    )


def questions() -> list[tuple[str, str]]:
    return [
        (module, name)
        for module in QUESTIONS
        for name, home in netcost._HOME.items()
        if (home == module or home.startswith(f"{module}.")) and name not in NOT_QUESTIONS
    ]


def asked(question: Any, sample: str) -> Any:
    kinds = [
        getattr(parameter.annotation, "__name__", str(parameter.annotation)).split(".")[-1]
        for parameter in inspect.signature(question).parameters.values()
        if parameter.default is inspect.Parameter.empty
        and parameter.kind is not inspect.Parameter.VAR_POSITIONAL
    ]
    path = SAMPLES / sample
    given: dict[str, Any] = {}
    if "Series" in kinds:
        given["Series"] = open_series(path)
    else:
        capture = netcost.open_capture(path)
        given = {"Capture": capture, "Timeline": capture.timeline(), "Bundle": capture.bundle}
    return question(*(given[kind] for kind in kinds))


def names_in(answer: Any) -> set[str]:
    if isinstance(answer, pd.DataFrame | pd.Series):
        frame = answer.to_frame() if isinstance(answer, pd.Series) else answer
        assert not isinstance(frame.columns, pd.MultiIndex)
        return {str(name) for name in [*frame.columns, *frame.index.names] if name is not None}
    if dataclasses.is_dataclass(answer):
        names = [field.name for field in dataclasses.fields(answer)]
        parts = [getattr(answer, name) for name in names]
    elif hasattr(answer, "_fields"):
        names, parts = list(answer._fields), list(answer)
    else:
        return set()
    return set(names).union(*(names_in(part) for part in parts))


@pytest.mark.parametrize(("module", "name"), questions())
def test_every_column_is_defined(module: str, name: str) -> None:
    question = getattr(netcost, name)
    answer = asked(question, QUESTIONS[module])
    unknown = {one for one in names_in(answer) if not is_defined(one)}
    assert not unknown, f"docs/definitions.md defines no {', '.join(sorted(unknown))}"


@pytest.mark.parametrize(("module", "name"), questions())
def test_every_question_says_what_it_is(module: str, name: str) -> None:
    question = getattr(netcost, name)
    assert question.__doc__
    assert f"`{name}`" in (ROOT / "docs" / "definitions.md").read_text()
    home = import_module(f"netcost_analysis.{netcost._HOME[name]}")
    assert name in dir(home)


def test_each_name_is_defined_once() -> None:
    assert {name: count for name, count in NAMES.items() if count > 1} == {}
