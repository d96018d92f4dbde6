# What is true of the tests themselves.

import ast
from collections.abc import Iterator

from support.host import ROOT

TESTS = ROOT / "tests"
# Folders whose tests assert no sentence any more; "" is what lies in no folder. Where all are
# named, the rule is of all tests and this goes.
REWRITTEN = {"", "display", "flame", "parsers", "plots", "promises", "samples", "stats", "timeline"}


# A sentence is told by golden files and transcripts; a test asserts the fact behind it.
def no_test_asserts_a_sentence() -> Iterator[str]:
    for path in sorted(TESTS.rglob("test_*.py")):
        folder, _, _ = str(path.relative_to(TESTS)).rpartition("/")
        if folder.partition("/")[0] in REWRITTEN:
            for line in sentences(path.read_text()):
                yield f"{path.relative_to(ROOT)}:{line}: asserts a sentence"


# The lines of literals of four words or more in assert and match=.
def sentences(source: str) -> list[int]:
    asserted: list[ast.AST] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert):
            asserted.append(node.test)
        elif isinstance(node, ast.Call):
            asserted += [one.value for one in node.keywords if one.arg == "match"]
    return sorted(
        {
            one.lineno
            for node in asserted
            for one in ast.walk(node)
            if isinstance(one, ast.Constant) and len(str(one.value).split()) > 3
        }
    )
