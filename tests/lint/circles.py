# The crate's files import in one direction: what imports each other in a circle can be read, tested
# and changed only together.

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from support.host import ROOT

SOURCES = ROOT / "native" / "src"
TESTS = re.compile(r"#\[cfg\(test\)\].*", re.DOTALL)
IMPORT = re.compile(
    r"\b(crate|self|super)((?:::\w+)*)::(\{[^}]*\}|\w+)|^(?:pub )?use (?!crate|self|super)(\w+)::",
    re.MULTILINE,
)


def module(file: Path) -> tuple[str, ...]:
    parts = file.relative_to(SOURCES).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def imports(file: Path, modules: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    own, text = module(file), TESTS.sub("", file.read_text())
    found = set()
    for root, path, last, child in IMPORT.findall(text):
        base = {"crate": (), "self": own, "super": own[:-1], "": own}[root]
        for name in re.findall(r"[\w:]+", last or child):
            names = (*base, *path.split("::"), *name.split("::"))
            whole = tuple(part for part in names if part)
            known = [whole[:size] for size in range(len(whole), 0, -1) if whole[:size] in modules]
            found |= set(known[:1])
    # What is imported may be a folder, of which a file is used: perf::open::of_file(). A folder's
    # mod.rs uses the files in it without an import.
    for folder in list(found):
        for child in re.findall(rf"\b{folder[-1]}::(\w+)", text):
            found |= {(*folder, child)} & modules
    if file.name == "mod.rs":
        found |= {(*own, child) for child in re.findall(r"\b(\w+)::", text)} & modules
    return found - {own}


def circles() -> Iterator[str]:
    files = [file for file in SOURCES.rglob("*.rs") if file.name != "lib.rs"]
    modules = {module(file) for file in files}
    graph = {module(file): imports(file, modules) for file in files}
    # Else nothing of this is understood.
    assert sum(map(len, graph.values())) > len(files)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = " -> ".join("::".join(part) for part in error.args[1])
        yield f"native/src/lib.rs:1: a circle of imports: {circle}"
