# netcost view: a timeline to look at.

import shutil
import sys
from typing import TYPE_CHECKING

import click

from ..units import printable
from .main import capture_arguments, opened, window_options
from .table import say

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline
    from ..view.text import Line

# Of a pipe.
_WIDTH = 100
_LEAST, _MOST = 50, 10_000


@click.command("view", short_help="Show who had each CPU when.")
@capture_arguments
@click.option(
    "--text",
    "as_text",
    is_flag=True,
    help="Here, as lanes of block characters: for a host over ssh.",
)
@click.option(
    "--width",
    type=click.IntRange(_LEAST, _MOST),
    metavar="N",
    help="Characters of a line of --text; the terminal's unless given, of a pipe 100.",
)
@window_options
def command(
    path: str,
    as_text: bool,
    width: int | None,
    start: float | None,
    end: float | None,
    cpus: tuple[int, ...],
) -> None:
    """Show who had each CPU when: the task, an interrupt, a softirq, NAPI polls, nobody.

    With --text a lane for each of them on each CPU. A character is a bin of time, its height the
    share that this had of it.
    """
    if not as_text:
        raise click.UsageError("say how: --text shows it here")
    timeline = opened(path).timeline(start, end, list(cpus) or None)
    _text(timeline, width)


def _text(timeline: "Timeline", width: int | None) -> None:
    from ..view.text import lanes

    wide = width or shutil.get_terminal_size((_WIDTH, 24)).columns
    for line in lanes(timeline, max(wide, _LEAST)):
        _show(line)
    for note in timeline.notes:
        say(f"note: {printable(note)}")


def _show(line: "Line") -> None:
    if line.colour is None or not sys.stdout.isatty():
        say(line.text) if line.end == 0 else print(line.text)
        return
    from rich.console import Console
    from rich.text import Text

    text = Text(line.text, no_wrap=True, overflow="ignore")
    text.stylize(line.colour, line.begin, line.end)
    # A terminal that is narrower wraps it.
    width = len(line.text)
    Console(markup=False, highlight=False, emoji=False, width=width).print(text)
