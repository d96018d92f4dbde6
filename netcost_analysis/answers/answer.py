"""An answer: tables, pictures and words of one question about one capture."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..accessors import OfAnswer
from ..display.tables import figures, listed
from ..display.templates import as_html, as_text, escaped, fenced, render, without_controls
from ..schema import typed
from .form import Form
from .pictures import Pictures, Shown, places

if TYPE_CHECKING:
    import pandas as pd

    from ..capture.bundle import Bundle
    from ..capture.capture import Capture
    from ..display.tables import Table
    from ..timeline.timeline import Timeline

_NOTES = "notes"
NO_WINDOW = "about the whole capture: this question takes no window and no CPUs"


class Answer(Pictures, OfAnswer):
    """The answer to a question: ``frame``, other ``tables``, ``notes``, ``words``, ``plot()``.

    A question's function returns one: ``Answer(frame, by_cpu=other, polls=12)``.

    Parameters
    ----------
    frame : pandas.DataFrame, optional
        The table that answers the question.
    **parts : object
        Other tables and single figures, by name. ``notes`` replaces the timeline's notes. Without a
        frame, the first table is the frame.

    Attributes
    ----------
    question : Question
        The question.
    asked : Capture, Timeline, Bundle, Experiment, Comparison or Fleet
        What ``ask`` belongs to.
    sources : dict
        The question's first arguments, by the name of their type.
    options : dict
        The other arguments given.
    refusal : CaptureError or None
        Why there is no answer, or None. It is raised by everything except the display, notes and
        coverage.
    """

    asked: Any
    refusal: CaptureError | None = None

    def __init__(self, frame: "pd.DataFrame | None" = None, /, **parts: Any) -> None:
        self._given = parts if frame is None else {"": frame, **parts}
        self.sources: dict[str, Any] = {}
        self.options: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """A table or figure by name."""
        return self.parts[name]

    @property
    def timeline(self) -> "Timeline":
        """The timeline that the question covers, or all of the capture."""
        timeline: Timeline = self.sources.get("Timeline") or self.whole
        return timeline

    @property
    def whole(self) -> "Timeline":
        """The timeline that ``ask`` belongs to, or all of the capture."""
        timeline: Timeline = self.asked if "Timeline" in self._kinds else self.asked.whole
        return timeline

    @property
    def capture(self) -> "Capture":
        """The capture that the answer is about."""
        capture: Capture = self.asked.capture if "Timeline" in self._kinds else self.asked
        return capture

    @property
    def _kinds(self) -> list[str]:
        return [kind.__name__ for kind in type(self.asked).__mro__]

    @property
    def bundle(self) -> "Bundle | None":
        """The capture's bundle; None for a bare recording."""
        return self.sources.get("Bundle") or self.capture.bundle

    @property
    def start_ns(self) -> int:
        """The origin of instants when shown: the capture's start, or 0 for several captures."""
        if self.question.asked_of != "recording":
            return 0
        if self.bundle is not None and self.bundle.has_no_trace:
            return self.bundle.manifest.window.start_ns or 0
        return self.capture.start_ns

    @cached_property
    def parts(self) -> dict[str, Any]:
        """All tables and figures by name; "" is an unnamed frame."""
        if self.refusal is not None:
            raise self.refusal
        import pandas as pd

        return {
            name: typed(part) if isinstance(part, pd.DataFrame) else part
            for name, part in self._given.items()
        }

    @cached_property
    def tables(self) -> "dict[str, pd.DataFrame]":
        """The tables by name; an unnamed frame has the question's name."""
        import pandas as pd

        named = {}
        for name, part in self.parts.items():
            if isinstance(part, pd.Series):
                part = typed(part.to_frame(part.name or name))
            if isinstance(part, pd.DataFrame):
                named[name or self.question.name] = part
        return named

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """The table that answers the question, or one row of its figures if it has no table."""
        import pandas as pd

        if not self.tables:
            return typed(pd.DataFrame([self.parts]))
        return self.tables[self.question.main or next(iter(self.tables))]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the figures has to know: the answer's own notes, or the timeline's."""
        notes = self.parts.get(_NOTES) if self.refusal is None else None
        if notes is None and "Timeline" in self.sources:
            # A capture without a ledger has no such notes.
            with suppress(CaptureError):
                notes = (*self.timeline.notes, *self.timeline.lower_ends)
        elif notes is None and {"Capture", "Bundle"} & self.sources.keys() and self.bundle:
            notes = tuple(self.bundle.given)
        scope = () if self.in_window else (NO_WINDOW,)
        return tuple(dict.fromkeys((*scope, *(notes or ()))))

    @cached_property
    def words(self) -> str:
        """The answer in words, as Markdown. Names from the capture are escaped."""
        if self.refusal is not None:
            return f"> {escaped(str(self.refusal))}.\n"
        template = self.question.template
        parts = {name or "rows": _for_template(part) for name, part in self.parts.items()}
        text = render(template, parts) if template.is_file() else ""
        if not text.strip() and not len(self.frame):
            text = f"> Nothing to show: {self.question.name} has no rows here.\n"
        if self.in_window or not text:
            return text
        return f"> {NO_WINDOW[:1].upper()}{NO_WINDOW[1:]}.\n\n{text}"

    @property
    def in_window(self) -> bool:
        """Whether it covers the window and CPUs asked for; some answers cover the whole capture."""
        return "Timeline" in self.sources or "Timeline" not in self._kinds or self.asked.is_whole

    @property
    def _has_table(self) -> bool:
        return bool(self.question.rows and self.refusal is None and len(self.frame))

    @cached_property
    def _table(self) -> "Table":
        # The rows and columns that a page shows.
        frame, main = self.frame, self.question.columns
        if main:
            frame = frame[[name for name in main if name in frame.columns]]
        table = figures(frame, self.start_ns, self.question.rows, shares=self.question.shares)
        table.places = places(self.frame, len(table.rows))
        return table

    def _more(self) -> str:
        more = max(len(self.frame) - self.question.rows, 0)
        return f"{more:,} more." if more else ""

    def _table_html(self) -> str:
        if not self._has_table:
            return ""
        if self.question.table_of is not None:
            return str(self.question.table_of(self))
        more = self._more()
        return self._table.html() + (f"<p>{more}</p>" if more else "")

    def _table_plain(self) -> str:
        of = self.question.text_of
        return of(self) if of is not None and self._has_table else str(self.frame)

    def _table_markdown(self) -> str:
        if not self._has_table:
            return ""
        if self.question.text_of is not None:
            return fenced(self.question.text_of(self))
        more = self._more()
        return fenced(self._table.text()) + (f"\n\n{more}" if more else "")

    def _repr_html_(self) -> str:
        return without_controls(as_html(self.words)) + self._table_html()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for data, about in self.shown():
            display(data, raw=True, metadata=about)  # type: ignore[no-untyped-call]

    def shown(self) -> Iterator[Shown]:
        """What a notebook shows: words and evidence."""
        words = self.words
        if html := without_controls(as_html(words)):
            yield {"text/html": html, "text/markdown": words, "text/plain": as_text(words)}, {}
        yield from self.evidence()

    def evidence(self) -> Iterator[Shown]:
        """The pictures, then the table."""
        if self.refusal is not None:
            return
        yield from self._pictures()
        if html := without_controls(self._table_html()):
            text = {"text/markdown": self._table_markdown(), "text/plain": self._table_plain()}
            yield {"text/html": html, **text}, {}

    def __repr__(self) -> str:
        if self.refusal is not None:
            return f"{self.question.name}: {self.refusal}"
        words = as_text(self.words)
        return "\n\n".join(part for part in (words, self._table_plain()) if part)


def refused(refusal: CaptureError) -> Answer:
    """An answer that only says why there is none."""
    answer = Answer()
    answer.refusal = refusal
    return answer


def about(
    answer: Answer, question: Form, asked: Any, sources: dict[str, Any], options: dict[str, Any]
) -> Answer:
    """Fill in the question and what it was asked of."""
    answer.question, answer.asked = question, asked
    answer.sources, answer.options = sources, options
    return answer


def parts(result: Any) -> dict[str, Any]:
    """The named parts of a dataclass, named tuple or dict; anything else is named ""."""
    if is_dataclass(result) and not isinstance(result, type):
        # A class that makes its tables on first use lists them in part_names.
        names = getattr(result, "part_names", None) or [field.name for field in fields(result)]
        return {name: getattr(result, name) for name in names}
    if hasattr(result, "_asdict"):
        return dict(result._asdict())
    return result if isinstance(result, dict) else {"": result}


class Rows(Sequence[dict[str, Any]]):
    """A table's rows for templates, as dicts of plain scalars made on access."""

    def __init__(self, frame: "pd.DataFrame") -> None:
        self._frame = frame

    def __len__(self) -> int:
        return len(self._frame)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return listed(self._frame[at])
        return listed(self._frame.iloc[[at]])[0]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(listed(self._frame))


def _for_template(part: Any) -> Any:
    import pandas as pd

    if not isinstance(part, pd.DataFrame):
        return part
    # A row keeps the index that names it.
    return Rows(part.reset_index() if any(part.index.names) else part)
