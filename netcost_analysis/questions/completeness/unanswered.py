"""What this capture cannot answer, and what would record it."""

from typing import TYPE_CHECKING, NamedTuple

from ...capture.requires import events_of, profile_of, unmet
from ..question import question

if TYPE_CHECKING:
    import pandas as pd

    from ...timeline.timeline import Timeline
    from ..answer import Answer


@question(main_columns=("question", "answers", "why"), rows=40)
def unanswered(timeline: "Timeline") -> "pd.DataFrame":
    """Which questions this capture cannot answer, and what is missing for each.

    Parameters
    ----------
    timeline : Timeline
        The window and the CPUs in question.

    Returns
    -------
    pandas.DataFrame
        A row per question: topic, question, answers (what it would say), missing ("events",
        "bundle", "victim", "files" or "recording"), why (the same in a sentence).

    Notes
    -----
    Source: what each question declares.
    """
    frame = timeline.ask.table
    return frame[(frame["missing"] != "") & ~frame["of_experiment"]].drop(columns="of_experiment")


class Unanswered(NamedTuple):
    """What would answer more.

    questions: how many are unanswered. events: the tracepoints that they lack. profile: the
    cheapest of netcost-record that has them all, None where none has. bundle: whether some want
    what netcost-record keeps beside a trace.
    """

    questions: int
    events: tuple[str, ...]
    profile: str | None
    bundle: bool


@unanswered.figures
def _figures(answer: "Answer[pd.DataFrame]") -> Unanswered:
    from ..ask import questions

    names = answer.frame["question"]
    asked = [one for name, one in questions().items() if name in set(names)]
    needed = dict.fromkeys(group for one in asked for group in one.groups)
    missing = unmet(answer.capture, tuple(needed))
    wants_bundle = any("Bundle" in one.sources for one in asked) and answer.bundle is None
    return Unanswered(len(names), events_of(missing), profile_of(missing), wants_bundle)
