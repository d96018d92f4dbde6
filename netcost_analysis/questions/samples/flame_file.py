# A flame graph as netcost flame writes it, by the ending of the file; and its titles.

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...capture.capture import Capture
from ...plots.palette import printable
from ...units import plural, share
from .flame import Graph, Kind, Paths
from .flame_formats import denominators, folded, frame_changes, speedscope, svg, svg_of_change

# The longest name in a title.
_NAME = 30


def written(
    found: Graph,
    sides: Sequence[Paths],
    captures: "Sequence[Capture]",
    ending: str,
    kind: Kind,
    cpu: int | None,
) -> Iterable[str]:
    """The text of a file; sides, captures: the base, where there is one, and the new side."""
    if ending == ".folded":
        return folded(found)
    unit = sides[0].profile.unit
    names = [printable(Path(capture.path).name) for capture in captures]
    if len(set(names)) < len(names):
        names = [printable(capture.path) for capture in captures]
    if ending == ".json":
        return [speedscope(found, names, unit)]
    what = "Time" if unit == "ns" else unit
    what += " in interrupts by victim" if kind == "stolen" else " by call path"
    on_cpu = "" if cpu is None else f", CPU {cpu}"
    if len(sides) == 1:
        [side], [name] = sides, map(_short, names)
        # An idle CPU has nothing to lose.
        busy = sum(side.kinds.values()) - side.kinds["idle"]
        stolen = f"stolen {share(side.kinds['stolen'] / busy)}" if busy else "all idle"
        counted = "CPU time" if unit == "ns" else unit
        told = f"{plural(side.samples, 'sample')}; of busy {counted} {stolen}"
        return [svg(found, f"{what}: {name}{on_cpu}", told, unit)]
    base, new = map(_short, names)
    per, units = denominators((captures[0], captures[1]), (sides[0], sides[1]), cpu)
    what += ", without idle" if kind == "all" else ""
    title = f"{what} per {per}{on_cpu}: base {base}, new {new}"
    told = "change from base to new of a frame with all it called:"
    return [svg_of_change(found, frame_changes(found, per, unit, units), title, told)]


def _short(name: str) -> str:
    # A title has room for so much; recordings differ in how their names end, packed or not.
    name = re.sub(r"\.netcost\.tar(?:\.\w+)?$", "", name)
    return name if len(name) <= _NAME else "…" + name[1 - _NAME :]
