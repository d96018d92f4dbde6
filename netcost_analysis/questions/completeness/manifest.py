# What netcost-record found on the host itself and wrote into the manifest.

from typing import TYPE_CHECKING

from msgspec.structs import astuple

from .known import Completeness, Row, Said, answered

if TYPE_CHECKING:
    from ...capture.manifest import Manifest

# Of a line of a stranger's manifest.
_LONGEST = 400


def told(manifest: "Manifest") -> Completeness | None:
    """The manifest's record, None where it has none, or one that is none."""
    said, record = told_line(manifest), manifest.completeness
    if said is None or record is None or record.rows is None:
        return None
    return answered(said, [Row(*astuple(row)) for row in record.rows])


def told_line(manifest: "Manifest") -> Said | None:
    """The same without its rows."""
    record = manifest.completeness
    if record is None:
        return None
    reason = record.reason and record.reason[:_LONGEST]
    return Said(record.verdict[:_LONGEST], record.state, reason, record.lost_events)
