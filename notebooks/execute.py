# Percent scripts as notebooks: without outputs in the .ipynb beside each, the same bytes from the
# same script, and executed, as a page with code and pictures, in build/notebooks:
#     python notebooks/execute.py notebooks/01-stolen-time.py

import sys
from contextlib import chdir
from pathlib import Path

import jupytext
import nbformat
from nbconvert import HTMLExporter

from netcost_analysis.files import replacing
from netcost_analysis.report.notebook import execute

PAGES = Path(__file__).resolve().parent.parent / "build" / "notebooks"


def main(scripts: list[str]) -> None:
    PAGES.mkdir(parents=True, exist_ok=True)
    for script in map(Path, scripts):
        book = jupytext.read(script)
        for number, cell in enumerate(book.cells):
            # jupytext draws them at random.
            cell.id = f"cell-{number:02d}"
        with replacing(script.with_suffix(".ipynb")) as draft:
            nbformat.write(book, draft)
        with chdir(script.parent):
            execute(book)
        page, _ = HTMLExporter().from_notebook_node(nbformat.from_dict(book))
        with replacing(PAGES / f"{script.stem}.html") as draft:
            draft.write_text(page, encoding="utf-8")


main(sys.argv[1:])
