"""A part of a recording: the victim's run, the load's, or all of it."""

from typing import Literal, NamedTuple, get_args

Named = Literal["victim", "load", "duration", "trace", "auto"]
NAMED: tuple[Named, ...] = get_args(Named)


class Window(NamedTuple):
    """A start and an end, in seconds from the capture's start; None for the capture's own.

    of: "victim", "load" or "duration" of the bundle, another "task", or "trace", all of it or an
    unnamed part. during: the same in words, "while openssl ran"; "" for a trace.
    """

    start_s: float | None = None
    end_s: float | None = None
    of: str = "trace"
    during: str = ""
