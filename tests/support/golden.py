# Answers as text that a reader can compare: tables a row a line, figures, then the words. Of a long
# table the first rows, the sums and a hash of all are kept.

import difflib
import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from netcost_analysis.answers.answer import Answer, parts
from support.host import ROOT, SHARED

GOLDEN = ROOT / "tests" / "golden"
# `make golden` writes what is found, and shows what that changes.
WRITE = os.environ.get("NETCOST_GOLDEN") == "write"
MOST_ROWS = 5
MOST_SHOWN = 200
_MOST_WIDTH = 120


# As words have it, too: an underscore at the end of a name is escaped there.
def _written(folder: object) -> str:
    return re.escape(str(folder)).replace("_", r"\\?_")


# Where it was made or unpacked, and by which versions, is not what an answer says.
_UNPACKED = rf"{_written(tempfile.gettempdir())}/tmp[\w\\]+/"
_PLACE = re.compile(rf"{_written(ROOT)}/|{_written(SHARED)}/|{_UNPACKED}")
_VERSIONS = re.compile(r"(?m)(; netcost \d|^(?:netcost|python|libraries) = ).*")
_NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+(?:e[-+]?\d+)")


# As text: floats to 12 digits, the last of which another processor may round differently.
def value(one: Any) -> str:
    if one is None or one is pd.NA or one is pd.NaT:
        return "-"
    if isinstance(one, bool | np.bool_):
        return str(bool(one))
    if isinstance(one, float | np.floating):
        return "-" if np.isnan(one) else f"{float(one):.12g}"
    if isinstance(one, list | tuple | np.ndarray):
        return "[" + ", ".join(value(part) for part in one) + "]"
    return str(one).replace("\n", "\\n").replace("\t", "\\t")


def short(text: str) -> str:
    text = _PLACE.sub("", text)
    if len(text) <= _MOST_WIDTH:
        return text
    return f"{text[:_MOST_WIDTH]}... {hashed(text)}"


def hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def lines_of(frame: pd.DataFrame) -> Iterator[str]:
    flat = frame.reset_index() if any(frame.index.names) else frame
    yield "\t".join(map(str, flat.columns))
    for row in flat.head(MOST_ROWS).itertuples(index=False, name=None):
        yield "\t".join(short(value(one)) for one in row)
    if len(flat) > MOST_ROWS:
        yield f"{len(flat)} rows, {hash_of(flat)}"
        yield "\t".join(summed(flat.iloc[:, place]) for place in range(flat.shape[1]))


# Of all but floats, whose last digits are a processor's: these have their sums.
def hash_of(frame: pd.DataFrame) -> str:
    exact = frame.loc[:, [not pd.api.types.is_float_dtype(one) for one in frame.dtypes]]
    return hashed(_PLACE.sub("", exact.to_csv(index=False)))


def summed(column: "pd.Series[Any]") -> str:
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return f"sum {value(column.sum())}"
    return f"{column.nunique()} values"


# A figure that consists of others is a line for each.
def figure(name: str, one: Any) -> Iterator[str]:
    named = parts(one)
    if isinstance(one, list | tuple) and not hasattr(one, "_asdict"):
        named = {str(place): part for place, part in enumerate(one[:MOST_ROWS])}
        if not any(set(parts(part)) - {""} for part in one):
            named = {"": short(value(one))}
        elif len(one) > MOST_ROWS:
            yield f"{name}: {len(one)} of them"
    elif isinstance(one, pd.DataFrame | pd.Series):
        frame = one.to_frame() if isinstance(one, pd.Series) else one
        yield from (f"{name}: {line}" for line in lines_of(frame))
        return
    if set(named) <= {""}:
        yield f"{name} = {short(value(named.get('', '-')))}"
        return
    for part, of in named.items():
        yield from figure(f"{name}.{part}", of)


# Everything that an answer says.
def told(answer: Answer) -> str:
    lines = [f"== {answer.question.name}"]
    if answer.refusal is not None:
        refusal = f"{type(answer.refusal).__name__}: {answer.refusal}"
        return _PLACE.sub("", "\n".join([*lines, refusal, ""]))
    tables = answer.tables
    for name, frame in tables.items():
        lines += [f"-- {name}", *lines_of(frame)]
    figures = {
        name: one
        for name, one in answer.parts.items()
        if not isinstance(one, pd.DataFrame | pd.Series)
    }
    lines += [
        line for name, one in figures.items() if name != "notes" for line in figure(name, one)
    ]
    notes = enumerate(answer.parts.get("notes") or ())
    lines += [f"notes.{place} = {note}" for place, note in notes]
    lines += [f"> {line}".rstrip() for line in answer.words.splitlines()]
    return _VERSIONS.sub(r"\1", _PLACE.sub("", "\n".join([*lines, ""])))


# What another processor rounds differently in the last digits is the same.
def same(kept: str, found: str) -> bool:
    if kept == found:
        return True
    if _NUMBER.sub("#", kept) != _NUMBER.sub("#", found):
        return False
    numbers = zip(_NUMBER.findall(kept), _NUMBER.findall(found), strict=True)
    return all(
        abs(float(one) - float(other)) <= 1e-11 * max(abs(float(one)), abs(float(other)))
        for one, other in numbers
    )


# Question, column, from and to, for who has to judge a difference.
def differences(kept: str, found: str) -> list[str]:
    shown: list[str] = []
    place = table = ""
    header: list[str] = []
    wanted = [
        line for line in difflib.ndiff(kept.splitlines(), found.splitlines()) if line[0] != "?"
    ]
    before: list[str] = []
    for line in wanted:
        mark, text = line[0], line[2:]
        if text.startswith("== "):
            place, table, header = text[3:], "", []
        elif text.startswith("-- "):
            table, header = text[3:], []
        elif table and not header and mark != "-":
            header = text.split("\t")
        if mark == "-":
            before.append(text)
            continue
        if mark == "+":
            old = before.pop(0) if before else ""
            shown += [f"{place}: {one}" for one in cells(header, old, text) if not same(old, text)]
            continue
        shown += [f"{place}: gone: {one}" for one in before]
        before = []
    return shown + [f"{place}: gone: {one}" for one in before]


def cells(header: list[str], old: str, new: str) -> Iterable[str]:
    was, now = old.split("\t"), new.split("\t")
    if len(was) == len(now) == len(header) > 1:
        return [
            f"{name}: {one} -> {other}"
            for name, one, other in zip(header, was, now, strict=True)
            if one != other
        ]
    return [f"{old!r} -> {new!r}" if old else f"new: {new}"]


def compare(path: Path, found: str) -> list[str]:
    kept = path.read_text() if path.exists() else ""
    if all_same(kept, found):
        return []
    changed = differences(kept, found)
    if WRITE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found)
        print(f"{path.name}: {len(changed)} differences", *changed[:MOST_SHOWN], sep="\n")
        return []
    return changed


def all_same(kept: str, found: str) -> bool:
    pairs = kept.splitlines(), found.splitlines()
    return len(pairs[0]) == len(pairs[1]) and all(map(same, *pairs))
