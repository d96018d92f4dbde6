# --fail-if: conditions on figures, and the exit status that they give a command.

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from ..units import printable
from .options import Decorator, together

if TYPE_CHECKING:
    from ..questions.thresholds import Condition, Threshold

FAILED, UNJUDGED = 3, 4


def condition_options(help_text: str) -> Decorator:
    """--fail-if and --unjudged, whose values conclude() takes."""
    return together(
        click.option(
            *("--fail-if", "conditions"),
            multiple=True,
            metavar="CONDITION",
            callback=_thresholds,
            help=help_text,
        ),
        click.option(
            "--unjudged",
            type=click.Choice(["fail", "pass"]),
            default="fail",
            show_default=True,
            help="What to do if a condition cannot be judged: exit with 4, or pass.",
        ),
    )


def _thresholds(
    _: click.Context, __: click.Parameter, given: tuple[str, ...]
) -> "tuple[Threshold, ...]":
    if not given:
        return ()
    from ..questions.thresholds import parsed

    return tuple(map(parsed, given))


def conclude(judged: "Iterable[Condition]", unjudged: str) -> None:
    """Print verdicts on stderr. Exit with 3 if a condition failed, 4 if one cannot be judged."""
    verdicts = set()
    for result in judged:
        why = printable(result.why_not)
        least = "at least " if result.is_least else ""
        why += f"; {least}{result.repeats} repeats a side would decide it" if result.repeats else ""
        text = ": ".join(part for part in (printable(result.condition), result.said, why) if part)
        verdict = "not judged" if result.verdict == "unjudged" else result.verdict
        print(f"netcost: {verdict}: {text}", file=sys.stderr)
        verdicts.add(result.verdict)
    if "failed" in verdicts:
        click.get_current_context().exit(FAILED)
    if "unjudged" in verdicts and unjudged == "fail":
        click.get_current_context().exit(UNJUDGED)
