# netcost functions and flame: the functions and kernel components of samples, as tables and as a
# flame graph.

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..display.tables import Table, share_between
from ..units import absent, printable, share
from . import options
from .table import say, show

if TYPE_CHECKING:
    from ..questions.samples.component_sums import Row
    from ..questions.samples.flame import Kind

_ROWS = 20
# In this order; a terminal shows as many as fit.
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


@click.command(
    "functions", short_help="Show which functions and parts of the kernel took the time."
)
@options.capture_arguments
@options.option("--event", "NAME", "Which sampled event. Default: cycles, else the timer.")
@options.option(
    "--rules",
    "FILE",
    "A file of rules for components; they come before netcost's own.",
    type=click.Path(),
)
@options.flag(
    "--unclassified", "Show functions that no rule names, and functions that several rules name."
)
@options.names_options
@options.wide_option
@options.window_options
@options.json_option
def command(
    path: str, event: str | None, rules: str | None, unclassified: bool, as_json: bool
) -> None:
    """Show to which part of the kernel's work samples belong, and in which functions they are.

    Shares are of the samples outside idle; their intervals are of the sampling alone.
    """
    asked = options.part()
    if len(asked.cpus) > 1:
        raise click.UsageError("--cpu takes one CPU here")
    if unclassified and asked.is_given:
        raise click.UsageError("--unclassified covers the whole recording")
    capture = options.opened(path)
    if unclassified:
        from ..display.export import rows as plain_rows
        from ..display.templates import as_text

        answer = capture.ask.functions.unclassified(event=event, rules=rules)
        tables = {name: plain_rows(frame) for name, frame in answer.tables.items()}
        if as_json:
            figures = ("kernel_samples", "unclassified_samples")
            options.print_json({name: answer[name] for name in figures} | tables)
            return
        say("\n".join(map(printable, as_text(answer.words).split("\n"))))
        _show(tables["unclassified"], "Functions that no rule names")
        _show(tables["claimed_twice"], "Functions that rules of several components name")
        return
    from ..display.templates import one_line
    from ..questions.samples.component_sums import (
        component_summary,
        component_sums,
        function_sums,
        grouped_samples,
    )
    from ..questions.samples.sampled import Asked, sampled

    window = asked.timeline(capture)
    cpu = asked.cpus[0] if asked.cpus else None
    chosen = Asked(cpu, event, window.start_s, window.end_s, rules)
    source, with_users = sampled(capture), options.wants_user()
    sums = component_sums(grouped_samples(source, chosen))
    rows = function_sums(grouped_samples(source, chosen, with_users), with_users)
    if as_json:
        tables = {name: sums.pop(name) for name in ("components", "interrupts_off")}
        options.print_json(sums | tables | {"functions": rows})
        return
    say(component_summary(sums, one_line, one_line))
    print()
    _show(sums["components"])
    _show(sums["interrupts_off"], "Where interrupts were off")
    _show(rows, "The largest functions")


def _show(rows: "list[Row]", title: str = "") -> None:
    # Tables with a title may be long, or empty.
    if title and not rows:
        return
    if title:
        print(f"\n{title}\n")
    cut = bool(title) and sys.stdout.isatty() and len(rows) > _ROWS
    heads = {
        name: head
        for name, head in _COLUMNS.items()
        if any(name in row and (name != "dso" or not absent(row[name])) for row in rows)
    }
    table = Table(
        list(heads.values()),
        [[_cell(row, name) for name in heads] for row in rows[: _ROWS if cut else None]],
        left={place for place, head in enumerate(heads.values()) if head not in _RIGHT},
    )
    cut_note = f"the first {_ROWS} of {len(rows):,} rows: a pipe or --json has all" if cut else ""
    show(table, [head for head in table.header if head != "module"], cut_note)


def _cell(row: "Row", name: str) -> str:
    value = row[name]
    if absent(value):
        return ""
    if name.endswith("_low"):
        # One column has both ends.
        return share_between(value, row[name.replace("_low", "_high")])
    if name.endswith("_share"):
        return share(value)
    return f"{value:,}" if name == "samples" else printable(value)


@click.command("flame", short_help="Draw a flame graph of samples: interrupts by their victims.")
@options.capture_arguments
@options.output_option(
    *(".svg", ".folded", ".speedscope.json"),
    required=True,
    help="FILE.svg, FILE.folded (text, a line a path), or FILE.speedscope.json.",
)
@click.option(
    "--kind",
    type=click.Choice(["stolen", "all"]),
    default="stolen",
    help=(
        "stolen: samples in interrupts, under the task that they interrupted. all: every sample. "
        "Default: stolen."
    ),
)
@options.option("--event", "E", "Which sampled event. Default: cycles, else the timer.")
@options.option("--cpu", "N", "Only this CPU.", type=options.COUNT)
@options.option("--base", "PATH", "Compare with this capture: colours show changes.")
@options.names_options
def flame(
    path: str, output: str, kind: "Kind", event: str | None, cpu: int | None, base: str | None
) -> None:
    """Draw a flame graph of a capture's samples.

    netcost-record --profile functions takes them, and perf record -a -g --kcore.

    Its frames are as wide as the time of samples in them and in what they called. With --base they
    have the colour of how this changed per packet, or per second of busy CPU.
    """
    from ..files import replacing
    from ..questions.samples.flame import graph, paths
    from ..questions.samples.flame_file import written

    captures, sides = [], []
    for capture_path in (base, path) if base is not None else (path,):
        captures.append(options.opened(capture_path))
        sides.append(
            paths(captures[-1], kind, event, cpu, idle=base is None, user=options.wants_user())
        )
        event = sides[0].profile.event
    text = written(graph(sides), sides, captures, Path(output).suffixes[-1], kind, cpu)
    with replacing(output) as draft, draft.open("w", encoding="utf-8") as file:
        file.writelines(text)
    samples = " and ".join(f"{side.samples:,}" for side in sides)
    print(f"flame graph of {samples} samples of {event} in {output}")
