# netcost view: a timeline in a browser, a file or the terminal.

import os
import shutil
import sys
from typing import TYPE_CHECKING

import click

from ..units import printable
from .options import capture_arguments, flag, opened, option, output_option, part, window_options
from .table import say

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline
    from ..view.text import Line

# The width if stdout is a pipe.
_WIDTH = 100
_LEAST, _MOST = 50, 10_000


@click.command("view", short_help="Show who had each CPU when, in a browser or in the terminal.")
@capture_arguments
@output_option(
    *(".html", ".htm"),
    help=(
        "Write one HTML file below 5 MB that needs nothing else: shares over the whole window, and "
        "the longest episodes in full detail."
    ),
)
@option(
    "--port",
    "N",
    "Port on 127.0.0.1, to forward by ssh. Default: a free one.",
    type=click.IntRange(0, 65535),
)
@flag("--no-browser", "Print the address and do not open a browser.")
@flag("--text", "Draw lanes of block characters in the terminal: for a host over ssh.", "as_text")
@option(
    "--width",
    "N",
    "Characters per line of --text. Default: the terminal's width, 100 in a pipe.",
    type=click.IntRange(_LEAST, _MOST),
)
@window_options
def command(
    path: str,
    output: str | None,
    port: int | None,
    no_browser: bool,
    as_text: bool,
    width: int | None,
) -> None:
    """Show who had each CPU when: the task, an interrupt, a softirq, NAPI polls, nobody.

    In the browser of this host, from a server that only this host reaches, under an address that
    is printed; Ctrl-C ends it. With -o as a file. With --text here, a lane for each of them on each
    CPU: a character is a bin of time, its height the share that this had of it.
    """
    served = port is not None or no_browser
    if (output is not None) + as_text + served > 1 or (width is not None and not as_text):
        raise click.UsageError(
            "choose one: -o, --text (with --width), or a server (--port, --no-browser)"
        )
    timeline = part().timeline(opened(path))
    if as_text:
        from ..view.text import lanes

        wide = width or shutil.get_terminal_size((_WIDTH, 24)).columns
        for line in lanes(timeline, max(wide, _LEAST)):
            _show(line)
        for note in timeline.notes:
            say(f"note: {printable(note)}")
    elif output is not None:
        from ..files import replacing
        from ..view.page import view_page

        text = view_page(timeline)
        with replacing(output) as draft:
            draft.write_text(text, encoding="utf-8")
        print(f"timeline in {output}")
    else:
        _serve(path, timeline, port or 0, opens=not no_browser)


def _serve(path: str, timeline: "Timeline", port: int, opens: bool) -> None:
    import webbrowser

    from ..view.serve import serve
    from ..view.tiles import Tiles

    if path == "-":
        raise click.UsageError(
            "a timeline in the browser reads the capture more than once: give it a file"
        )

    def ready(address: str) -> None:
        print(f"{address}  (Ctrl-C ends it)", flush=True)

    # Without a screen, Python would start a browser in the terminal.
    screens = ("DISPLAY", "WAYLAND_DISPLAY")
    opens = opens and (sys.platform == "darwin" or any(map(os.environ.get, screens)))
    tiles = Tiles.of_capture(timeline.capture, timeline.start_s, timeline.end_s, timeline.cpus)
    serve(tiles, port, ready=ready, open_browser=webbrowser.open if opens else None)


def _show(line: "Line") -> None:
    if line.colour is None or not sys.stdout.isatty():
        say(line.text) if line.end == 0 else print(line.text)
        return
    from rich.console import Console
    from rich.text import Text

    text = Text(line.text, no_wrap=True, overflow="ignore")
    text.stylize(line.colour, line.begin, line.end)
    # rich must not wrap the line; a narrower terminal will.
    width = len(line.text)
    Console(markup=False, highlight=False, emoji=False, width=width).print(text)
