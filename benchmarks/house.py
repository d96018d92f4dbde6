# How large the package is, and how far apart its parts are: the measures by which it is to become a
# house that a newcomer finds the way in.
#     python -m benchmarks.house [CAPTURE]

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

from netcost_analysis.answers.registry import questions

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "netcost_analysis"
# Of a file, at most.
LONG = 300
# A module of one definition that is shorter.
SHORT = 30


def lines(paths: list[Path]) -> int:
    return sum(len(path.read_text().splitlines()) for path in paths)


def is_short(path: Path) -> bool:
    # Of one definition, and a short one.
    tree = ast.parse(path.read_text())
    defined = [one for one in tree.body if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    return len(defined) == 1 and (defined[0].end_lineno or 0) - defined[0].lineno < SHORT


def circles() -> str:
    # Imports for types alone count.
    graph = grimp.build_graph("netcost_analysis", cache_dir=None)
    try:
        TopologicalSorter(
            {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
        ).prepare()
    except CycleError as error:
        return " -> ".join(error.args[1])
    return "0"


def entered(capture: str) -> str:
    stops = (sys.executable, "-m", "benchmarks.stops", "stolen", capture)
    done = subprocess.run(stops, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.splitlines()[-1]


def main() -> None:
    capture = sys.argv[1] if sys.argv[1:] else "sample-data/nic-stolen-time"
    python = [path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts]
    beside = [*PACKAGE.rglob("questions/**/*.md"), *PACKAGE.rglob("*.toml"), *PACKAGE.rglob("*.j2")]
    asked, home = questions(), PACKAGE / "questions"
    own = [path for path in python if path.is_relative_to(home)]
    words = list(home.rglob("*.md"))
    modules = [path for path in python if path.name != "__init__.py"]
    rows = {
        "lines of Python, templates and TOML": f"{lines([*python, *beside]):,}",
        "Python files": f"{len(python):,}",
        "circles of imports": circles(),
        "functions entered by `netcost stolen`": entered(capture),
        f"files over {LONG} lines": str(sum(lines([path]) > LONG for path in python)),
        "modules of one short definition": str(sum(map(is_short, modules))),
        "lines under questions/ a question": f"{lines([*own, *words]) / len(asked):.0f}",
        "files and templates a question": f"{len(own) / len(asked):.1f} and "
        f"{len(words) / len(asked):.1f}",
        "lines of tests": f"{lines(list((ROOT / 'tests').rglob('*.py'))):,}",
    }
    print("| measure | now |\n|---|---|")
    for measure, value in rows.items():
        print(f"| {measure} | {value} |")


if __name__ == "__main__":
    main()
