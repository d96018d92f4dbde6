"""The one-line message a user sees for an exception; it tells a refusal from a bug."""

import re
from collections.abc import Sequence

from ._native import CaptureError
from .units import printable
from .unpacked import named


class ArgumentError(ValueError):
    """A wrong argument. The message is one line: what is wrong and what would be right."""


class AbsentError(ArgumentError):
    """An argument names a task, a CPU or the like that this capture does not have."""


class LackingError(CaptureError):
    """The capture cannot answer a question; lacks: what is missing, in a word."""

    kind = "missing"

    def __init__(self, lacks: str, line: str) -> None:
        self.lacks = lacks
        super().__init__(line)


# The modules that only this extra of pyproject.toml installs.
EXTRAS = {
    "analysis": ("numpy", "pandas", "pyarrow", "scipy", "matplotlib", "jinja2", "markdown_it"),
    "report": ("IPython", "traitlets"),
    "fleet": ("dask", "distributed", "fsspec"),
    "lab": ("anywidget", "jupyterlab"),
}


def absent_extra(error: BaseException, command: str) -> str | None:
    """The message for a missing module that an extra installs; None for any other exception.

    command: the one that needs the module; its own extra is named if it has one.
    """
    module = error.name if isinstance(error, ModuleNotFoundError) and error.name else ""
    package = module.split(".")[0]
    extra = next((name for name, packages in EXTRAS.items() if package in packages), None)
    if extra is None:
        return None
    extra = command if command in EXTRAS else extra
    return f"{command} needs {package}: pip install 'netcost-analysis[{extra}]'"


BUG = "(a bug; NETCOST_TRACEBACK=1 shows where)"


def is_refusal(error: BaseException) -> bool:
    # A plain ValueError is a bug: netcost's refusals have their own classes.
    return isinstance(error, CaptureError | ArgumentError)


def line_of(error: BaseException) -> str:
    """One line about any exception.

    A refusal keeps its own words, an OSError names the file, and anything else is reported as a bug
    under its Python name.
    """
    if is_refusal(error):
        return _line(str(error))
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    if isinstance(error, OSError):
        return _line(
            ": ".join(str(part) for part in (error.filename, error.strerror) if part) or str(error)
        )
    return bug(type(error).__name__, str(error))


def bug(name: str, message: str) -> str:
    """The line about an unexpected exception."""
    return _line(": ".join(part for part in (name, message) if part) + f" {BUG}")


def _line(text: str) -> str:
    # The errno adds nothing to its text.
    text = re.sub(r" \(os error \d+\)$", "", text)
    return printable(" ".join(named(text).split()))


# A reader takes in this many names at a glance.
_FEW_NAMES = 10


def no_task(
    task: int | str, known: Sequence[str], near: Sequence[str] = (), where: str = ""
) -> str:
    """The message for an unknown task, with the nearest names.

    known: the tasks there are, the most important first; the first few are listed where no name is
    near. near: tasks to list instead, however dissimilar. where: the window, unless it is all.
    """
    return f"no task {task!r} in the window{where}; there are {_near(str(task), known, near[:3])}"


def no_such(what: str, wanted: object, known: Sequence[str]) -> str:
    """The message for an unknown device, CPU or the like, with the nearest names.

    known: those there are, the most important first; the first few are listed where none is near.
    """
    return f"no {what} {wanted!r}; there are {_near(str(wanted), known)}"


def _near(wanted: str, known: Sequence[str], near: Sequence[str] = ()) -> str:
    # The names nearest to the wanted one, then all the others if there are few.
    from difflib import get_close_matches

    shown = list(near or get_close_matches(wanted, known, n=3)) or list(known[:5])
    if not near and len(known) <= _FEW_NAMES:
        shown += [name for name in known if name not in shown]
    more = f" and {len(known) - len(shown):,} more" if len(known) > len(shown) else ""
    return f"{', '.join(shown) or 'none'}{more}"


def require_text(name: str, what: str) -> None:
    """Raise CaptureError for a path that is not UTF-8: native cannot open it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise CaptureError(f"{_line(name)}: this {what} is not UTF-8: rename it") from None
