# What a rule of comparability returns, and its sentence.

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...display.templates import as_text, render

# The gravest first: no verdict at all, one that may be wrong, worth knowing.
SEVERITIES = ("refused", "warning", "note")
_SENTENCES = Path(__file__).with_name("comparability_why.md")


class Finding(NamedTuple):
    # side: "base", "new", or "" for both. of_run: the name of one run, or "". found, limit: the
    # figure that the rule rests on, and the limit that it exceeds; NaN where there is none.
    # figures: what the sentence needs, by the names used in comparability_why.md.
    code: str
    severity: str
    side: str = ""
    of_run: str = ""
    found: float = float("nan")
    limit: float = float("nan")
    figures: Mapping[str, Any] = {}

    @property
    def why(self) -> str:
        # A sentence without its full stop, as plain text.
        known = {**self._asdict(), **self.figures}
        return as_text(render(_SENTENCES, known)).strip()


def finding(
    code: str,
    severity: str,
    side: str = "",
    of_run: str = "",
    found: float = float("nan"),
    limit: float = float("nan"),
    **figures: Any,
) -> Finding:
    return Finding(code, severity, side, of_run, found, limit, figures)


def recorded(comparison: Comparison) -> Iterator[tuple[str, Run]]:
    # Each run that has a recording, with its side.
    return ((side, run) for side, runs in comparison.sides.items() for run in runs.recorded)


def unlike(
    comparison: Comparison,
    code: str,
    severity: str,
    fact: Callable[[Run], Any],
    figure: str = "values",
) -> Iterator[Finding]:
    # A finding where this fact differs between recorded runs. None is unknown, and differs from
    # nothing.
    values = {
        side: list(dict.fromkeys(one for one in map(fact, runs.recorded) if one is not None))
        for side, runs in comparison.sides.items()
    }
    if len({one for some in values.values() for one in some}) > 1:
        yield Finding(code, severity, figures={figure: values})
