"""Which part of a recording is in question: the victim's run, the load's, or all of it."""

from typing import Literal, NamedTuple, get_args

Named = Literal["victim", "load", "duration", "trace", "auto"]
NAMED: tuple[Named, ...] = get_args(Named)


class Window(NamedTuple):
    """From when until when, in seconds from the capture's start; None: its own ends.

    of: "victim", "load" or "duration" of the bundle, another "task", or "trace", all of it or a
    part without a name. during: in words, "while openssl ran"; "" of a trace.
    """

    start_s: float | None = None
    end_s: float | None = None
    of: str = "trace"
    during: str = ""
