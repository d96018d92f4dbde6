"""One pass for the groups of several questions, and one over a large recording for their folds.

```text
   question A  --> fold 1, not known: noted, Later   \\
   question B  --> fold 2, not known: noted, Later    > together(fold 1, fold 2): one pass
   question A again --> fold 1 is known --> answer   /
```
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..capture.checksum import begin
from ..errors import ArgumentError
from . import groups
from .folds import Asked, Fold, Later, noting, together
from .inputs import fits

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline
    from .ask import Ask
    from .question import Question

# A question that will read it later goes first: then one pass through it does for all.
_LARGEST = "segments"
# It reads the whole file too, and no timeline.
_HASHED = "provenance"


def prepare(ask: "Ask", timeline: "Timeline", names: Iterable[str]) -> None:
    """Compute the groups of questions, and what they fold of a timeline that does not fit.

    names: of topics and questions. Each is asked until it wants a fold that nobody has computed;
    what all of them want is one pass, and so on until every one has its answer. The states of one
    pass are in memory together. With "provenance" the file is hashed meanwhile, on another core.
    """
    named = list(names)
    waiting = list(_named(named))
    try:
        groups.together(timeline, [one for each in waiting for one in each.grouped])
        if fits(timeline):
            return
    except CaptureError:
        # Each of them says why.
        return
    if _HASHED in named:
        begin(timeline.capture)
    computed: set[Fold[Any]] = set()
    while waiting:
        wanted: list[Asked] = []
        first: list[Asked] = []
        still = []
        for one in waiting:
            with noting(timeline) as noted:
                try:
                    answer = ask(one.name)
                    # What is computed of its rows, too.
                    _ = answer.refusal or (answer.parts, answer.figures)
                except Later:
                    still.append(one)
                wanted += [new for new in noted if new not in wanted]
                read = {table for new in noted for table in new.fold.tables}
                if noted and _LARGEST in one.tables and _LARGEST not in read:
                    first += [new for new in noted if new not in first]
        if not {one.fold for one in first} <= computed:
            wanted = first
        folds = {one.fold for one in wanted}
        if folds <= computed and len(still) == len(waiting):
            # One that is asked for otherwise each time: it is left to its question.
            return
        if wanted:
            together(timeline, wanted)
        computed |= folds
        waiting = still


def _named(names: Iterable[str]) -> "Iterator[Question[Any, Any]]":
    from .ask import TOPICS, no_question, questions, questions_of

    for name in names:
        known = questions_of(name) if name in TOPICS else questions()
        if name not in TOPICS and name not in known:
            raise ArgumentError(no_question(name))
        of = known.values() if name in TOPICS else (known[name],)
        # What is asked of an experiment, say, has no rows.
        yield from (one for one in of if "Timeline" in one.sources)
