# The reference of questions, and the stub by which editors complete them, are what is declared.

import importlib.util
import re
from types import ModuleType

import pytest

from netcost_analysis.questions.ask import questions
from support.host import ROOT


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "make_reference.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_page_is_what_is_declared(reference: ModuleType) -> None:
    assert reference.PAGE.read_text() == reference.page(), "run make reference"


def test_the_columns_are_what_is_declared(reference: ModuleType) -> None:
    assert reference.COLUMNS.read_text() == reference.columns_page(), "run make reference"


def test_the_stub_is_what_is_declared(reference: ModuleType) -> None:
    assert reference.STUB.read_text() == reference.stub(), "run make reference"


def test_the_schema_is_what_is_declared(reference: ModuleType) -> None:
    assert reference.SCHEMA.read_bytes() == reference.schema(), "run make reference"


def test_every_question_is_in_both(reference: ModuleType) -> None:
    page, stub = reference.page(), reference.stub()
    for name in questions():
        assert f"| [`{name}`](" in page
        assert f"    def {name}(self" in stub


# README leads from figures that are often asked for to what computes them.
def test_readme_names_what_computes_a_figure() -> None:
    text = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| [^|]+ \| `(\w+)` \| `(\w+)` in \[[^]]+\]\(([^)]+)\)", text, re.M)
    assert len(rows) == 8
    for question, function, path in rows:
        assert question in questions()
        assert re.search(rf"\b(def|fn) {function}\(", (ROOT / path).read_text())
