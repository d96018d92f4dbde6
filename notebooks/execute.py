# Executes percent scripts into the .ipynb beside them, the same bytes from the same inputs:
#     python notebooks/execute.py notebooks/01-stolen-time.py

import sys
from pathlib import Path

import jupytext
import nbformat

from netcost_analysis.files import replacing
from netcost_analysis.report.execution import execute, started


def main(scripts: list[str]) -> None:
    for script in map(Path, scripts):
        book = jupytext.read(script)
        for number, cell in enumerate(book.cells):
            # jupytext draws them at random.
            cell.id = f"cell-{number:02d}"
        with started(script.parent) as kernel:
            execute(book, kernel)
        with replacing(script.with_suffix(".ipynb")) as draft:
            nbformat.write(book, draft)


main(sys.argv[1:])
