# Rows are read in batches through questions/inputs.py, and into how many batches a timeline is
# dealt changes no answer.

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.capture import Capture
from netcost_analysis.questions import inputs
from netcost_analysis.questions.ask import questions
from netcost_analysis.timeline.timeline import TABLES
from support.host import ROOT
from support.kept import kept

QUESTIONS = ROOT / "netcost_analysis" / "questions"
ENDS = {
    "segments": "end_ns",
    "softirqs": "exit_ns",
    "hardirqs": "exit_ns",
    "polls": "end_ns",
    "slices": "out_ns",
    "migrations": "time_ns",
    "coverage": "end_ns",
}
OWN = {name: one for name, one in questions().items() if "Timeline" in one.sources}
# Topics and modules of which this is not true yet.
NOT_YET = ("ledger.py", "losses.py")


def read_directly(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    owner = ("timeline", "everywhere", "line", "near", "part", "piece", "whole", "window")
    return {
        f"{path.relative_to(QUESTIONS)}:{node.lineno} {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in {*TABLES, "load"}
        and ast.unparse(node.value).split(".")[-1] in owner
    }


def test_rows_are_read_in_one_place() -> None:
    files = set(QUESTIONS.rglob("*.py")) - {QUESTIONS / "inputs.py"}
    found = {line for path in files for line in read_directly(path)}
    assert sorted(one for one in found if not one.startswith(NOT_YET)) == []


# A timeline of its own: what a question folded before is kept with its timeline.
def fresh() -> netcost.Timeline:
    return Capture.timeline(kept("nic-stolen-time"))


# Every row is in the batch in which it ends; one without an end in the last.
def dealt(timeline: netcost.Timeline, *tables: str) -> Iterator[tuple[pd.DataFrame, ...]]:
    timeline.load(*tables)
    start, end = timeline.summary["start_ns"], timeline.summary["end_ns"]
    edges = np.linspace(start, end, 4)[1:-1]
    frames = {name: getattr(timeline, name) for name in tables}
    places = {
        name: np.where(
            frame[ENDS[name]].isna(),
            len(edges),
            np.searchsorted(edges, frame[ENDS[name]].fillna(0).to_numpy("int64")),
        )
        if name in ENDS
        else np.zeros(len(frame), int)
        for name, frame in frames.items()
    }
    for number in range(len(edges) + 1):
        yield tuple(frame[places[name] == number] for name, frame in frames.items())


@pytest.mark.parametrize("name", OWN)
def test_batches_change_no_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _told(fresh().ask(name))
    monkeypatch.setattr(inputs, "batches", dealt)
    assert _told(fresh().ask(name)) == whole


# What a question and those it builds on read is declared, and computed in one pass.
@pytest.mark.parametrize("name", OWN)
def test_inputs_are_declared(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    timeline = fresh()
    read = set[str]()

    def noted(of: netcost.Timeline, *tables: str) -> Iterator[tuple[pd.DataFrame, ...]]:
        if of is timeline:
            read.update(tables)
        return dealt(of, *tables)

    monkeypatch.setattr(inputs, "batches", noted)
    timeline.ask(name)
    assert read == set(OWN[name].inputs)


def _told(answer: netcost.Answer[Any]) -> dict[str, str]:
    if answer.refusal is not None:
        return {"refusal": str(answer.refusal)}
    tables = {name: frame.to_csv() for name, frame in answer.tables.items()}
    return tables | {"words": answer.words, "parts": str(_plain(answer.parts))}


def _plain(parts: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in parts.items() if not hasattr(part, "to_csv")}


# What would not fit into memory is read window by window, and never whole.
@pytest.mark.parametrize("name", ["episodes", "handovers", "lifetimes"])
def test_a_large_timeline_is_not_read_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    timeline, read, load = fresh(), set[str](), netcost.Timeline.load

    def noted(of: netcost.Timeline, *tables: str) -> netcost.Timeline:
        if of is timeline:
            read.update(tables)
        return load(of, *tables)

    monkeypatch.setattr(inputs, "_MOST_SEGMENTS", 2_000)
    monkeypatch.setattr(netcost.Timeline, "load", noted)
    assert timeline.ask(name).refusal is None
    assert read <= {"displaced"}
