# A recording's verdict as commands and pages show it. Without templates: `netcost ledger` and
# `stolen` answer before Jinja2 could be imported.


from ...capture.capture import Capture
from .completeness import all_compared, of_interrupts, verdict_of, written
from .verdicts import Verdict


def verdict(capture: Capture) -> Verdict | None:
    """The verdict, computed where nobody wrote it down; None for a bare recording."""
    if capture.bundle is None:
        return None
    record = capture.bundle.manifest.completeness
    if record is not None and record.state != "unknown":
        return verdict_of(record)
    return all_compared(capture).verdict


def quick_verdict(capture: Capture) -> str | None:
    """The verdict's line; of interrupts and softirqs alone where nobody wrote the verdict down.

    None for a bare recording. Most events of many recordings are switches.
    """
    if capture.bundle is None:
        return None
    compared = of_interrupts(capture).verdict
    if written(capture) is not None or compared.state == "unknown":
        return compared.verdict
    if compared.state == "complete":
        return "no interrupt or softirq is missing (netcost info compares all that is counted)"
    alone = "(interrupts and softirqs only; netcost info compares all that is counted)"
    return f"{compared.verdict} {alone}"
