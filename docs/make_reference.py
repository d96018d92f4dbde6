# What is declared, as files: docs/questions.md, docs/columns.md, the stub by which an editor
# completes `capture.ask.`, and the schemas of `netcost compare --json` and `digest --json`.
# `make reference` writes them, `make lint` checks.

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from netcost_analysis.answers.question import Question
from netcost_analysis.answers.registry import TOPICS, questions
from netcost_analysis.capture.requires import Group
from netcost_analysis.cli.compare_formats import Document
from netcost_analysis.display.export import json_schema
from netcost_analysis.report.digest import Digest
from netcost_analysis.schema import columns

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "questions.md"
COLUMNS = ROOT / "docs" / "columns.md"
SCHEMA = ROOT / "docs" / "compare.schema.json"
DIGEST = ROOT / "docs" / "digest.schema.json"
STUB = ROOT / "netcost_analysis" / "questions" / "accessors.pyi"
_ASKED_OF = {
    "Timeline": "a timeline",
    "Capture": "a capture",
    "Bundle": "a bundle",
    "Experiment": "an experiment",
    "Comparison": "a comparison",
    "Fleet": "a fleet",
}
_PAGE_HEAD = """# Questions

In Python ask `capture.ask.TOPIC.QUESTION()`, and likewise a timeline, an experiment, a comparison
or a fleet; in a shell `netcost ask QUESTION PATH`. [columns.md](columns.md) says what each column
means. A capture that lacks what a question needs gets an answer that says what is missing. A
question's name links to the file that computes it. Written by `make reference` from the
declarations in `netcost_analysis/questions/`.

Parameters mean the same in every question that has them:

- `victim` is a task by tid or comm, or `netcost.ALL` for every task (`--victim -1`). By default it
  is the timeline's: that of `capture.timeline(victim=...)`, else the bundle's if it ran, else the
  task that lost most. `migration_verdict` and `migration_effect` use the one that the timeline was
  given, else client and server, and all tasks together.
- `by` is what a row stands for: a task's `comm`, a `tid`, a `cpu` or a `device`.
- Window and CPUs are the timeline's: `capture.timeline(start_s, end_s, cpus=[0, 2])`, or
  `netcost ask` with `--start S --end S --cpu 0 --cpu 2`. A question about a whole capture takes
  neither, and its answer says so.
"""
_TABLE_HEAD = "| question | answers | asked of | needs | parameters |\n|---|---|---|---|---|"
_COLUMNS_HEAD = """# Columns and figures

Every column and figure of the answers, with its pandas type, its unit and its meaning. A name means
the same in every answer. A table of an answer with several is named QUESTION.TABLE. TABLE.COLUMN is
a column of a [timeline's table](tables.md), where the name alone means something else. Times in ns
are lengths unless they are called instants, which are on the capture's clock. A share is of 1, and
shown in percent. Written by `make reference` from `netcost_analysis/columns.toml`.
"""
_STUB_HEAD = """# Written by `make reference` from the declarations of questions: not to be edited.

import collections.abc
from typing import Any, Literal, Optional

{imports}

from netcost_analysis.answers.answer import Answer
from netcost_analysis.answers.ask import Ask
"""


def page() -> str:
    """docs/questions.md."""
    parts = [_PAGE_HEAD]
    for topic, heading in TOPICS.items():
        parts.append(f"## {heading.capitalize()}: `{topic}`\n\n{_about(topic)}\n")
        parts.append(
            "| question | answers | asked of | needs | parameters |\n|---|---|---|---|---|"
        )
        parts[-1] += "".join(f"\n{_row(one)}" for one in of_topic(topic)) + "\n"
    return "\n".join(parts)


def of_topic(topic: str) -> list[Question[Any]]:
    return [one for one in questions().values() if one.topic == topic]


def _about(topic: str) -> str:
    package = import_module(f"netcost_analysis.questions.{topic}")
    return (inspect.getdoc(package) or "").partition("\n")[0]


def _row(one: Question[Any]) -> str:
    cells = [
        f"[`{one.name}`](../{_file(one)})",
        one.summary,
        " and ".join(_ASKED_OF[kind] for kind in one.sources),
        ", ".join(map(_group, one.groups)),
        ", ".join(f"`{name}={value!r}`" for name, value in one.options.items()),
    ]
    return "| " + " | ".join(cells).replace("  ", " ") + " |"


def _file(one: Question[Any]) -> str:
    # Where it is computed.
    return f"{one.function.__module__.replace('.', '/')}.py"


def _group(group: Group) -> str:
    # Tracepoints that are needed together, or in turn any of them.
    return " or ".join(" with ".join(f"`{event}`" for event in events) for events in group)


def stub() -> str:
    """The stub of the accessors: a class for each topic, and one for what is asked."""
    kinds = ("recording", "experiment", "comparison", "fleet")
    classes = [one for kind in kinds for one in _classes(kind)]
    body = "\n".join(classes)
    # By their own names: a module may have the name of the question in it.
    named = sorted(set(re.findall(r"\b(netcost_analysis(?:\.\w+)+|pandas)\.(\w+)", body)))
    body = re.sub(r"\b(?:netcost_analysis(?:\.\w+)+|pandas)\.(\w+)", r"\1", body)
    imports = "\n".join(f"from {module} import {name}" for module, name in named)
    return _STUB_HEAD.format(imports=imports) + "\n" + body


def _classes(of: str) -> Iterator[str]:
    topics, kind = [], of.capitalize()
    for topic in TOPICS:
        asked = [one for one in of_topic(topic) if one.asked_of == of]
        if asked:
            name = f"{kind}{topic.title().replace('_', '')}"
            topics.append((topic, name))
            yield f"class {name}:\n" + "\n".join(map(_method, asked)) + "\n"
    yield (
        f"class {kind}Ask(Ask):\n"
        + "\n".join(
            f"    @property\n    def {topic}(self) -> {name}: ..." for topic, name in topics
        )
        + "\n"
    )


def _method(one: Question[Any]) -> str:
    given = [
        f"{name}: {_annotation(value.annotation)} = ..." for name, value in one.parameters.items()
    ]
    listed = ", ".join(["self", *(["*"] if given else []), *given])
    summary = one.summary.replace('"""', "'''")
    return f'    def {one.name}({listed}) -> Answer:\n        """{summary}"""\n'


def _annotation(annotation: Any) -> str:
    # A name that is imported for the type checker alone.
    if isinstance(annotation, str):
        return annotation.replace("pd.", "pandas.") if annotation.startswith("pd.") else "Any"
    return (
        inspect.formatannotation(annotation)
        .replace("pandas.core.frame.", "pandas.")
        .replace("typing.", "")
    )


def columns_page() -> str:
    """docs/columns.md."""
    lines = [_COLUMNS_HEAD, "| name | type | unit | is |", "|---|---|---|---|"]
    for one in sorted(columns().values(), key=lambda one: one.name.lower()):
        unit = f"{one.unit}, instant" if one.instant else one.unit or ""
        text = one.definition.replace("|", "\\|").replace("](#", "](definitions.md#")
        lines.append(f"| `{one.name}` | {one.type or ''} | {unit} | {text} |")
    return "\n".join(lines) + "\n"


def whole() -> dict[Path, bytes]:
    """What each file holds."""
    return {
        PAGE: page().encode(),
        COLUMNS: columns_page().encode(),
        STUB: stub().encode(),
        SCHEMA: json_schema(Document),
        DIGEST: json_schema(Digest),
    }


def main() -> None:
    for path, text in whole().items():
        path.write_bytes(text)


if __name__ == "__main__":
    main()
