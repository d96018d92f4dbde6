"""An answer's pictures, on a user's Axes or in a page, and the times and CPUs of its rows."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..display.templates import without_controls
from ..errors import AbsentError, ArgumentError, no_such
from ..units import absent
from .form import Form, Picture

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# An output by MIME type, with pictures as bytes or a function that returns them, and its metadata.
Shown = tuple[dict[str, Any], dict[str, Any]]
# The width of a page.
_WIDTH_INCHES = 10.0
# Whether answers show pictures.
_ARE_SHOWN = ContextVar("are_shown", default=True)
# Columns with a row's CPU, begin, and end or length. The first one present counts.
_CPU = ("cpu", "dest_cpu")
_BEGIN = ("start_ns", "entry_ns", "time_ns")
_END, _LENGTH = ("end_ns", "exit_ns"), ("wall_ns",)


class Pictures:
    """The part of Answer that draws."""

    question: Form

    @property
    def parts(self) -> dict[str, Any]:
        """All tables and figures by name."""
        raise NotImplementedError

    def plot(self, ax: "Axes | None" = None, **panel: Any) -> "Axes":
        """Draw the question's picture.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default, in a new figure with a page's width.
        **panel : object
            Which of several pictures, such as ``device="eth0"``; by default the first.

        Returns
        -------
        matplotlib.axes.Axes
            The Axes.

        Raises
        ------
        CaptureError
            If there is nothing to draw.
        ArgumentError
            For an argument that does not distinguish pictures.
        AbsentError
            For a value, such as a device, that the answer does not have.
        """
        return self._plot("", ax, panel)

    def __getattr__(self, name: str) -> Any:
        picture = name.removeprefix("plot_")
        if picture == name or picture not in self.question.pictures:
            raise AttributeError(f"an answer to {self.question.name} has no {name!r}")

        def plot(ax: "Axes | None" = None, **panel: Any) -> "Axes":
            return self._plot(picture, ax, panel)

        return plot

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(f"plot_{name}" for name in self.question.pictures if name)]

    def _plot(self, name: str, ax: "Axes | None", panel: dict[str, Any]) -> "Axes":
        _ = self.parts
        picture = self.question.pictures.get(name)
        if picture is None:
            raise CaptureError(f"{self.question.name} has no plot: its answer is a table (frame)")
        chosen = self._panel(picture, panel)
        if ax is None:
            import matplotlib.pyplot as plt

            return self._drawn(plt.figure, picture, chosen).axes[0]
        picture.draw(ax, self, **chosen)
        return ax

    def _panel(self, picture: Picture, wanted: dict[str, Any]) -> dict[str, Any]:
        # Never fall back to another panel: it would look like the answer.
        more = picture.choices(self) if wanted else ()
        known = [dict(option) for option in (*picture.panels(self), *more)]
        if not known:
            raise CaptureError(f"{self.question.name} has nothing to draw in this capture")
        for name in wanted:
            if name not in known[0]:
                names = ", ".join(known[0]) or "nothing"
                raise ArgumentError(
                    f"a picture of {self.question.name} is chosen by {names}, not by {name}"
                )
        fitting = known
        for name, value in wanted.items():
            there = list(dict.fromkeys(str(option[name]) for option in fitting))
            fitting = [option for option in fitting if option[name] == value]
            if not fitting:
                raise AbsentError(no_such(name, value, there))
        return fitting[0]

    def _drawn(
        self, make: "Callable[..., Figure]", picture: Picture, panel: dict[str, Any]
    ) -> "Figure":
        from ..plots.palette import style

        height, title = picture.height, picture.title
        height = height(self, **panel) if callable(height) else height
        title = title(self, **panel) if callable(title) else title
        with style(), _without_letters():
            figure = make(figsize=(_WIDTH_INCHES, height))
            figure.set_label(without_controls(title))
            picture.draw(figure.subplots(), self, **panel)
        return figure

    def _pictures(self) -> Iterator[Shown]:
        for picture in self.question.pictures.values() if _ARE_SHOWN.get() else ():
            for panel in picture.panels(self):
                yield self._shown(picture, dict(panel))

    def _shown(self, picture: Picture, panel: dict[str, Any]) -> Shown:
        # Import here: commands without pictures do not need this module.
        from ..plots.painting import painted

        figure = self._drawn(_paper, picture, panel)
        width, height = (round(inches * figure.dpi) for inches in figure.get_size_inches())
        with _without_letters():
            data = painted(figure)
        about = {"width": width, "height": height, "alt": figure.get_label()}
        data_of = {"image/png": data, "text/plain": figure.get_label()}
        return data_of, {"image/png": about}


@contextmanager
def without_pictures() -> Iterator[None]:
    """Make answers show words and tables alone within the block."""
    token = _ARE_SHOWN.set(False)
    try:
        yield
    finally:
        _ARE_SHOWN.reset(token)


def _paper(**size: Any) -> "Figure":
    # Not with pyplot, which takes long to import and would keep the figure.
    from matplotlib.figure import Figure

    return Figure(**size)


@contextmanager
def _without_letters() -> Iterator[None]:
    # The font may lack glyphs for a task's name.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        yield


def places(frame: "pd.DataFrame", rows: int) -> list[str]:
    """The places of the first rows in a report's timeline: "BEGIN_NS END_NS CPU", or ""."""
    if not any(name in frame.columns for name in _BEGIN):
        return []
    stretches = map(place, frame.head(rows).to_dict("records"))
    return [
        "" if stretch is None else " ".join("" if part is None else str(part) for part in stretch)
        for stretch in stretches
    ]


def place(values: Mapping[Any, Any]) -> tuple[int, int, int | None] | None:
    """A row's begin, end and CPU; None for a row without a time."""

    def first(names: tuple[str, ...]) -> int | None:
        return next((int(values[name]) for name in names if not absent(values.get(name))), None)

    begin, end, length = first(_BEGIN), first(_END), first(_LENGTH)
    if begin is None:
        return None
    return begin, begin + (length or 1) if end is None else end, first(_CPU)
