# Into how many batches a timeline is dealt changes no answer.

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.capture import Capture
from netcost_analysis.questions import inputs
from netcost_analysis.questions.ask import questions
from support.energy_bundles import kept_energy
from support.kept import kept

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


# A timeline of its own: what a question folded before is kept with its timeline.
def fresh(name: str = "") -> netcost.Timeline:
    # No sample has an energy meter.
    is_metered = name in OWN and "Bundle" in OWN[name].sources and OWN[name].topic == "energy"
    is_sampled = name in OWN and OWN[name].topic == "functions"
    sample = "stolen-time-functions.netcost.tar.zst" if is_sampled else "nic-stolen-time"
    # No two tasks talk to each other in that one.
    if name == "client_and_server":
        sample = "local-migrations.netcost.tar.zst"
    return Capture.timeline(kept(kept_energy()[0] if is_metered else sample))


# As native deals them: a row is in the batch in which it and all before it on its CPU have ended.
# One whose end was not seen had ended as what follows began.
def dealt(
    timeline: netcost.Timeline,
    *tables: str,
    columns: inputs.Columns | None = None,
    native: Sequence[str] = (),
) -> Iterator[tuple[Any, ...]]:
    every = [*tables, *native]
    timeline.load(*every)
    start, end = timeline.summary["start_ns"], timeline.summary["end_ns"]
    edges = np.linspace(start, end, 4)[1:-1]
    frames = {name: getattr(timeline, name) for name in every}
    # What a fold does not name it is not given.
    read = {name: list((columns or {}).get(name, frame)) for name, frame in frames.items()}
    places = {name: _batch(frame, name, edges) for name, frame in frames.items()}
    for number in range(len(edges) + 1):
        # Native takes frames as well.
        yield tuple(frames[name].loc[places[name] == number, read[name]] for name in every)


def _batch(frame: pd.DataFrame, name: str, edges: Any) -> Any:
    if name not in ENDS:
        return np.zeros(len(frame), int)
    began = frame.get("entry_ns", pd.Series(0, index=frame.index)).fillna(0)
    ended = frame[ENDS[name]].fillna(began).to_numpy("int64")
    places = pd.Series(np.searchsorted(edges, ended))
    cpus = frame["cpu"].to_numpy() if "cpu" in frame else np.zeros(len(frame), int)
    return places.groupby(cpus).cummax().to_numpy()


# And what a question and those it builds on read is declared, and computed in one pass.
@pytest.mark.parametrize("name", OWN)
def test_batches_change_no_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _told(fresh(name).ask(name))
    timeline = fresh(name)
    read = set[str]()

    def noted(
        of: netcost.Timeline, *tables: str, native: Sequence[str] = (), **named: Any
    ) -> Iterator[tuple[Any, ...]]:
        if of is timeline:
            read.update(tables, native)
        return dealt(of, *tables, native=native, **named)

    def paired(of: netcost.Timeline, table: str) -> Iterator[Any]:
        if of is timeline:
            read.add(table)
        yield of.load(table).table(table)

    monkeypatch.setattr(inputs, "batches", noted)
    monkeypatch.setattr(inputs, "arrows", paired)
    answer = timeline.ask(name)
    assert read == set(OWN[name].inputs)
    assert _told(answer) == whole


def _told(answer: netcost.Answer[Any]) -> dict[str, str]:
    if answer.refusal is not None:
        return {"refusal": str(answer.refusal)}
    tables = {name: frame.to_csv() for name, frame in answer.tables.items()}
    return tables | {"words": answer.words, "parts": str(_plain(answer.parts))}


def _plain(parts: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in parts.items() if not hasattr(part, "to_csv")}


# What would not fit into memory is read window by window, and never whole.
@pytest.mark.parametrize("name", ["episodes", "handovers", "idle_wakeups", "lifetimes"])
def test_a_large_timeline_is_not_read_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    timeline, read, load = fresh(), set[str](), netcost.Timeline.load

    def noted(of: netcost.Timeline, *tables: str) -> netcost.Timeline:
        # What a pass brought besides is there already.
        if of is timeline:
            read.update(table for table in tables if not of.holds(table))
        return load(of, *tables)

    monkeypatch.setattr(inputs, "_MOST_SEGMENTS", 2_000)
    monkeypatch.setattr(netcost.Timeline, "load", noted)
    assert timeline.ask(name).refusal is None
    assert read <= {"displaced"}


class _Source:
    pass


def test_what_is_kept_is_known_with_its_defaults_given_or_left_out() -> None:
    asked = []

    @inputs.once
    def answered(source: _Source, by: str = "comm", victim: str | None = None) -> int:
        asked.append((by, victim))
        return len(asked)

    one, other = _Source(), _Source()
    assert answered(one) == answered(one, "comm") == answered(one, victim=None, by="comm") == 1
    assert answered(one, victim="x") == answered(one, "comm", "x") == 2
    assert answered(other) == 3
