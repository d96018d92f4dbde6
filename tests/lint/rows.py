# Rows are read through timeline/reading.py, whatever a timeline is called, and however it came
# there.

import ast
from collections.abc import Iterator

from netcost_analysis.timeline.tables import TABLES
from support.host import ROOT

QUESTIONS = ROOT / "netcost_analysis" / "questions"
# What is a timeline wherever it comes from; else a parameter says so by its type.
MAKES_ONE = {"timeline", "victim_timeline", "excerpt", "whole", "windows"}


def last_name(node: ast.AST | None) -> str:
    # "timeline" of answer.timeline, of capture.timeline(0, 1), of "Timeline | None".
    while isinstance(node, ast.Call):
        node = node.func
    return "" if node is None else ast.unparse(node).strip("'\"").split(" ")[0].split(".")[-1]


def timelines_in(tree: ast.AST) -> set[str]:
    # The variables that hold one.
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and last_name(node.annotation) == "Timeline":
            found.add(node.arg)
        if isinstance(node, ast.AnnAssign) and last_name(node.annotation) == "Timeline":
            found.add(ast.unparse(node.target))
    # Twice: one may be made of another that is found further down.
    for node in [*ast.walk(tree), *ast.walk(tree)]:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.For | ast.comprehension):
            targets = [node.target]
        value = getattr(node, "value" if isinstance(node, ast.Assign) else "iter", None)
        if targets and isinstance(value, ast.IfExp):
            value = value.orelse if last_name(value.body) == "None" else value.body
        if targets and last_name(value) in found | MAKES_ONE:
            found.update(ast.unparse(target) for target in targets)
    return found


def read_directly(source: str) -> set[tuple[int, str]]:
    tree = ast.parse(source)
    timelines = timelines_in(tree) | MAKES_ONE
    found = set[tuple[int, str]]()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or last_name(node.value) not in timelines:
            continue
        if node.attr in {*TABLES, "load", "batches", "arrow_batches"}:
            found.add((node.lineno, ast.unparse(node)))
    for node in ast.walk(tree):
        # timeline.columns("displaced"), timeline.table("displaced").
        if isinstance(node, ast.Call) and last_name(node.func) in ("columns", "table"):
            named = {one.value for one in node.args if isinstance(one, ast.Constant)}
            if named & set(TABLES):
                found.add((node.lineno, ast.unparse(node)))
    return found


def rows_are_read_in_one_place() -> Iterator[str]:
    for path in sorted(QUESTIONS.rglob("*.py")):
        for line, code in read_directly(path.read_text()):
            yield f"{path.relative_to(ROOT)}:{line}: {code}"
