"""One run, with the labels it is told apart by, and what a reader calls each side of a comparison.

A run is a recording, or what was measured without one. Names fit beside figures, in 72 columns.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import takewhile
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ..capture.bundle_files import ENDINGS
from ..units import plural, printable

if TYPE_CHECKING:
    from ..capture.bundle import Bundle
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
    def bundle(self) -> "Bundle | None":
        """The bundle of its first file; None for a bare recording, or without any."""
        return self.captures[0].bundle if self.is_recorded else None

    @property
    def part(self) -> str:
        """The part of its recording that counts: "victim", "load" or "trace"."""
        return self.timelines()[0].window.of

    def timelines(self) -> "tuple[Timeline, ...]":
        """The timeline of each file: of all CPUs, in the run's window.

        Returns
        -------
        tuple of Timeline
            They stay until those of another run are asked for, so the tables of one are held.
        """
        return _timelines(self)


@lru_cache(maxsize=1)
def _timelines(run: Run) -> "tuple[Timeline, ...]":
    return tuple(capture.timeline(window=run.window) for capture in run.captures)


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


# Texts that perf script or trace-cmd report printed are compared too.
WITH_TEXTS = (*ENDINGS, ".txt")
# Most characters of a name, so that a title has room for both.
MOST = 28
_TRAILING = "-_. "

Names = tuple[str, str]


def cut(text: str, width: int) -> str:
    """A name on one line, cut to so many characters: the middle goes, for names differ at ends."""
    text = printable(re.sub(r"\s+", " ", text))
    if len(text) <= width:
        return text
    kept = width - 2
    head = kept // 2
    return f"{text[:head]}..{text[len(text) - (kept - head) :]}"


def side_names(base: Iterable[Run], new: Iterable[Run], differs: Mapping[str, Names]) -> Names:
    """The first of these that tells both sides apart: labels, settings of the host, paths.

    differs: the labels whose values differ.
    """
    for found in (_labelled(differs), *_by_settings(base, new), *_by_paths(base, new)):
        short = cut(found[0], MOST), cut(found[1], MOST)
        if all(short) and short[0] != short[1]:
            return short
    return "base", "new"


def _labelled(differs: Mapping[str, Names]) -> Names:
    # As many labels as fit, conditions of an experiment first.
    order = [name for name in CONDITIONS if name in differs]
    order += [name for name in differs if name not in order]
    made: Names = ("", "")
    for name in order:
        said = [f"{name.replace('_', ' ')} {value or 'unknown'}" for value in differs[name]]
        longer = tuple(
            f"{one}, {more}" if one else more for one, more in zip(made, said, strict=True)
        )
        if made[0] and max(map(len, longer)) > MOST:
            break
        made = longer[0], longer[1]
    return made


def _by_settings(base: Iterable[Run], new: Iterable[Run]) -> Iterator[Names]:
    # A sysctl of the manifests that all runs of a side have, and both sides differ in.
    sides = [_settings(side) for side in (base, new)]
    apart = [name for name in sides[0] if sides[1].get(name) not in (None, sides[0][name])]
    if apart:
        yield _labelled({one.rpartition(".")[2]: (sides[0][one], sides[1][one]) for one in apart})


def _settings(runs: Iterable[Run]) -> dict[str, str]:
    bundles = [run.bundle for run in runs if run.is_recorded]
    known = [one.manifest.host.sysctls or {} if one else {} for one in bundles]
    return {
        name: str(value)
        for name, value in (known[0] if known else {}).items()
        if all(one.get(name) == value for one in known)
    }


def _by_paths(base: Iterable[Run], new: Iterable[Run]) -> Iterator[Names]:
    paths = [[PurePath(run.name) for run in side] for side in (base, new)]
    stems = [[_stem(path) for path in some] for some in paths]
    folders = [{path.parent for path in some} for some in paths]
    if all(len(some) == 1 for some in stems):
        yield stems[0][0], stems[1][0]
    if all(len(some) == 1 for some in folders):
        yield from zip(*(reversed(folder.pop().parts) for folder in folders), strict=False)
    shared = [_common(some).rstrip(_TRAILING) for some in stems]
    yield shared[0], shared[1]
    more = [plural(len(some) - 1, "other run") for some in stems]
    yield tuple(f"{some[0]}, {one}" for some, one in zip(stems, more, strict=True))  # type: ignore[misc]


def _common(names: list[str]) -> str:
    alike = takewhile(lambda some: len(set(some)) == 1, zip(*names, strict=False))
    return "".join(some[0] for some in alike)


def _stem(path: PurePath) -> str:
    ending = next((one for one in WITH_TEXTS if path.name.endswith(one)), "")
    return path.name.removesuffix(ending) or path.name
