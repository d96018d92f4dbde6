# A notebook: read from its file, given its parameters, and executed.

import ast
import os
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from .._native import CaptureError
from ..answers.pictures import without_pictures
from ..errors import absent_extra, bug, is_refusal
from ..plots.painting import painting_beside
from ..progress import progress

if TYPE_CHECKING:
    from .shell import Shell

# Parameters of a notebook that name recordings besides the capture.
FURTHER = ("experiment", "traced", "base")


class NotebookError(Exception):
    """A notebook cannot be read or run, or one of its cells raised. The message is one line."""


def execute(
    book: Any,
    ours: bool = True,
    last: Callable[[dict[str, Any]], str] | None = None,
    has_pictures: bool = True,
) -> str:
    """Execute a notebook's cells in this process, store outputs, and return what last returns.

    book: as read by read_book() or nbformat. ours: whether the notebook is one of the project's,
    where an unexpected exception is a bug. last: called with the cells' names while the last
    pictures are painted. has_pictures: whether answers show pictures. Raises NotebookError if a
    cell raises, and CaptureError with its own message if a cell asks for what netcost refuses.
    """
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    with ExitStack() as held:
        advance = held.enter_context(progress("executing the notebook"))
        held.enter_context(_without_bars())
        held.enter_context(nullcontext() if has_pictures else without_pictures())
        # Not for a user's cells: they may change matplotlib's settings, which another process does
        # not see.
        held.enter_context(painting_beside() if ours and has_pictures else nullcontext())
        running = Cells() if ours else held.enter_context(_shell())
        for done, cell in enumerate(cells, 1):
            error = running.run(cell)
            if error is not None and "raises-exception" not in cell.metadata.get("tags", []):
                _stop(error, ours)
            if advance:
                advance(done / len(cells))
        returned = last(dict(running.user_ns)) if last else ""
        for cell in cells:
            _finish(cell.outputs)
        return returned


def _shell() -> AbstractContextManager["Shell"]:
    from .shell import shell

    return shell()


def _finish(outputs: list[dict[str, Any]]) -> None:
    # Wait for pictures painted meanwhile. Notebooks have them in base64.
    for data in (output.get("data", {}) for output in outputs):
        for kind, value in data.items():
            painted = value() if callable(value) else value
            data[kind] = b64encode(painted).decode() if isinstance(painted, bytes) else painted


@contextmanager
def _without_bars() -> Iterator[None]:
    # Progress bars would stay in the page.
    before = os.environ.get("NETCOST_PROGRESS")
    os.environ["NETCOST_PROGRESS"] = "0"
    try:
        yield
    finally:
        os.environ.pop("NETCOST_PROGRESS")
        if before is not None:
            os.environ["NETCOST_PROGRESS"] = before


def _stop(error: BaseException, ours: bool) -> None:
    # A signal ends the process on purpose; an exit() in a cell is an error.
    is_end = isinstance(error, KeyboardInterrupt) or (
        isinstance(error, SystemExit) and isinstance(error.code, int) and error.code > 128
    )
    # Let the command line say which extra brings a missing package.
    is_end = is_end or (ours and absent_extra(error, "report") is not None)
    if is_end or os.environ.get("NETCOST_TRACEBACK"):
        raise error
    if is_refusal(error):
        raise CaptureError(str(error)) from error
    name, message = type(error).__name__, str(error)
    why = bug(name, message) if ours else f"{name}: {message}"
    raise NotebookError(f"the notebook stopped: {why}") from error


class Cells:
    """Runs cells of the project's notebooks in one namespace, user_ns.

    They are plain Python, and each shows at most one answer. Other notebooks may need IPython
    (shell.py), which takes half a second to import.
    """

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}

    def run(self, cell: Any) -> BaseException | None:
        """Run a cell, put the value of its last line into its outputs, and return its exception."""
        try:
            tree = ast.parse(cell.source)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<cell>", "exec"), self.user_ns)  # noqa: S102
            if isinstance(last, ast.Expr):
                shown = compile(ast.Expression(last.value), "<cell>", "eval")
                answer = eval(shown, self.user_ns)  # noqa: S307
                cell.outputs = [
                    {"output_type": "display_data", "data": data, "metadata": about}
                    for data, about in (answer.shown() if answer is not None else ())
                ]
        except BaseException as error:
            return error
        return None


class Cell(Struct):
    """A cell. outputs: in Jupyter's format, with joined texts and pictures in base64."""

    cell_type: Literal["code", "markdown", "raw"]
    # A text, or in a file a list of its lines.
    source: Any
    metadata: dict[str, Any] = {}
    attachments: dict[str, dict[str, str]] = {}
    execution_count: int | None = None
    outputs: list[dict[str, Any]] = []

    def __post_init__(self) -> None:
        self.source = "".join(self.source)

    @property
    def tags(self) -> list[str]:
        """Jupyter's tags of the cell."""
        tags: list[str] = self.metadata.get("tags", [])
        return tags


class Book(Struct):
    """A notebook in the format that Jupyter has written since 2015."""

    nbformat: Literal[4]
    cells: list[Cell]

    def title(self, otherwise: str) -> str:
        """The first heading."""
        texts = (cell.source for cell in self.cells if cell.cell_type == "markdown")
        lines = (line for text in texts for line in text.splitlines())
        return next((line[2:].strip() for line in lines if line.startswith("# ")), otherwise)

    def set_parameters(self, values: Mapping[str, Any], notebook: str) -> None:
        """Add a cell that sets parameters, like papermill, which runs the same notebooks.

        Raises NotebookError for a parameter that the notebook lacks.
        """
        tagged = [at for at, cell in enumerate(self.cells) if "parameters" in cell.tags]
        known = "\n".join(self.cells[at].source for at in tagged)
        # Unset further recordings: the defaults go with the notebook's own capture.
        further = [name for name in FURTHER if re.search(rf"^{name}\s*=", known, re.MULTILINE)]
        values = dict.fromkeys(further) | dict(values)
        for name in values:
            if (tagged or name != "path") and not re.search(rf"^{name}\s*=", known, re.MULTILINE):
                raise NotebookError(f"{notebook} has no parameter {name}")
        source = "\n".join(f"{name} = {value!r}" for name, value in values.items())
        cell = Cell("code", source, {"tags": ["injected-parameters"]})
        self.cells.insert(tagged[-1] + 1 if tagged else 0, cell)


def read_book(notebook: Path) -> Book:
    """Read a notebook. Raises NotebookError for any other file."""
    try:
        return msgspec.json.decode(notebook.read_bytes(), type=Book)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise NotebookError(f"{notebook} is not a readable notebook: {error}") from None
