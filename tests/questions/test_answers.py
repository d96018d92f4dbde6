# Every question of every sample: what it answers is what it answered before, in whole sentences and
# declared columns, with pictures that draw, and the same in batches.

import json
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure
from pyarrow import table

import netcost_analysis as netcost
from netcost_analysis.answers.answer import Answer
from netcost_analysis.answers.ask import Ask
from netcost_analysis.answers.registry import TOPICS, questions
from netcost_analysis.capture.capture import Capture
from netcost_analysis.cli.answer_output import plain_part, print_parts, shown_parts
from netcost_analysis.export.dataset import TABLES
from netcost_analysis.plots import painting
from netcost_analysis.schema import column, columns
from netcost_analysis.timeline import reading
from netcost_analysis.timeline.tables import Tables
from support.golden import GOLDEN, compare, differences, hashed, told
from support.host import require_shared
from support.kept import kept
from support.large import take_in_parts
from support.pictures import assert_others_are_refused
from support.subjects import RECORDINGS, SUBJECTS, asked_of
from support.typed import assert_whole

ANSWERS = GOLDEN / "answers"
# How many rows a batch has, and the topics that are prepared by one pass.
PREPARED = {
    "nic-guest-6.12": ("batches", "devices", "stolen_time"),
    "local-migrations": ("processes", "migration", "tracing_overhead"),
}
IN_BATCHES = "nic-guest-6.12"
# No object as Python writes it, and no row in braces.
UNTOLD = re.compile(r"\{'|\w\(\w+=| object at 0x|\bnan\b|<NA>|NaT")
# Each question is drawn once, of the first subject that answers it, and without pixels
# (tests/report paints).
DRAWN: set[str] = set()

# What it was recorded or made for; other questions have other samples.
FEW = {
    "hidden-cost-steps": ("accounting",),
    "cgroups": ("completeness", "stolen_time"),
    "counters": ("completeness", "functions", "counters"),
    "memory-loads": ("completeness", "functions"),
    "energy": ("completeness", "energy", "counters", "devices"),
}

# What depends on what happened, and not on what was recorded.
HAPPENED = {"client_and_server", "migration_effect"}


def answers(ask: Ask, topics: Collection[str] = TOPICS) -> Iterator[Answer]:
    for name, one in questions().items():
        if one.asked_of == ask._own and one.topic in topics:
            yield ask(name)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_answers_are_as_frozen(
    subject: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, refusals = [], {}
    monkeypatch.setattr(painting, "painted", Figure.draw_without_rendering)
    ask = asked_of(subject)
    for answer in answers(ask, FEW.get(subject, TOPICS)):
        assert_whole(answer)
        refusals[answer.question.name] = str(answer.refusal or "")
        if answer.refusal is None:
            json.dumps({name: plain_part(few(part)) for name, part in answer.parts.items()})
            if answer.question.name not in DRAWN:
                DRAWN.add(answer.question.name)
                for shown, _ in answer.evidence():
                    assert shown["text/plain"], f"{answer.question.name}: a picture has no title"
                shown_rows = {name: few(part) for name, part in shown_parts(answer).items()}
                print_parts(answer, shown_rows, wide=False)
                assert_others_are_refused(answer)
                assert not UNTOLD.search(capsys.readouterr().out), answer.question.name
        found.append(told(answer))
    if subject in RECORDINGS or subject.endswith("-steps"):
        assert_known_beforehand(ask, refusals)
    different = compare(ANSWERS / f"{subject}.txt", "\n".join(found))
    assert not different, "\n".join(["run make golden and read the difference:", *different[:200]])


def assert_known_beforehand(ask: Ask, refusals: dict[str, str]) -> None:
    why = {row.question: row.why for row in ask.table.itertuples() if row.missing}
    for name, refusal in refusals.items():
        assert refusal == why.get(name, "") or (name not in why and name in HAPPENED)


# Strangers' captures, of which a hash for each answer is kept.
def test_answers_about_the_corpus_are_as_frozen() -> None:
    found = []
    for path in sorted(require_shared("corpus").iterdir()):
        with suppress(netcost.CaptureError):
            ask = netcost.open_capture(path).timeline().ask
            asked = list(answers(ask))
            refused = [told(one) for one in asked if one.refusal is not None]
            found.append(f"{path.name}\t{len(refused)} refused\t{hashed(''.join(refused))}")
            found += [
                f"{path.name}\t{one.question.name}\t{len(one.frame)} rows\t{hashed(told(one))}"
                for one in asked
                if one.refusal is None
            ]
    assert not compare(GOLDEN / "corpus.tsv", "\n".join([*found, ""]))


def few(part: object) -> object:
    return part.head(20) if isinstance(part, pd.DataFrame) else part


# Read as what is larger than memory is; what a question folded before is kept with its timeline.
def test_batches_change_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    # Windows, of questions that go through the capture once for each, hold some of it.
    monkeypatch.setattr(reading, "_MOST_SEGMENTS", 30_000)
    monkeypatch.setattr(reading, "fits", lambda timeline: timeline.is_whole is False)
    take_in_parts(monkeypatch, 700)
    ask = Capture.timeline(kept(RECORDINGS[IN_BATCHES])).ask
    assert not changed(IN_BATCHES, answers(ask))


@pytest.mark.parametrize("subject", PREPARED)
def test_a_pass_for_all_questions_of_a_topic_changes_no_answer(
    subject: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = PREPARED[subject]
    monkeypatch.setattr(reading, "_MOST_SEGMENTS", 1_000)
    take_in_parts(monkeypatch, 700)
    ask = Capture.timeline(kept(RECORDINGS[subject])).ask
    ask.prepare(*topics)
    # Nothing walks rows.
    monkeypatch.delattr(Tables, "arrow_batches")
    assert not changed(subject, answers(ask, topics))


def changed(subject: str, found: Iterator[Answer]) -> list[str]:
    texts = [told(one).strip() for one in found if "Timeline" in one.sources]
    asked = {one[3:].partition("\n")[0] for one in texts}
    return differences(only(asked, ANSWERS / f"{subject}.txt"), "\n\n".join(texts))


def only(names: set[str], path: Path) -> str:
    kept_answers = re.split(r"(?m)^(?=== )", path.read_text())
    asked = (one.strip() for one in kept_answers if one[3:].partition("\n")[0] in names)
    return "\n\n".join(asked)


# What no answer has is not declared, nor a table of the timeline as TABLE.COLUMN.
def test_what_is_declared_is_in_an_answer() -> None:
    found = {f"{name}.{one}" for name in TABLES for one in columns_of(name)}
    for path in ANSWERS.iterdir():
        for answer in re.split(r"(?m)^== ", path.read_text())[1:]:
            question = answer.partition("\n")[0]
            tables = re.findall(r"(?m)^-- (.*)\n(.*)", answer)
            figures = re.findall(r"(?m)^([\w.]+) = ", answer)
            names = {one for _, header in tables for one in header.split("\t")}
            names |= {one for one, _ in tables} | {one for of in figures for one in of.split(".")}
            found |= names | {f"{question}.{one}" for one in names}
    assert {one.name for one in map(column, found) if one} == set(columns())


def columns_of(name: str) -> list[str]:
    return table(kept("veth-stolen-time").timeline().table(name)).column_names
