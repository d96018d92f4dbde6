# Executes the cells of a notebook.

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

from .._native import CaptureError
from ..errors import bug, is_refusal
from ..plots.painting import painting_beside
from ..progress import progress


class NotebookError(Exception):
    """A cell of the notebook raised, or it cannot do what was asked; the message is one line."""


def execute(book: Any, ours: bool = True) -> dict[str, Any]:
    """Execute a notebook's cells in this process, outputs into the notebook; the names they leave.

    book: as nbformat reads it. ours: the notebook is one of the project's, and what it did not mean
    to raise is a bug. Raises NotebookError when a cell does; CaptureError, in its own words, where
    a cell asked for what netcost refuses.
    """
    from .shell import shell

    book.metadata["language_info"] = {"name": "python"}
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    with ExitStack() as held:
        advance = held.enter_context(progress("executing the notebook"))
        held.enter_context(_without_bars())
        # A user's cells may change matplotlib's settings, which another process does not see.
        held.enter_context(painting_beside() if ours else nullcontext())
        running = held.enter_context(shell())
        if not ours:
            running.show_pictures()
        for done, cell in enumerate(cells, 1):
            error = running.run(cell)
            if error is not None and "raises-exception" not in cell.metadata.get("tags", []):
                _stop(error, ours)
            if advance:
                advance(done / len(cells))
        running.finish_pictures()
        return dict(running.user_ns)


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
    # Ending the process is intended; an exit in a cell is not.
    is_end = isinstance(error, KeyboardInterrupt) or (
        isinstance(error, SystemExit) and isinstance(error.code, int) and error.code > 128
    )
    if is_end or os.environ.get("NETCOST_TRACEBACK"):
        raise error
    if is_refusal(error):
        raise CaptureError(str(error)) from error
    # An error in one of the project's own notebooks is a bug.
    name, message = type(error).__name__, str(error)
    said = bug(name, message) if ours else f"{name}: {message}"
    raise NotebookError(f"the notebook stopped: {said}") from error
