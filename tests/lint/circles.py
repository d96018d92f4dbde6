# Files of the crate and of the package import in one direction: what imports each other in a circle
# can be read, tested and changed only together.

import re
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

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


# What is imported for types alone counts.
def circles_of_the_package() -> Iterator[str]:
    graph = grimp.build_graph("netcost_analysis", cache_dir=None)
    yield from circle(
        {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    )


def names_are_loaded_in_one_place() -> Iterator[str]:
    for path in sorted((ROOT / "netcost_analysis").rglob("*.py")):
        if path.name != "accessors.py" and "import_module" in path.read_text():
            yield f"{path.relative_to(ROOT)}:1: imports by name: accessors.load does"


def circles() -> Iterator[str]:
    files = [file for file in SOURCES.rglob("*.rs") if file.name != "lib.rs"]
    modules = {module(file) for file in files}
    graph = {module(file): imports(file, modules) for file in files}
    # Else nothing of this is understood.
    assert sum(map(len, graph.values())) > len(files)
    yield from circle({"::".join(one): map("::".join, of) for one, of in graph.items()})


def circle(graph: Mapping[str, Iterable[str]]) -> Iterator[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"{error.args[1][0]}: a circle of imports: {' -> '.join(error.args[1])}"
