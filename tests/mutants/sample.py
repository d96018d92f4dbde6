# Faults of the Rust and Python sources, in an order that SEED alone decides: the first COUNT of
# each folder, as entries of faults.toml.
# Usage: python tests/mutants/sample.py COUNT [FOLDER...]; Rust's are listed by cargo-mutants.

import ast
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SEED = 20261126
RUST = [f"native/src/{name}" for name in ("ledger", "perf", "ring", "text", "pairing", "mask")]
PYTHON = [f"netcost_analysis/{name}" for name in ("questions", "comparison", "parsers")]

SWAPPED: dict[type, str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "/",
    ast.Mod: "//",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.And: "or",
    ast.Or: "and",
}
PREFIX: dict[type, str] = {ast.Not: "not ", ast.Invert: "~"}


class Fault(NamedTuple):
    file: Path
    start: int
    end: int
    new: str


class Source:
    def __init__(self, file: Path) -> None:
        self.file, self.text = file, file.read_text()
        self.lines = self.text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    # ast counts bytes.
    def place(self, line: int, column: int) -> int:
        return self.at(line, len(self.lines[line - 1].encode()[:column].decode()))

    def span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self.place(node.lineno, node.col_offset),
            self.place(node.end_lineno, node.end_col_offset),
        )


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


# Neither types nor what a decorator declares in words runs.
def executed(tree: ast.AST) -> Iterator[ast.AST]:
    annotations = ("annotation", "returns", "type_params")
    for name, value in ast.iter_fields(tree):
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST) and name not in annotations:
                yield node
                yield from executed(node)


def between(source: Source, left: ast.expr, right: ast.expr, operator: ast.AST) -> Fault | None:
    new = SWAPPED.get(type(operator))
    if new is None or is_text(left) or is_text(right):
        return None
    start, end = source.span(left)[1], source.span(right)[0]
    words = source.text[start:end].strip().strip("()").strip()
    if "#" in words or "\n" in words or not words:
        return None
    first = source.text.index(words, start)
    return Fault(source.file, first, first + len(words), new)


def python_faults(file: Path) -> Iterator[Fault | None]:
    source = Source(file)
    for node in executed(ast.parse(source.text)):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                yield between(source, left, right, operator)
            case ast.BinOp(left=left, op=operator, right=right):
                yield between(source, left, right, operator)
            case ast.BoolOp(op=operator, values=[left, right, *_]):
                yield between(source, left, right, operator)
            case ast.UnaryOp(op=ast.Not() | ast.Invert() as operator):
                start = source.span(node)[0]
                yield Fault(file, start, start + len(PREFIX[type(operator)]), "")
            case ast.Constant(value=bool() as value):
                yield Fault(file, *source.span(node), str(not value))
            case ast.Constant(value=int() as value):
                yield Fault(file, *source.span(node), str(value + 1))
            case ast.If(test=ast.expr() as test) | ast.IfExp(test=ast.expr() as test):
                if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
                    yield Fault(file, *source.span(test), f"not ({ast.unparse(test)})")
            case ast.Return(value=ast.Call(args=[first, *_]) as call):
                if not isinstance(first, ast.Starred | ast.GeneratorExp):
                    yield Fault(file, *source.span(call), ast.unparse(first))


# A function's body is left where it is, behind the value that cargo-mutants has in its place. What
# else it changes takes a hand, to have both: FAULT says which.
def rust_fault(mutant: dict) -> Fault:
    source = Source(ROOT / "native" / mutant["file"])
    start, end = (
        source.at(mutant["span"][side]["line"], mutant["span"][side]["column"] - 1)
        for side in ("start", "end")
    )
    if mutant["genre"] != "FnValue":
        return Fault(source.file, start, end, mutant["replacement"])
    brace = source.text.rindex("{", 0, start + 1) + 1
    value = f"\n        if FAULT {{ return {mutant['replacement']}; }}"
    return Fault(source.file, brace, brace, value)


def rust_faults(folder: Path) -> Iterator[Fault]:
    listing = subprocess.run(
        ["cargo", "mutants", "--list", "--json", "--package", "netcost"],
        cwd=ROOT / "native",
        stdout=subprocess.PIPE,
        check=True,
    )
    for mutant in json.loads(listing.stdout):
        if (ROOT / "native" / mutant["file"]).is_relative_to(folder):
            yield rust_fault(mutant)


# Whole lines, with those above them that make them unlike all others of the file.
def texts(fault: Fault) -> tuple[str, str]:
    source = Source(fault.file)
    text = source.text
    first = text.rfind("\n", 0, fault.start) + 1
    last = text.find("\n", max(fault.end, fault.start))
    while text.count(text[first:last]) > 1:
        first = text.rfind("\n", 0, first - 1) + 1
    return (
        text[first:last],
        text[first : fault.start] + fault.new + text[fault.end : last],
    )


def entry(number: str, fault: Fault) -> str:
    old, new = texts(fault)
    assert "'''" not in old + new
    return (
        f'[[fault]]\nid = "{number}"\nfile = "{fault.file.relative_to(ROOT)}"\n'
        f"old = '''\n{old}'''\nnew = '''\n{new}'''\n"
    )


def main() -> None:
    for name in sys.argv[2:] or RUST + PYTHON:
        folder = ROOT / name
        if name in RUST:
            found = list(rust_faults(folder))
        else:
            files = sorted(folder.rglob("*.py"))
            found = [fault for file in files for fault in python_faults(file) if fault]
        drawn = sorted(set(found))
        random.Random(f"{SEED} {name}").shuffle(drawn)
        print(f"# {name}: {len(drawn)} in all\n")
        for index, fault in enumerate(drawn[: int(sys.argv[1])], 1):
            print(entry(f"{folder.name}-{index}", fault))


if __name__ == "__main__":
    main()
