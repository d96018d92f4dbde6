"""Every question by name and topic. A topic is imported when one of its questions is asked."""

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
    """Every question by name, sorted by topic in reading order, then by name."""
    by_name: dict[str, Question[Any]] = {}
    for topic in TOPICS:
        by_name |= questions_of(topic)
    return by_name


@cache
def questions_of(topic: str) -> dict[str, Question[Any]]:
    """The questions of one topic: importing all topics takes longer than many answers."""
    home = load(f"questions.{topic}")
    here = [item for item in vars(home).values() if isinstance(item, Question)]
    return {item.name: item for item in sorted(here, key=lambda item: item.name)}


def listed() -> "pd.DataFrame":
    """A row per question: topic, question, answers (its summary)."""
    import pandas as pd

    rows = [(asked.topic, asked.name, asked.summary) for asked in questions().values()]
    return pd.DataFrame(rows, columns=["topic", "question", "answers"])


def no_question(name: str, topic: str | None = None) -> str:
    """The message about an unknown question, with the nearest names."""
    known = [question.name for question in questions().values() if topic in (None, question.topic)]
    near = get_close_matches(name, known, n=3) or known[:5]
    return f"no question {name!r}; similar: {', '.join(near)} (netcost ask --list has all)"
