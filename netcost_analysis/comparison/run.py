"""One run: a recording, or what was measured without one, with the labels it is told apart by."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..timeline.timeline import Timeline
    from ..timeline.window import Named

# Columns of a table of steps that are conditions of a run; other numbers are measurements.
CONDITIONS = (
    *("kernel", "nic", "data_path", "path", "steering", "destinations", "flows", "victim"),
    *("offered_pps", "pps", "burst", "io_bytes", "transmit_cpu", "receive_cpu"),
    *("network", "protocol", "skb_defer_max", "rps", "cpus", "load", "tracing"),
)
# Labels that only number repeats of a run.
REPEATS = ("repeat", "step")
# Prefix of columns that verify a step's setting; not figures of the run.
CONTROL = "control_"
_NAMES = ("bundle", "folder", "started", "status", "completeness")


@dataclass(frozen=True, eq=False)
class Run:
    """One run, of which a run set is made.

    Attributes
    ----------
    name : str
        The path of its recording, or the step of its experiment.
    labels : dict of str to str
        What it was run with: kernel, data_path, offered_pps, repeat, ...
    figures : dict of str to float
        What was measured beside a recording, or instead of one: the numbers of its step.
    controls : dict of str to float
        What verified the settings of its step, by column.
    openers : tuple of callable
        Each opens one file of its recording; several of a rotated recording, none of a run that
        was not recorded.
    place : (str, int) or None
        When its experiment began, as that says, and its row in the table of steps: runs in the
        order in which they were made. None where no table has it.
    reader : callable or None
        Reads a file of its step by name, as Bundle.text; None where it has no folder of its own.
    window : str
        The part of its recording that counts, by a name that Capture.timeline takes.
    """

    name: str
    labels: Mapping[str, str]
    figures: Mapping[str, float] = field(default_factory=dict)
    controls: Mapping[str, float] = field(default_factory=dict, kw_only=True)
    openers: "tuple[Callable[[], Capture], ...]" = ()
    place: tuple[str, int] | None = None
    reader: Callable[[str], str | None] | None = None
    window: "Named" = "auto"

    @property
    def is_recorded(self) -> bool:
        """Whether there is a recording of it."""
        return bool(self.openers)

    @cached_property
    def captures(self) -> "tuple[Capture, ...]":
        """Its recording, opened: several where that was rotated."""
        return tuple(opener() for opener in self.openers)

    @property
    def part(self) -> str:
        """The part of its recording that counts: "victim", "load" or "trace"."""
        return self.captures[0].timeline(window=self.window).window.of

    def timelines(self) -> "list[Timeline]":
        """The timeline of each file: of all CPUs, in the run's window.

        Returns
        -------
        list of Timeline
            Made anew each time, so that nobody keeps the tables of many runs.
        """
        return [capture.timeline(window=self.window) for capture in self.captures]


def label(value: object) -> str:
    """A label's value as text: of a whole number without a point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def controls_in(row: Mapping[Any, Any]) -> dict[str, float]:
    """The numbers in a row that verify the settings of its step."""
    return {
        str(key): float(value)
        for key, value in row.items()
        if str(key).startswith(CONTROL) and isinstance(value, int | float) and value == value
    }


def told_apart(row: Mapping[Any, Any]) -> tuple[dict[str, str], dict[str, float]]:
    # A row's labels (conditions and texts), and its figures (other numbers).
    labels: dict[str, str] = {}
    figures: dict[str, float] = {}
    for key, value in row.items():
        name = str(key)
        if value != value or name in _NAMES or name.startswith(CONTROL):
            continue
        if name in (*CONDITIONS, *REPEATS) or not isinstance(value, int | float):
            labels[name] = label(value)
        else:
            figures[name] = float(value)
    return labels, figures
