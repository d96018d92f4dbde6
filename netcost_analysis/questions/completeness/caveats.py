"""What a reader has to know before using the figures."""

from typing import TYPE_CHECKING

from ...answers.answer import Answer
from ...answers.question import question
from ...capture.manifest import Manifest
from .summary import verdict
from .unrecorded import note_of

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline


@question(rows=0)
def caveats(timeline: "Timeline") -> Answer:
    """What to know before using the figures: what is missing, doubtful, estimated.

    notes are the notes of the timeline and the capture, and what the kernel counted but no event
    shows. Source: the notes of ledger, capture and recorder, and the recording's verdict.
    """
    capture = timeline.capture
    manifest = capture.bundle.manifest if capture.bundle else Manifest()
    found = verdict(capture)
    notes = [*timeline.notes, *capture.info["notes"]]
    if found is not None and found.state == "incomplete":
        notes += note_of(timeline)
    command = manifest.record_command or " ".join(capture.info.get("cmdline") or ())
    return Answer(
        notes=tuple(dict.fromkeys(notes)),
        state=found.state if found else None,
        why=found.why if found else None,
        lost_events=capture.info["lost_events"],
        recorder_notes=tuple(manifest.notes),
        record_command=command or None,
    )
