# Columns and questions are declared whole. That answers have them: tests/questions/test_answers.py.

import inspect
import re
from collections import Counter
from collections.abc import Iterator

from netcost_analysis.answers.form import SOURCES
from netcost_analysis.answers.registry import TOPICS, questions
from netcost_analysis.capture.requires import events_of
from netcost_analysis.schema import columns
from support.host import ROOT

COLUMNS = ROOT / "netcost_analysis" / "columns.toml"
NUMBERS = {"int64", "Int64", "UInt64", "float64", "bool", "boolean"}
TYPES = {*NUMBERS, "str", "list[str]", "list[int64]", "table", "figures"}


def columns_are_whole() -> Iterator[str]:
    for name, one in columns().items():
        is_ns = re.search(r"(^|_)ns(_per_[a-z]+)?$", name) and one.type != "table"
        # Of a byte it can be far less than a nanosecond, which a duration rounds to none.
        ns = "ns/byte" if name.endswith("_per_byte") else "ns"
        is_share = re.search(r"(^|_)share$", name)
        kept = {
            # No name holds a device, a task or a vector, nor a place for one.
            "its name": re.fullmatch(r"([a-z_]+\.)?[a-z][a-z0-9_]*", name),
            "no definition": one.definition.strip(),
            "its type": one.type in TYPES,
            f"its unit is not {ns}": not is_ns or one.unit == ns,
            "no duration's type": not is_ns or one.type in ("int64", "Int64", "float64"),
            "no share": not is_share or (one.unit, one.type) == ("share", "float64"),
            "an instant is in ns": not one.instant or one.unit == "ns",
            # Those of a kernel are above 2^63.
            "an address is UInt64": (one.unit == "address") == (one.type == "UInt64"),
        }
        yield from (f"{place(name)} {name}: {what}" for what, holds in kept.items() if not holds)


def definitions_differ() -> Iterator[str]:
    many = Counter(one.definition for one in columns().values())
    for name, one in columns().items():
        if many[one.definition] > 1:
            yield f"{place(name)} {name}: another is defined alike"


def place(name: str) -> str:
    lines = COLUMNS.read_text().splitlines()
    heads = (f"{name} =", f'"{name}" =', f"[{name}]", f'["{name}"]')
    number = next((at for at, line in enumerate(lines, 1) if line.startswith(heads)), 0)
    return f"{COLUMNS.relative_to(ROOT)}:{number}:"


def questions_are_whole() -> Iterator[str]:
    for name, one in questions().items():
        kept = {
            "its topic": one.topic in TOPICS,
            "what it is asked of": one.sources and set(one.sources) <= set(SOURCES),
            # What has no default is what it is asked of.
            "a parameter without default": all(
                value.default is not value.empty for value in one.parameters.values()
            ),
            "an event without its system": all(":" in event for event in events_of(one.groups)),
            "no sentence": one.summary.endswith("."),
        }
        function = inspect.unwrap(one.function)
        where = f"{inspect.getsourcefile(function)}:{function.__code__.co_firstlineno}:"
        where = where.removeprefix(f"{ROOT}/")
        yield from (f"{where} {name}: {what}" for what, holds in kept.items() if not holds)
