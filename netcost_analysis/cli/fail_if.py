# --fail-if: conditions on figures, and how a command ends by them.

import sys
from collections.abc import Iterable

import click

from ..questions.thresholds import Condition, Threshold, parsed
from ..units import printable
from .options import Decorator, together

FAILED, UNJUDGED = 3, 4
__all__ = ["Condition", "Threshold", "conclude", "condition_options", "parsed"]


def condition_options(help_text: str) -> Decorator:
    """--fail-if, and --unjudged, which conclude takes."""
    return together(
        click.option(
            *("--fail-if", "conditions"),
            multiple=True,
            metavar="CONDITION",
            callback=lambda _, __, given: tuple(map(parsed, given)),
            help=help_text,
        ),
        click.option(
            "--unjudged",
            type=click.Choice(["fail", "pass"]),
            default="fail",
            show_default=True,
            help="What a condition that cannot be judged does: exit with 4, or pass.",
        ),
    )


def conclude(judged: Iterable[Condition], unjudged: str) -> None:
    """Say on standard error what was judged. Exit with 3 if one failed, with 4 if one was not."""
    verdicts = set()
    for one in judged:
        why = printable(one.why_not)
        why += f"; {one.repeats} repeats a side would tell" if one.repeats else ""
        text = ": ".join(part for part in (printable(one.condition), one.said, why) if part)
        said = "not judged" if one.verdict == "unjudged" else one.verdict
        print(f"netcost: {said}: {text}", file=sys.stderr)
        verdicts.add(one.verdict)
    if "failed" in verdicts:
        click.get_current_context().exit(FAILED)
    if "unjudged" in verdicts and unjudged == "fail":
        click.get_current_context().exit(UNJUDGED)
