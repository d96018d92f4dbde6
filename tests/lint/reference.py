# What is written from the declarations is up to date: docs/questions.md, docs/columns.md, the
# schemas of a comparison and a digest, and the stub by which editors complete questions.

import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType

from netcost_analysis.answers.registry import questions
from support.host import ROOT


@cache
def made() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "make_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def files_are_what_is_declared() -> Iterator[str]:
    for path, text in made().whole().items():
        if path.read_bytes() != text:
            yield f"{path.relative_to(ROOT)}:1: run make reference"


def every_question_is_in_them() -> Iterator[str]:
    page, stub = made().page(), made().stub()
    for name in questions():
        if f"| [`{name}`](" not in page or f"    def {name}(self" not in stub:
            yield f"docs/make_reference.py:1: leaves out {name}"


# CONTRIBUTING.md leads from figures that are often asked for to what computes them.
def figures_lead_to_their_code() -> Iterator[str]:
    row = re.compile(r"\| [^|]+ \| `(\w+)` \| `(\w+)` in \[[^]]+\]\(([^)]+)\)")
    lines = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    rows = {number: found for number, line in enumerate(lines, 1) if (found := row.match(line))}
    if len(rows) != 8:
        yield f"CONTRIBUTING.md:1: {len(rows)} rows of figures, not 8"
    for number, found in rows.items():
        question, function, path = found.groups()
        named = re.search(rf"\b(def|fn) {function}\(", (ROOT / path).read_text())
        if question not in questions() or not named:
            yield f"CONTRIBUTING.md:{number}: {question} is not computed by {function} in {path}"
