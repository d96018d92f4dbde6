# What netcost-record --check prints of a host: preflight.txt in a bundle.

import re
from typing import NamedTuple

_COST = re.compile(r"^cost\s.*?(\d{1,18}) ns an event \((.*?)\)", re.MULTILINE)


class PreflightCost(NamedTuple):
    """What a traced event costs, in ns, and how that was found."""

    event_ns: int
    how: str


def parse_preflight_cost(text: str) -> PreflightCost | None:
    """The line on an event's cost; None without one."""
    match = _COST.search(text)
    return PreflightCost(int(match[1]), match[2]) if match else None
