# netcost functions: to which part of the kernel's work the CPUs' time went, and in which functions.

import sys
from typing import TYPE_CHECKING, Any

import click

from .main import capture_arguments, json_option, opened, print_json, window_options
from .sampled import names_options, wants_user
from .table import by_importance, left_out, say, show, wide_option

if TYPE_CHECKING:
    import pandas as pd

    from ..capture.capture import Capture
    from ..questions.answer import Answer

_ROWS = 20
# In this order, on a terminal as many as fit it.
_COLUMNS = {
    "function": "function",
    "component": "component",
    "interrupts_off_in": "interrupts off in",
    "busy_share": "share",
    "kernel_share": "share",
    "busy_share_low": "95 % interval",
    "samples": "samples",
    "module": "module",
    "dso": "file",
    "deciding_functions": "most of it in",
    "further_components": "also in",
    "call_path": "call path",
}
_RIGHT = {"share", "95 % interval", "samples"}


@click.command("functions", short_help="Show in which functions and parts of the kernel time went.")
@capture_arguments
@click.option(
    "--event", metavar="NAME", help="This sampled event; cycles or the timer unless given."
)
@click.option(
    "--rules",
    type=click.Path(),
    metavar="FILE",
    help="Rules of components that count before those of netcost.",
)
@click.option(
    "--unclassified",
    is_flag=True,
    help="Show which functions no rule names, and which several rules do.",
)
@names_options
@wide_option
@window_options
@json_option
def command(
    path: str,
    event: str | None,
    rules: str | None,
    unclassified: bool,
    user: bool,
    wide: bool,
    start: float | None,
    end: float | None,
    cpus: tuple[int, ...],
    as_json: bool,
) -> None:
    """Show to which part of the kernel's work samples belong, and in which functions they are.

    Shares are of the samples outside idle; their intervals are of the sampling alone.
    """
    if len(cpus) > 1:
        raise click.UsageError("--cpu: one CPU, or all")
    if unclassified and (cpus or start is not None or end is not None):
        raise click.UsageError("--unclassified is of the whole recording")
    capture = opened(path)
    if unclassified:
        _unclassified(capture, {"event": event, "rules": rules}, wide, as_json)
        return
    cpu = cpus[0] if cpus else None
    asked: dict[str, Any] = {"event": event, "rules": rules, "cpu": cpu}
    asked |= {"start_s": start, "end_s": end}
    parts, rows = (
        capture.ask.functions.components(**asked),
        capture.ask.functions.functions(**asked, user=wants_user(user)),
    )
    found = parts.result
    if as_json:
        names = ("sampled_event", "is_timed", "samples", "busy_samples", "kernel_samples")
        print_json(
            {
                **{name: getattr(found, name) for name in names},
                "unclassified_share": _number(found.unclassified_share),
                "components": _plain(found.components),
                "interrupts_off": _plain(found.interrupts_off),
                "functions": _plain(rows.frame),
            }
        )
        return
    _say_words(parts)
    print()
    _show(found.components, wide)
    if len(found.interrupts_off):
        print("\nWhat interrupts were off in\n")
        _show(found.interrupts_off, wide, _ROWS)
    if len(rows.frame):
        print("\nThe largest functions\n")
        _show(rows.frame, wide, _ROWS)


def _unclassified(capture: "Capture", asked: dict[str, Any], wide: bool, as_json: bool) -> None:
    answer = capture.ask.functions.unclassified(**asked)
    found = answer.result
    if as_json:
        print_json(
            {
                "kernel_samples": found.kernel_samples,
                "unclassified_samples": found.unclassified_samples,
                "unclassified": _plain(found.unclassified),
                "claimed_twice": _plain(found.claimed_twice),
            }
        )
        return
    _say_words(answer)
    if len(found.unclassified):
        print("\nFunctions that no rule names\n")
        _show(found.unclassified, wide, _ROWS)
    if len(found.claimed_twice):
        print("\nFunctions that rules of several components name\n")
        _show(found.claimed_twice, wide, _ROWS)


def _say_words(answer: "Answer[Any]") -> None:
    from ..display.templates import as_text
    from ..units import printable

    say("\n".join(map(printable, as_text(answer.words).split("\n"))))


def _show(frame: "pd.DataFrame", wide: bool, most: int | None = None) -> None:
    from ..display.tables import Table

    cut = most is not None and sys.stdout.isatty() and len(frame) > most
    shown = frame[:most] if cut else frame
    names = {
        name: head
        for name, head in _COLUMNS.items()
        if name in frame and (name != "dso" or frame[name].notna().any())
    }
    columns = {head: _cells(shown, name) for name, head in names.items()}
    table = Table(
        list(columns),
        [list(row) for row in zip(*columns.values(), strict=True)],
        left={place for place, head in enumerate(columns) if head not in _RIGHT},
    )
    missing = show(
        table, by_importance(table, [head for head in columns if head != "module"]), wide
    )
    rows = f"the first {most} of {len(frame):,} rows: a pipe or --json gets all" if cut else ""
    left_out(missing, len(columns), rows, names=False)


def _cells(frame: "pd.DataFrame", name: str) -> list[str]:
    from ..display.tables import share_between
    from ..units import absent, printable, share

    if name.endswith("_low"):
        # Both ends in one column.
        ends = zip(frame[name], frame[name.replace("_low", "_high")], strict=True)
        return ["" if absent(low) else share_between(low, high) for low, high in ends]
    if name.endswith("_share"):
        return [share(value) for value in frame[name]]
    if name == "samples":
        return [f"{value:,}" for value in frame[name]]
    return ["" if absent(value) else printable(value) for value in frame[name]]


def _plain(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    from ..display.export import rows

    return rows(frame)


def _number(value: float) -> float | None:
    return None if value != value else value
