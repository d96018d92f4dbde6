# netcost functions: to which part of the kernel's work the CPUs' time went, and in which functions.

import sys
from typing import TYPE_CHECKING, Any

import click

from ..display.tables import Table, share_between
from ..units import absent, printable, share
from .options import Part, capture_arguments, json_option, opened, print_json, window_options
from .sampled import names_options, wants_user
from .table import by_importance, left_out, say, show, wide_option

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..questions.samples.component_sums import Row

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
        _unclassified(capture, event, rules, wide, as_json)
        return
    from ..display.templates import one_line
    from ..questions.samples.component_sums import (
        component_summary,
        component_sums,
        function_sums,
        grouped_samples,
    )
    from ..questions.samples.sampled import Asked, sampled

    window = part.timeline(capture)
    cpu = part.cpus[0] if part.cpus else None
    asked = Asked(cpu, event, window.start_s, window.end_s, rules)
    source, with_users = sampled(capture), wants_user(user)
    found = component_sums(grouped_samples(source, asked))
    rows = function_sums(grouped_samples(source, asked, with_users), with_users)
    if as_json:
        tables = {name: found.pop(name) for name in ("components", "interrupts_off")}
        print_json(_plain(found | tables | {"functions": rows}))
        return
    say(component_summary(found, one_line, one_line))
    print()
    _show(found["components"], wide)
    _show(found["interrupts_off"], wide, "What interrupts were off in")
    _show(rows, wide, "The largest functions")


def _unclassified(
    capture: "Capture", event: str | None, rules: str | None, wide: bool, as_json: bool
) -> None:
    from ..display.export import rows
    from ..display.templates import as_text

    answer = capture.ask.functions.unclassified(event=event, rules=rules)
    tables = {name: rows(frame) for name, frame in answer.tables.items()}
    if as_json:
        names = ("kernel_samples", "unclassified_samples")
        print_json({name: answer[name] for name in names} | tables)
        return
    say("\n".join(map(printable, as_text(answer.words).split("\n"))))
    _show(tables["unclassified"], wide, "Functions that no rule names")
    _show(tables["claimed_twice"], wide, "Functions that rules of several components name")


def _show(rows: "list[Row]", wide: bool, title: str = "") -> None:
    # One with a title is long, or there are no rows of it.
    if title and not rows:
        return
    if title:
        print(f"\n{title}\n")
    cut = bool(title) and sys.stdout.isatty() and len(rows) > _ROWS
    shown = rows[:_ROWS] if cut else rows
    names = {
        name: head
        for name, head in _COLUMNS.items()
        if any(name in row and (name != "dso" or not absent(row[name])) for row in rows)
    }
    table = Table(
        list(names.values()),
        [[_cell(row, name) for name in names] for row in shown],
        left={place for place, head in enumerate(names.values()) if head not in _RIGHT},
    )
    heads = table.header
    missing = show(table, by_importance(table, [head for head in heads if head != "module"]), wide)
    said = f"the first {_ROWS} of {len(rows):,} rows: a pipe or --json gets all" if cut else ""
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


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return None if absent(value) else value
