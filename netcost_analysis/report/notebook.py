"""How a notebook shows what it computes: prose, tables and pictures with a text for each."""

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..display.figures import figures
from ..plots.palette import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Of the page; pictures are drawn at twice its pixels.
_WIDTH_INCHES = 10.0
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def say(*html: str | None) -> None:
    """Show HTML, for instance what the functions of story return; nothing for None."""
    from IPython.display import HTML, display

    text = "".join(part for part in html if part)
    if text:
        display(HTML(_shown(text)))  # type: ignore[no-untyped-call]


def _shown(text: str) -> str:
    # Names come from strangers, and HTML knows no control characters.
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def table(
    frame: "pd.DataFrame",
    start_ns: int | None = None,
    rows: int | None = None,
    names: Mapping[str, str] | None = None,
) -> None:
    """Show a frame with units: durations, shares in percent, moments in seconds.

    Units follow from the columns' names (_ns, _share, _per_s). start_ns: what moments count from.
    rows: at most so many. names: headings for columns whose name will not do.
    """
    shown = figures(frame, start_ns, rows, names).html()
    more = len(frame) - len(frame[:rows])
    say(shown, f"<p>{more:,} more.</p>" if more else None)


@contextmanager
def attempt() -> Iterator[None]:
    """For a `with` block whose question a capture may be unable to answer: then says why not.

    What the block raises of CaptureError ends it, and the notebook goes on. Names that only the
    block sets are not there then.
    """
    try:
        yield
    except CaptureError as error:
        say(f"<p class='missing'>{escape(str(error))}.</p>")


@contextmanager
def picture(alt: str, height: float, **layout: Any) -> Iterator[tuple["Figure", Any]]:
    """A figure of the page's width, for a `with` block that draws on it; shown at its end.

    alt: what it shows, for readers who do not see it. height: inches. layout: as subplots takes it.
    Yields the figure and its axes.
    """
    import matplotlib.pyplot as plt
    from IPython.display import display
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    set_matplotlib_formats("retina")  # type: ignore[no-untyped-call]
    with style(), warnings.catch_warnings():
        # A task may have a name that the font has no letters for.
        warnings.filterwarnings("ignore", message="Glyph")
        figure, axes = plt.subplots(figsize=(_WIDTH_INCHES, height), **layout)
        try:
            yield figure, axes
            display(figure, metadata={"image/png": {"alt": _shown(alt)}})  # type: ignore[no-untyped-call]
        finally:
            plt.close(figure)
