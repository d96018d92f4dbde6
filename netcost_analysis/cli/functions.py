# netcost functions: to which part of the kernel's work the CPUs' time went, and in which functions.

import sys
from typing import TYPE_CHECKING, Any

import click

from ..display.tables import Table, share_between
from ..units import absent, printable, share
from .main import Part, capture_arguments, json_option, opened, print_json, window_options
from .sampled import names_options, wants_user
from .table import by_importance, left_out, say, show, wide_option

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..questions.samples.summed import Row

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
    part: Part,
    as_json: bool,
) -> None:
    """Show to which part of the kernel's work samples belong, and in which functions they are.

    Shares are of the samples outside idle; their intervals are of the sampling alone.
    """
    if len(part.cpus) > 1:
        raise click.UsageError("--cpu: one CPU, or all")
    if unclassified and part.is_given:
        raise click.UsageError("--unclassified is of the whole recording")
    capture = opened(path)
    if unclassified:
        _unclassified(capture, {"event": event, "rules": rules}, wide, as_json)
        return
    from ..display.templates import one_line
    from ..questions.samples.part import Asked
    from ..questions.samples.parts import parts
    from ..questions.samples.sampled import sampled
    from ..questions.samples.summed import functions_of, summed
    from ..questions.samples.words import component_figures, component_words

    cpu = part.cpus[0] if part.cpus else None
    window = part.timeline(capture)
    asked = Asked(cpu, event, window.start_s, window.end_s, rules)
    source = sampled(capture)
    found = summed(parts(source, asked))
    with_users = wants_user(user)
    rows = functions_of(parts(source, asked, with_users), with_users)
    if as_json:
        names = ("sampled_event", "is_timed", "samples", "busy_samples", "kernel_samples")
        print_json(
            {
                **{name: getattr(found, name) for name in names},
                "unclassified_share": _plain(found.unclassified_share),
                "components": _listed(found.components),
                "interrupts_off": _listed(found.interrupts_off),
                "functions": _listed(rows),
            }
        )
        return
    say(component_words(component_figures(found), one_line, one_line))
    print()
    _show(found.components, wide)
    if found.interrupts_off:
        print("\nWhat interrupts were off in\n")
        _show(found.interrupts_off, wide, _ROWS)
    if rows:
        print("\nThe largest functions\n")
        _show(rows, wide, _ROWS)


def _unclassified(capture: "Capture", asked: dict[str, Any], wide: bool, as_json: bool) -> None:
    from ..display.export import rows
    from ..display.templates import as_text

    answer = capture.ask.functions.unclassified(**asked)
    found = answer.result
    unclassified, twice = rows(found.unclassified), rows(found.claimed_twice)
    if as_json:
        print_json(
            {
                "kernel_samples": found.kernel_samples,
                "unclassified_samples": found.unclassified_samples,
                "unclassified": unclassified,
                "claimed_twice": twice,
            }
        )
        return
    say("\n".join(map(printable, as_text(answer.words).split("\n"))))
    if unclassified:
        print("\nFunctions that no rule names\n")
        _show(unclassified, wide, _ROWS)
    if twice:
        print("\nFunctions that rules of several components name\n")
        _show(twice, wide, _ROWS)


def _show(rows: "list[Row]", wide: bool, most: int | None = None) -> None:
    cut = most is not None and sys.stdout.isatty() and len(rows) > most
    shown = rows[:most] if cut else rows
    first = rows[0] if rows else {}
    names = {
        name: head
        for name, head in _COLUMNS.items()
        if name in first and (name != "dso" or not all(absent(row[name]) for row in rows))
    }
    table = Table(
        list(names.values()),
        [[_cell(row, name) for name in names] for row in shown],
        left={place for place, head in enumerate(names.values()) if head not in _RIGHT},
    )
    heads = table.header
    missing = show(table, by_importance(table, [head for head in heads if head != "module"]), wide)
    said = f"the first {most} of {len(rows):,} rows: a pipe or --json gets all" if cut else ""
    left_out(missing, len(heads), said, names=False)


def _cell(row: "Row", name: str) -> str:
    value = row[name]
    if absent(value):
        return ""
    if name.endswith("_low"):
        # Both ends in one column.
        return share_between(value, row[name.replace("_low", "_high")])
    if name.endswith("_share"):
        return share(value)
    return f"{value:,}" if name == "samples" else printable(value)


def _listed(rows: "list[Row]") -> "list[Row]":
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    return None if absent(value) else value
