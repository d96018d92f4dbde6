# What is true of the tests themselves.

import ast
import re
import tomllib
from collections.abc import Iterator

from support.host import ROOT

TESTS = ROOT / "tests"
# Four words in a row; what is compared with a file's columns is none.
SENTENCE = re.compile(r"[A-Za-z']+(?:,? [A-Za-z']+){3}")


# A sentence is told by golden files and transcripts; a test asserts the fact behind it.
def no_test_asserts_a_sentence() -> Iterator[str]:
    for path in sorted(TESTS.rglob("test_*.py")):
        for line in sentences(path.read_text()):
            yield f"{path.relative_to(ROOT)}:{line}: asserts a sentence"


# The lines of such literals in assert and match=.
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
            if isinstance(one, ast.Constant) and SENTENCE.search(str(one.value))
        }
    )


# What moves takes its planted faults along: one that fits nowhere is caught by no test.
def planted_faults_fit() -> Iterator[str]:
    told = tomllib.loads((TESTS / "mutants" / "faults.toml").read_text())
    for fault in told["fault"]:
        path = ROOT / fault["file"]
        if not path.exists() or path.read_text().count(fault["old"]) != 1:
            yield f"tests/mutants/faults.toml: {fault['id']} does not fit {fault['file']}"
