"""What a bundle's victim got done, by what it printed or by ``--work``."""

from typing import TYPE_CHECKING

from ..capture.manifest import Victim

if TYPE_CHECKING:
    from ..capture.bundle import Bundle
    from ..parsers.program_work import ProgramWork


def program_work(bundle: "Bundle") -> "list[ProgramWork]":
    """What the victim's program measured: of its own output, else of what ``--work`` printed.

    Empty where neither is a program's that parse_work knows. Raises CaptureError where it is, and
    has no result.
    """
    from ..parsers.program_work import parse_work

    victim = bundle.victim or Victim()
    texts = [(bundle.victim_output, victim.command)]
    if victim.asked_work is not None:
        texts.append((bundle.text("after/work"), victim.asked_work))
    for text, command in texts:
        if text is not None and (done := parse_work(text, command or "")):
            return done
    return []
