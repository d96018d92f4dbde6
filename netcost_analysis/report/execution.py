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
    """A cell of the notebook raised, or it cannot do what was asked; the message is one line."""


def execute(
    book: Any,
    ours: bool = True,
    last: Callable[[dict[str, Any]], str] | None = None,
    has_pictures: bool = True,
) -> str:
    """Execute a notebook's cells in this process, outputs into the notebook; what last returned.

    book: as book.py or nbformat reads it. ours: the notebook is one of the project's, and what it
    did not mean to raise is a bug. last: is called with the names that the cells left, while the
    last pictures are painted. has_pictures: of answers. Raises NotebookError when a cell does;
    CaptureError, in its own words, where a cell asked for what netcost refuses.
    """
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    with ExitStack() as held:
        advance = held.enter_context(progress("executing the notebook"))
        held.enter_context(_without_bars())
        held.enter_context(nullcontext() if has_pictures else without_pictures())
        # A user's cells may change matplotlib's settings, which another process does not see.
        held.enter_context(painting_beside() if ours and has_pictures else nullcontext())
        running = Cells() if ours else held.enter_context(_shell())
        for done, cell in enumerate(cells, 1):
            error = running.run(cell)
            if error is not None and "raises-exception" not in cell.metadata.get("tags", []):
                _stop(error, ours)
            if advance:
                advance(done / len(cells))
        found = last(dict(running.user_ns)) if last else ""
        for cell in cells:
            _finish(cell.outputs)
        return found


def _shell() -> AbstractContextManager["Shell"]:
    from .shell import shell

    return shell()


def _finish(outputs: list[dict[str, Any]]) -> None:
    # Pictures were painted meanwhile; in a notebook they are base64.
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
    # Ending the process is intended; an exit in a cell is not.
    is_end = isinstance(error, KeyboardInterrupt) or (
        isinstance(error, SystemExit) and isinstance(error.code, int) and error.code > 128
    )
    # So is what it says of a package that an extra brings.
    is_end = is_end or (ours and absent_extra(error, "report") is not None)
    if is_end or os.environ.get("NETCOST_TRACEBACK"):
        raise error
    if is_refusal(error):
        raise CaptureError(str(error)) from error
    # An error in one of the project's own notebooks is a bug.
    name, message = type(error).__name__, str(error)
    said = bug(name, message) if ours else f"{name}: {message}"
    raise NotebookError(f"the notebook stopped: {said}") from error
