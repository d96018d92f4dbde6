# netcost flame: samples by their call paths, as a picture or for other programs.

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import COUNT, capture_arguments, opened, output_option
from .sampled import names_options, wants_user

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..questions.functions.flame import Graph, Kind, Paths

_FOLDED, _SPEEDSCOPE = ".folded", ".speedscope.json"
# The longest name in a title.
_NAME = 30


@click.command("flame", short_help="Draw a flame graph of samples: interrupts by their victims.")
@capture_arguments
@output_option(
    *(".svg", _FOLDED, _SPEEDSCOPE),
    required=True,
    help="FILE.svg, FILE.folded (text, a line a path), or FILE.speedscope.json.",
)
@click.option(
    "--kind",
    type=click.Choice(["stolen", "all"]),
    default="stolen",
    help="What is in interrupts, under the task it ran on; or every sample. stolen unless given.",
)
@click.option(
    "--event", metavar="E", help="The sampled event; cycles, else the timer, unless given."
)
@click.option("--cpu", type=COUNT, metavar="N", help="Only this CPU.")
@click.option("--base", metavar="PATH", help="Compare with this capture: colours are changes.")
@names_options
def command(
    path: str,
    output: str,
    kind: "Kind",
    event: str | None,
    cpu: int | None,
    base: str | None,
    user: bool,
) -> None:
    """Draw a flame graph of a capture's samples.

    netcost-record --profile functions takes them, and perf record -a -g --kcore.

    Its frames are as wide as the time of samples in them and in what they called. With --base they
    have the colour of how this changed per packet, or per second of busy CPU.
    """
    from ..files import replacing
    from ..questions.functions.flame import graph, paths

    captures, sides, programs = [], [], wants_user(user)
    for one in (base, path) if base is not None else (path,):
        captures.append(opened(one))
        sides.append(paths(captures[-1], kind, event, cpu, idle=base is None, user=programs))
        event = sides[0].profile.event
    text = _text(graph(sides), sides, captures, Path(output).name, kind, cpu)
    with replacing(output) as draft, draft.open("w", encoding="utf-8") as file:
        file.writelines(text)
    samples = " and ".join(f"{side.samples:,}" for side in sides)
    print(f"flame graph of {samples} samples of {event} in {output}")


def _text(
    found: "Graph",
    sides: "list[Paths]",
    captures: "list[Capture]",
    output: str,
    kind: "Kind",
    cpu: int | None,
) -> Iterable[str]:
    from ..plots.palette import printable
    from ..questions.functions.flame_formats import (
        denominators,
        folded,
        frame_changes,
        speedscope,
        svg,
        svg_of_change,
    )
    from ..units import plural, share

    if output.endswith(_FOLDED):
        return folded(found)
    unit = sides[0].profile.unit
    names = [printable(Path(capture.path).name) for capture in captures]
    if len(set(names)) < len(names):
        names = [printable(capture.path) for capture in captures]
    if output.endswith(_SPEEDSCOPE):
        return [speedscope(found, names, unit)]
    what = "Time" if unit == "ns" else unit
    what += " in interrupts by victim" if kind == "stolen" else " by call path"
    if kind == "all" and len(sides) > 1:
        what += ", without idle"
    on_cpu = "" if cpu is None else f", CPU {cpu}"
    short = [_short(name) for name in names]
    if len(sides) == 1:
        [side] = sides
        # An idle CPU has nothing to lose.
        busy = sum(side.kinds.values()) - side.kinds["idle"]
        stolen = f"stolen {share(side.kinds['stolen'] / busy)}" if busy else "all idle"
        counted = "CPU time" if unit == "ns" else unit
        told = f"{plural(side.samples, 'sample')}; of busy {counted} {stolen}"
        return [svg(found, f"{what}: {short[0]}{on_cpu}", told, unit)]
    per, units = denominators((captures[0], captures[1]), (sides[0], sides[1]), cpu)
    title = f"{what} per {per}{on_cpu}: base {short[0]}, new {short[1]}"
    told = "change from base to new of a frame with all it called:"
    return [svg_of_change(found, frame_changes(found, per, unit, units), title, told)]


def _short(name: str) -> str:
    # A title has room for so much; recordings differ in how their names end, packed or not.
    name = re.sub(r"\.netcost\.tar(?:\.\w+)?$", "", name)
    return name if len(name) <= _NAME else "…" + name[1 - _NAME :]
