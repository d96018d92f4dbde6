"""What a reader has to know before using the figures."""

from typing import TYPE_CHECKING, NamedTuple

from ...answers.question import question
from ...capture.manifest import Manifest
from .unrecorded import note_of
from .words import verdict

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline


class Caveats(NamedTuple):
    """What limits the figures.

    notes: of the timeline, the capture, and what the kernel counted and no event shows. state: of
    the recording's completeness (complete, incomplete, unknown; None for a bare recording),
    why: in words, None where it is complete. lost_events: how many. recorder_notes: what its maker
    has to say. record_command: the command that recorded it, None where it is not known.
    """

    notes: tuple[str, ...]
    state: str | None
    why: str | None
    lost_events: int
    recorder_notes: tuple[str, ...]
    record_command: str | None


@question(rows=0)
def caveats(timeline: "Timeline") -> Caveats:
    """What a reader has to know before using the figures: what is missing, doubtful, estimated.

    notes, state, why, lost_events, recorder_notes, record_command.

    Source: the notes of ledger, capture and recorder, and the recording's verdict.
    """
    capture = timeline.capture
    manifest = capture.bundle.manifest if capture.bundle else Manifest()
    found = verdict(capture)
    notes = [*timeline.notes, *capture.info["notes"]]
    if found is not None and found.state == "incomplete":
        notes += note_of(timeline)
    command = manifest.record_command or " ".join(capture.info.get("cmdline") or ())
    return Caveats(
        tuple(dict.fromkeys(notes)),
        found.state if found else None,
        found.why if found else None,
        capture.info["lost_events"],
        tuple(manifest.notes),
        command or None,
    )
