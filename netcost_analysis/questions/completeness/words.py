# A recording's verdict as commands and pages show it.

from typing import TYPE_CHECKING

from .compare import completeness, of_interrupts, written
from .known import Said
from .manifest import told_line

if TYPE_CHECKING:
    from ...capture.capture import Capture


def verdict(capture: "Capture") -> Said | None:
    """The verdict, computed where nobody wrote it down; None for a bare recording."""
    if capture.bundle is None:
        return None
    said = told_line(capture.bundle.manifest)
    known = said is not None and said.state != "unknown"
    return said if known else completeness(capture).said


def quick_verdict(capture: "Capture") -> str | None:
    """The verdict's line, where nobody wrote it down that of interrupts and softirqs alone.

    None if bare. Switches are most of the events of many recordings.
    """
    if capture.bundle is None:
        return None
    found = of_interrupts(capture)
    if written(capture) is not None or found.state == "unknown":
        return found.verdict
    if found.state == "complete":
        return "no interrupt or softirq is missing (netcost info compares all that is counted)"
    alone = "(interrupts and softirqs alone; netcost info compares all that is counted)"
    return f"{found.verdict} {alone}"
