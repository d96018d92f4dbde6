"""A timeline in JupyterLab: anywidget runs the same module, and the selection comes back."""

from typing import TYPE_CHECKING, Any, NamedTuple

import anywidget
import traitlets

from ..errors import line_of
from .page import module
from .places import respond
from .tiles import Tiles

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline


class Selection(NamedTuple):
    """A selection, as arguments of Capture.timeline(): ``capture.timeline(*view.selected)``.

    Attributes
    ----------
    start_s, end_s : float
        Seconds from the capture's start.
    cpus : list of int
        The CPUs of the selected lanes.
    """

    start_s: float
    end_s: float
    cpus: list[int]


class TimelineWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """A timeline to zoom, made by Timeline.view().

    Attributes
    ----------
    selected : Selection or None
        The selection, which the user makes with Shift and the mouse or the arrow keys.
    """

    _esm = module()
    _header = traitlets.Dict().tag(sync=True)
    _at = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)
    _selected = traitlets.List().tag(sync=True)

    def __init__(self, timeline: "Timeline") -> None:
        self._timeline = timeline
        self._tiles = Tiles.of(timeline)
        super().__init__(_header=self._tiles.header())
        self.on_msg(self._asked)

    @property
    def selected(self) -> Selection | None:
        """The selected time and CPUs; None if nothing is selected."""
        if len(self._selected) != 3:
            return None
        begin_ns, end_ns, cpus = self._selected
        offset_ns = self._timeline.offset_ns
        # A double holds these seconds to the nanosecond.
        start_s, end_s = ((offset_ns + int(ns)) / 1e9 for ns in (begin_ns, end_ns))
        return Selection(start_s, end_s, [int(cpu) for cpu in cpus])

    def show(self, start_s: float, end_s: float, cpu: int | None = None) -> None:
        """Show a part of the timeline.

        Parameters
        ----------
        start_s, end_s : float
            Seconds from the capture's start.
        cpu : int, optional
            The lane to mark; the first by default.
        """
        offset_ns = self._timeline.offset_ns
        begin_ns, end_ns = (round(at * 1e9) - offset_ns for at in (start_s, end_s))
        self.go(begin_ns, end_ns, cpu)

    def go(self, begin_ns: int, end_ns: int, cpu: int | None = None) -> None:
        """Show a part of the timeline, like show().

        Parameters
        ----------
        begin_ns, end_ns : int
            ns from the start of the timeline's window.
        cpu : int, optional
            The lane to mark; the first by default.
        """
        chosen = self._tiles.header()["cpus"][0] if cpu is None else cpu
        self._at = {"cpu": chosen, "begin_ns": begin_ns, "end_ns": end_ns}

    def _asked(self, _: Any, asked: Any, __: Any) -> None:
        if not isinstance(asked, dict) or "id" not in asked:
            return
        reply = {"id": asked["id"]}
        try:
            answer = respond(self._tiles, str(asked.get("what")), asked)
        except Exception as error:
            self.send(reply | {"error": line_of(error)})
            return
        if isinstance(answer, bytes):
            self.send(reply, buffers=[answer])
        else:
            self.send(reply | {"answer": answer})
