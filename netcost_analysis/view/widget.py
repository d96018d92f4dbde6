"""A timeline in JupyterLab: the same module by anywidget, and what is selected in it."""

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
    """What was selected: as Capture.timeline() takes it, ``capture.timeline(*view.selected)``.

    Attributes
    ----------
    start_s, end_s : float
        In seconds from the capture's start.
    cpus : list of int
        The CPUs of the lanes that were selected.
    """

    start_s: float
    end_s: float
    cpus: list[int]


class TimelineWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """A timeline to zoom; Timeline.view() makes it.

    Attributes
    ----------
    selected : Selection or None
        What is selected in it with Shift and the mouse, or Shift and the arrows.
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
        """From when to when, and which CPUs; None where nothing is selected."""
        if len(self._selected) != 3:
            return None
        begin_ns, end_ns, cpus = self._selected
        offset_ns = self._timeline.offset_ns
        # A double of seconds has these nanoseconds.
        start_s, end_s = ((offset_ns + int(ns)) / 1e9 for ns in (begin_ns, end_ns))
        return Selection(start_s, end_s, [int(cpu) for cpu in cpus])

    def show(self, start_s: float, end_s: float, cpu: int | None = None) -> None:
        """Look at a part of it.

        Parameters
        ----------
        start_s, end_s : float
            In seconds from the capture's start.
        cpu : int, optional
            The lane that is marked; the first unless given.
        """
        offset_ns = self._timeline.offset_ns
        begin_ns, end_ns = (round(at * 1e9) - offset_ns for at in (start_s, end_s))
        self.go(begin_ns, end_ns, cpu)

    def go(self, begin_ns: int, end_ns: int, cpu: int | None = None) -> None:
        """Look at a part of it, as show() does.

        Parameters
        ----------
        begin_ns, end_ns : int
            In ns from the first one of the timeline's window.
        cpu : int, optional
            The lane that is marked; the first unless given.
        """
        chosen = self._tiles.header()["cpus"][0] if cpu is None else cpu
        self._at = {"cpu": chosen, "begin_ns": begin_ns, "end_ns": end_ns}

    def _asked(self, _: Any, asked: Any, __: Any) -> None:
        if not isinstance(asked, dict) or "id" not in asked:
            return
        said = {"id": asked["id"]}
        try:
            found = respond(self._tiles, str(asked.get("what")), asked)
        except Exception as error:
            self.send(said | {"error": line_of(error)})
            return
        if isinstance(found, bytes):
            self.send(said, buffers=[found])
        else:
            self.send(said | {"answer": found})
