"""The machine, or the machines, that a comparison's runs were made on."""

from typing import TYPE_CHECKING

from ..display.templates import escaped
from ..snapshots.machine import machine

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison

_MOST = 3


def machines(comparison: "Comparison") -> str:
    """Markdown: a line for each fact, and one a side where the sides differ; "" without bundles."""
    sides = {side: _facts(comparison, side) for side in comparison.sides}
    lines = []
    for name in dict.fromkeys(name for facts in sides.values() for name in facts):
        said = {side: facts.get(name, []) for side, facts in sides.items()}
        if said["base"] == said["new"] and len(said["base"]) == 1:
            lines.append(f"- {escaped(name)}: {escaped(said['base'][0])}")
            continue
        for side, values in said.items():
            shown = " / ".join(map(escaped, values[:_MOST])) or "not recorded"
            more = f" and {len(values) - _MOST} more" if len(values) > _MOST else ""
            lines.append(f"- {escaped(name)} ({side}): {shown}{more}")
    return "\n".join(lines)


def _facts(comparison: "Comparison", side: str) -> dict[str, list[str]]:
    # By fact its different values over a side's bundles.
    found: dict[str, list[str]] = {}
    for run in comparison.sides[side].recorded:
        bundle = run.captures[0].bundle
        for name, said in (machine(bundle) if bundle else {}).items():
            values = found.setdefault(name, [])
            if said not in values:
                values.append(said)
    return found
