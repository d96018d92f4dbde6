"""Every question by name and topic; a topic is imported when one of its questions is asked."""

from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from ..accessors import load
from .question import Question

if TYPE_CHECKING:
    import pandas as pd

# In reading order, with their headings.
TOPICS = {
    "completeness": "completeness",
    "stolen_time": "stolen time",
    "batches": "softirqs and batches",
    "processes": "processes",
    "migration": "migrations",
    "devices": "devices",
    "accounting": "accounting",
    "functions": "functions and components",
    "tracing_overhead": "tracing overhead",
    "remedies": "what would give it back",
    "comparison": "comparisons",
    "sweep": "sweeps",
    "fleet": "fleets",
    "counters": "the processor's counters",
    "energy": "energy",
}


@cache
def questions() -> dict[str, Question[Any]]:
    """Every question, by name: topics in reading order, in each by name."""
    found: dict[str, Question[Any]] = {}
    for topic in TOPICS:
        found |= questions_of(topic)
    return found


@cache
def questions_of(topic: str) -> dict[str, Question[Any]]:
    """The questions of a topic; importing all topics takes longer than many an answer."""
    home = load(f"questions.{topic}")
    here = [one for one in vars(home).values() if isinstance(one, Question)]
    return {one.name: one for one in sorted(here, key=lambda one: one.name)}


def listed() -> "pd.DataFrame":
    """A row per question: topic, question, answers (what it says)."""
    import pandas as pd

    found = questions().values()
    rows = [(one.topic, one.name, one.summary) for one in found]
    return pd.DataFrame(rows, columns=["topic", "question", "answers"])


def no_question(name: str, topic: str | None = None) -> str:
    """The line about an unknown question, with the nearest names."""
    known = [one.name for one in questions().values() if topic in (None, one.topic)]
    near = get_close_matches(name, known, n=3) or known[:5]
    return f"no question {name!r}; near it: {', '.join(near)} (netcost ask --list has all)"
