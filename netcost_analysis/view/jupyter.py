"""The timeline in JupyterLab: of a timeline, and of what a row of an answer is about."""

from typing import TYPE_CHECKING

from ..answers.pictures import place
from ..errors import AbsentError, ArgumentError

if TYPE_CHECKING:
    from ..answers.answer import Answer
    from ..timeline.timeline import Timeline
    from .widget import TimelineWidget


def view(timeline: "Timeline") -> "TimelineWidget":
    """The timeline to zoom, in JupyterLab: lanes of who had each CPU; docs/view.md.

    Returns
    -------
    TimelineWidget
        A widget, whose ``selected`` is what is selected in it: capture.timeline(*selected) is
        of that.

    Raises
    ------
    AbsentError
        Where anywidget is not installed: extra `lab` brings it.
    CaptureError
        For a capture that cannot be told apart into owners.
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
    """The timeline at what a row of frame is about, in JupyterLab: ``episodes.view(3)``.

    Parameters
    ----------
    row : int
        Its number, from 0 on.

    Returns
    -------
    TimelineWidget
        As Timeline.view() makes it.

    Raises
    ------
    ArgumentError
        For a row that is not there, and where rows say no time.
    AbsentError
        Where anywidget is not installed.
    """
    frame = answer.frame
    if not 0 <= row < len(frame):
        raise ArgumentError(f"no row {row}: the answer has {len(frame)}, from 0 on")
    found = place(frame.iloc[row].to_dict())
    if found is None:
        raise ArgumentError(f"rows of {answer.question.name} have no time to look at")
    begin, end, cpu = found
    timeline = answer.timeline
    origin = int(timeline.summary["start_ns"])
    shown = view(timeline)
    shown.go(begin - origin, end - origin, cpu)
    return shown
