# Executes the cells of a notebook.

import os
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..answers.pictures import without_pictures
from ..errors import absent_extra, bug, is_refusal
from ..plots.painting import painting_beside
from ..progress import progress
from .cells import Cells

if TYPE_CHECKING:
    from .shell import Shell


class NotebookError(Exception):
    """A notebook cannot be read or run, or one of its cells raised. The message is one line."""


def execute(
    book: Any,
    ours: bool = True,
    last: Callable[[dict[str, Any]], str] | None = None,
    has_pictures: bool = True,
) -> str:
    """Execute a notebook's cells in this process, store outputs, and return what last returns.

    book: as read by book.py or nbformat. ours: whether the notebook is one of the project's, where
    an unexpected exception is a bug. last: called with the cells' names while the last pictures are
    painted. has_pictures: whether answers show pictures. Raises NotebookError if a cell raises, and
    CaptureError with its own message if a cell asks for what netcost refuses.
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
