# A notebook executed on a capture, as one HTML file that needs nothing else, or as Markdown.

import os
import re
import shlex
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .._native import CaptureError
from ..display.templates import code, fenced
from ..errors import REFUSALS, bug, line_of
from ..files import replacing
from ..progress import progress

_CELL_TIMEOUT_S = 1800


class NotebookError(Exception):
    """A cell of the notebook raised, or it cannot do what was asked; the message is one line."""


# In a wheel they are files of the package, in the source tree links to those that are edited.
_NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
DEFAULT = "stolen-time"


def find_notebook(name: str | None = None) -> Path:
    """The notebook of that name: a path, or one of the project's by name or number.

    "devices", "04-devices" and "04" are the same; None is the project's first, whatever files lie
    here. Raises NotebookError, with the names there are.
    """
    if name is not None and Path(name).is_file():
        return Path(name)
    name = DEFAULT if name is None else name
    ours = our_notebooks()
    for path in ours:
        number, _, short = path.stem.partition("-")
        if name.removesuffix(".ipynb") in (path.stem, short, number, number.lstrip("0")):
            return path
    known = ", ".join(path.stem.partition("-")[2] for path in ours)
    raise NotebookError(f"no notebook {name!r}: name a file, or one of {known}")


def our_notebooks() -> list[Path]:
    """The project's own, in reading order."""
    return sorted(_NOTEBOOKS.glob("[0-9]*.ipynb"))


def is_ours(notebook: Path) -> bool:
    """Whether it is one of the project's."""
    return any(notebook.samefile(one) for one in our_notebooks())


def write_report(
    notebook: Path,
    capture: str,
    output: str,
    with_code: bool = False,
    parameters: Mapping[str, int | str | None] | None = None,
) -> None:
    """Execute a notebook on a capture and export it.

    notebook: an .ipynb with a cell tagged "parameters" that sets path. capture: what
    open_capture takes, from the working directory. output: the HTML file, or one ending in .md for
    Markdown without pictures, written whole or not at all. with_code: keep the code cells.
    parameters: further ones to set, as victim, the task the report is about; None leaves one to the
    notebook. Raises NotebookError when a cell does, or the notebook has no such parameter;
    CaptureError where a cell asked for what netcost refuses; OSError when a file cannot be read or
    written.
    """
    book = _read(notebook)
    chosen = {name: value for name, value in (parameters or {}).items() if value is not None}
    ours = is_ours(notebook)
    _set_parameters(book, {"path": capture, **chosen}, notebook.name)
    # What writes the page takes long to import; the kernel has the time. What both import comes
    # first: two threads in one circle of imports see half of each other's modules.
    import_module("nbclient")
    with ThreadPoolExecutor(1) as beside:
        beside.submit(import_module, "nbconvert")
        execute(book, os.getcwd(), ours=ours)
    short = notebook.stem.partition("-")[2] if ours else str(notebook)
    words = ["netcost", "report", capture]
    words += ["--notebook", short] if short != DEFAULT else []
    for name, value in chosen.items():
        words += [f"--{name}", str(value)]
    write = _text if Path(output).suffix == ".md" else _page
    page = write(book, title=_title(book, notebook), command=shlex.join(words), with_code=with_code)
    with replacing(output) as draft:
        draft.write_text(page, encoding="utf-8")


def _read(notebook: Path) -> Any:
    nbformat = _nbformat()
    try:
        return nbformat.read(notebook, as_version=4)
    except (ValueError, KeyError, AttributeError, TypeError, nbformat.ValidationError):
        raise NotebookError(f"{notebook} is no notebook that can be read") from None


def _nbformat() -> Any:
    # JupyterLab brings a grammar of IRIs that jsonschema compiles, for a second, when nbformat
    # imports it; no notebook has any to be checked.
    name = "rfc3987_syntax"
    found = name in sys.modules
    if not found:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        import nbformat
    finally:
        if not found:
            del sys.modules[name]
    return nbformat


def _set_parameters(book: Any, values: Mapping[str, int | str | None], notebook: str) -> None:
    # papermill's convention, so that papermill can run the same notebooks.
    from nbformat.v4 import new_code_cell

    tagged = [
        i for i, cell in enumerate(book.cells) if "parameters" in cell.metadata.get("tags", [])
    ]
    known = "\n".join(book.cells[i].source for i in tagged)
    if re.search(r"^experiment\s*=", known, re.MULTILINE):
        # The one that a notebook names is for its own capture, and no other's.
        values = {"experiment": None} | dict(values)
    for name in values:
        if name != "path" and not re.search(rf"^{name}\s*=", known, re.MULTILINE):
            raise NotebookError(f"{notebook} has no parameter {name}")
    source = "\n".join(f"{name} = {value!r}" for name, value in values.items())
    # Its id would else be drawn at random, and every page be another.
    cell = new_code_cell(source, id="parameters", metadata={"tags": ["injected-parameters"]})
    book.cells.insert(tagged[-1] + 1 if tagged else 0, cell)


def execute(book: Any, folder: str | Path, ours: bool = True) -> None:
    """Execute a notebook's cells in a kernel, outputs into the notebook.

    book: as nbformat reads it. folder: the kernel's working directory. ours: it is one of the
    project's, and what it did not mean to raise is a bug. Raises NotebookError when a cell does;
    CaptureError, in its own words, where a cell asked for what netcost refuses.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from traitlets.config import Config

    cells = sum(cell.cell_type == "code" for cell in book.cells) or 1
    done = 0
    with progress("executing the notebook") as advance, TemporaryDirectory() as sockets:

        def count(**_: Any) -> None:
            nonlocal done
            done += 1
            if advance:
                advance(min(done / cells, 1.0))

        # Sockets in a folder of our own: over TCP others on this host could reach the kernel.
        kernel = {"transport": "ipc", "ip": f"{sockets}/kernel"}
        client = NotebookClient(
            book,
            config=Config({"KernelManager": kernel}),
            kernel_name="python3",
            timeout=_CELL_TIMEOUT_S,
            on_cell_executed=count,
            # Times of execution would make every run another file.
            record_timing=False,
        )
        try:
            # A progress bar in a kernel's output would stay in the page.
            client.execute(cwd=str(folder), env={**os.environ, "NETCOST_PROGRESS": "0"})
        except CellExecutionError as error:
            if os.environ.get("NETCOST_TRACEBACK"):
                raise
            if error.ename in REFUSALS:
                raise CaptureError(str(error.evalue)) from None
            raise NotebookError(f"the notebook stopped: {_said(error, ours)}") from None
        except (DeadKernelError, CellTimeoutError) as error:
            raise NotebookError(f"the notebook stopped: {line_of(error)}") from None


def _said(error: Any, ours: bool) -> str:
    # What one of the project's own notebooks runs into is a bug, and what a cell of another's does
    # nobody knows.
    name, message = str(error.ename), str(error.evalue)
    return bug(name, message) if ours else f"{name}: {message}"


def _title(book: Any, notebook: Path) -> str:
    # The first heading.
    for cell in book.cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if line.startswith("# "):
                    return str(line[2:].strip())
    return notebook.stem


def _page(book: Any, title: str, command: str, with_code: bool) -> str:
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(**_settings("page", with_code), embed_images=True)
    words = {"title": title, "release": _release(), "command": command}
    return str(exporter.from_notebook_node(book, words)[0])


def _text(book: Any, title: str, command: str, with_code: bool) -> str:
    from nbconvert import MarkdownExporter
    from traitlets.config import Config

    # Pictures before a text that stands in for one: its template leaves them out.
    kinds = ["text/markdown", "image/svg+xml", "image/png", "image/jpeg"]
    exporter = MarkdownExporter(
        **_settings("text", with_code),
        filters={"code": code, "fenced": fenced},
        config=Config({"NbConvertBase": {"display_data_priority": [*kinds, "text/plain"]}}),
    )
    words = {"title": title, "release": _release(), "command": command}
    text = str(exporter.from_notebook_node(book, words)[0])
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _settings(template: str, with_code: bool) -> dict[str, Any]:
    return {
        "extra_template_basedirs": [str(Path(__file__).parent)],
        "template_name": template,
        "exclude_input": not with_code,
        "exclude_input_prompt": True,
        "exclude_output_prompt": True,
    }


def _release() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("netcost-analysis")
    except PackageNotFoundError:
        return "(not installed)"
