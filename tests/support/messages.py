# What commands and the recorder tell a user, found where it is written. Where a sentence fills
# something in, it has GAP.

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from support.host import ROOT

GAP = "\0"
NATIVE = ROOT / "native" / "src"
PACKAGE = ROOT / "netcost_analysis"
KIT = ROOT / "capture"
COMPLETENESS = PACKAGE / "questions" / "completeness"
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
# Pieces of sentences that are looked through as wholes.
_PIECES = ("one clock for all CPUs (", "a count that is not a number", "its user and system time")
# Functions of native whose sentences become notes.
_NOTING = ("caveat", "counted", "silences", "ambiguous", "note", "losses_noted")
# All that native hands to its notes without writing it there.
_HANDED = (*(f"{name}(" for name in _NOTING), "notes", "problem", "clocks", "error.to_string()")
# Functions of the package whose sentences become notes.
_OF_NOTES = re.compile(r"\w*notes?|note_of|lower_ends_of|given|_counted|mended|_of_victim")


def native_files() -> Iterator[tuple[Path, str]]:
    for path in sorted(NATIVE.rglob("*.rs")):
        yield path, path.read_text().split("#[cfg(test)]")[0].replace("'\"'", "'~'")


def _is_sentence(text: str, least: int = 24) -> bool:
    # Of several words; what begins with a comma goes on from another.
    return (
        len(text) >= least
        and text.count(" ") > 1
        and len(re.findall(r"[A-Za-z]{2,}", text)) > 2
        and re.match(rf"[\w'{GAP}-]", text) is not None
        and not text.startswith(_PIECES)
    )


def _closed(text: str, start: int, pair: str) -> str:
    # From the bracket at start to the one that closes it.
    depth = 0
    parts = re.compile(_LITERAL.pattern + "|" + "|".join(map(re.escape, pair)), re.DOTALL)
    for at in parts.finditer(text, start):
        depth += {pair[0]: 1, pair[1]: -1}.get(at[0], 0)
        if depth == 0:
            return text[start : at.end()]
    raise AssertionError(f"no end of {text[start : start + 60]!r}")


def _sentences(code: str, least: int = 24) -> Iterator[str]:
    # Of Rust.
    for found in _LITERAL.finditer(code):
        text = re.sub(r"\\\n\s*", "", found[1]).replace('\\"', '"').removeprefix(": ")
        text = re.sub(r"\{[^{}]*\}", GAP, text)
        if _is_sentence(text, least):
            yield text


def native_notes() -> Iterator[tuple[str, str]]:
    """Where each note of the native module is written, and its sentence."""
    for path, text in native_files():
        name = path.name
        for at in re.finditer(r"\bnotes\s*\.push\(|\.note\((?=format)", text):
            yield from ((name, one) for one in _sentences(_closed(text, at.end() - 1, "()")))
        for at in re.finditer(rf"\bfn ({'|'.join(_NOTING)})\b[^{{;]*(?=\{{)", text):
            yield from ((name, one) for one in _sentences(_closed(text, at.end(), "{}")))
        for at in re.finditer(r"\b(problem = Some\(|note: |let note = \|\w+\| format!\()", text):
            yield from ((name, one) for one in _sentences(text[at.end() :].split("\n")[0]))


def native_handed() -> Iterator[str]:
    """What native hands to notes and is not among what is looked through here."""
    for path, text in native_files():
        for at in re.finditer(r"\bnotes\s*\.(?:extend|splice)\(", text):
            handed = _closed(text, at.end() - 1, "()")
            if not any(one in handed for one in _HANDED):
                yield f"{path.name}: {handed}"


def native_refusals() -> Iterator[tuple[str, str, str]]:
    """File, kind and sentence of each error of the native module."""
    for path, text in native_files():
        for at in re.finditer(r"\bbad!\((?=\s*[A-Z])", text):
            code = _closed(text, at.end() - 1, "()")
            kind = re.match(r"\(\s*(\w+)", code)
            assert kind is not None
            for one in list(_sentences(code, least=0))[:1]:
                yield str(path.relative_to(NATIVE)), kind[1], one


def ledger_refusals() -> Iterator[str]:
    """Why a recording has no ledger, in the sentences that refuse.rs puts together."""
    text = dict(native_files())[NATIVE / "ledger" / "refuse.rs"]
    for at in re.finditer(r"\bpub fn refuse\w*\b[^{]*(?=\{)", text):
        yield from _sentences(_closed(text, at.end(), "{}"), least=16)


def _filled(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(
                str(part.value) if isinstance(part, ast.Constant) else GAP for part in parts
            )
    return None


def _texts(tree: ast.AST) -> Iterator[str]:
    # Sentences; no docstring, and no piece of an f-string.
    pieces = {
        id(part) for one in ast.walk(tree) if isinstance(one, ast.JoinedStr) for part in one.values
    }
    pieces |= {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    for node in ast.walk(tree):
        text = _filled(node) if isinstance(node, ast.expr) and id(node) not in pieces else None
        if text and _is_sentence(text):
            yield text


def package_notes() -> Iterator[tuple[str, str]]:
    """Where each note of the package is written, and its sentence."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(attr="append", value=value)):
                    is_noted = ast.unparse(value).endswith("notes")
                case ast.Assign(targets=[target]):
                    is_noted = ast.unparse(target) in ("notes", "said.notes")
                case ast.FunctionDef(name=name):
                    is_noted = _OF_NOTES.fullmatch(name) is not None
                case _:
                    continue
            if is_noted:
                yield from ((path.name, text) for text in _texts(node))


def package_refusals() -> Iterator[str]:
    """The sentence of each CaptureError that the package raises, where it is written there."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(
                    func=ast.Name(id="CaptureError" | "LackingError"), args=[*_, last]
                ) if text := _filled(last):
                    if len(re.findall(r"[A-Za-z]{2,}", text)) > 1:
                        yield text


def unknown_verdicts() -> Iterator[str]:
    """Why it is not known whether a recording is complete: the package's reasons and the kit's."""
    for path in (COMPLETENESS / "completeness.py", COMPLETENESS / "verdicts.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "unknown":
                yield from _texts(node)
    for _, text in kit_files():
        # Some are defaults, in braces.
        yield from filter(_is_sentence, re.findall(r'completeness_reason="([^"]*)"', text))
    for _, text in kit_files(filled=False):
        for found in re.findall(r'\{completeness_reason:-"([^"]*)"\}', text):
            yield re.sub(r"\$\w+", GAP, found)


def kit_files(*, filled: bool = True) -> Iterator[tuple[Path, str]]:
    """The recorder's scripts, with GAP for what the shell fills in."""
    gaps = re.compile(r"\$\(\(.*?\)\)|\$\([^()]*\)|\$\{[^{}]*\}|\$\w+")
    for path in (KIT / "netcost-record", *sorted((KIT / "lib").glob("*.sh"))):
        yield path, gaps.sub(GAP, path.read_text()) if filled else path.read_text()


def kit_notes() -> Iterator[tuple[str, str]]:
    """Where each note of the recorder is written, and its sentence."""
    for path, text in kit_files():
        noted = re.findall(r'\bnote "([^"]*)"', text)
        noted += re.findall(r'^clock_note\(\) \{[^}]*echo "([^"]*)"', text, re.MULTILINE)
        yield from ((path.name, one) for one in noted if _is_sentence(one))


def kit_checks() -> Iterator[tuple[str, str]]:
    """What netcost-record --check warns of or refuses, and its sentence."""
    for _, text in kit_files():
        yield from re.findall(r'\bverdict (\w+) (?:warn|no) "([^"]*)"', text)
