"""The timeline in JupyterLab: Timeline.view(), and Answer.view() for a row of an answer."""

from typing import TYPE_CHECKING

from ..answers.pictures import place
from ..errors import AbsentError, ArgumentError

if TYPE_CHECKING:
    from ..answers.answer import Answer
    from ..timeline.timeline import Timeline
    from .widget import TimelineWidget


def view(timeline: "Timeline") -> "TimelineWidget":
    """Show the timeline in JupyterLab, to zoom: lanes of who had each CPU; docs/view.md.

    Returns
    -------
    TimelineWidget
        The widget. ``capture.timeline(*widget.selected)`` is the timeline of its selection.

    Raises
    ------
    AbsentError
        If anywidget is not installed: extra `lab` brings it.
    CaptureError
        If CPU time cannot be assigned to owners.
    """
    try:
        from .widget import TimelineWidget
    except ImportError as error:
        if error.name not in ("anywidget", "traitlets"):
            raise
        raise AbsentError(
            "a timeline in a notebook needs anywidget: pip install 'netcost-analysis[lab]'; "
            "netcost view PATH shows it in a browser"
        ) from None
    return TimelineWidget(timeline)


def view_row(answer: "Answer", row: int = 0) -> "TimelineWidget":
    """Show the time of a row of frame in JupyterLab: ``episodes.view(3)``.

    Parameters
    ----------
    row : int
        The row's number, from 0.

    Returns
    -------
    TimelineWidget
        As from Timeline.view().

    Raises
    ------
    ArgumentError
        If there is no such row, or rows have no time.
    AbsentError
        If anywidget is not installed.
    """
    frame = answer.frame
    if not 0 <= row < len(frame):
        raise ArgumentError(f"no row {row}: the answer has {len(frame)} rows, counted from 0")
    stretch = place(frame.iloc[row].to_dict())
    if stretch is None:
        raise ArgumentError(f"rows of {answer.question.name} have no time to show")
    begin, end, cpu = stretch
    timeline = answer.timeline
    origin = int(timeline.summary["start_ns"])
    shown = view(timeline)
    shown.go(begin - origin, end - origin, cpu)
    return shown
