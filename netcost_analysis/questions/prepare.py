"""One pass for what native makes of a timeline's rows, whichever questions ask."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..capture.checksum import begin
from ..errors import ArgumentError
from .groups import together
from .inputs import first_pass, fits

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline
    from .question import Question

# It reads the whole file too, and no timeline.
_HASHED = "provenance"


def prepare(timeline: "Timeline", names: Iterable[str]) -> None:
    """Compute the aggregates of questions in a pass, and in another those that depend on others.

    names: of topics and questions. With "provenance" the file of a large capture is hashed
    meanwhile, on another core.
    """
    named = list(names)
    asked = list(_named(named))
    try:
        first_pass(timeline, with_waits=True)
        if _HASHED in named and not fits(timeline):
            begin(timeline.capture)
        together(timeline, [one for each in asked for one in each.grouped])
    except CaptureError:
        # Each of them says why.
        return


def _named(names: Iterable[str]) -> "Iterator[Question[Any, Any]]":
    from .ask import TOPICS, no_question, questions, questions_of

    for name in names:
        known = questions_of(name) if name in TOPICS else questions()
        if name not in TOPICS and name not in known:
            raise ArgumentError(no_question(name))
        of = known.values() if name in TOPICS else (known[name],)
        # What is asked of an experiment, say, has no rows.
        yield from (one for one in of if "Timeline" in one.sources)
