"""One run and its labels, and the names of the two sides of a comparison.

A run is a recording, or measurements without one. Names fit beside figures in 72 columns.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, takewhile
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ..capture.bundle_files import ENDINGS
from ..display.names import condition, cut
from ..units import plural

if TYPE_CHECKING:
    from ..capture.bundle import Bundle
    from ..capture.capture import Capture
    from ..timeline.timeline import Timeline
    from ..timeline.window import Named

# Columns of a table of steps that are conditions of a run; other numeric columns are measurements.
CONDITIONS = (
    *("kernel", "nic", "data_path", "path", "steering", "destinations", "flows", "victim"),
    *("offered_pps", "pps", "burst", "io_bytes", "transmit_cpu", "receive_cpu"),
    *("network", "protocol", "skb_defer_max", "rps", "cpus", "load", "tracing"),
)
# Labels that only number the repeats of a run.
REPEATS = ("repeat", "step")
# The prefix of columns that verify a step's setting; they are not figures of the run.
CONTROL = "control_"
_NAMES = ("bundle", "folder", "started", "status", "completeness")


@dataclass(frozen=True, eq=False)
class Run:
    """One run in a run set.

    Attributes
    ----------
    name : str
        The path of its recording, or the step of its experiment.
    labels : dict of str to str
        Its conditions: kernel, data_path, offered_pps, repeat, ...
    figures : dict of str to float
        The measurements of its step, with or without a recording.
    controls : dict of str to float
        The measurements that verified its step's settings, by column.
    openers : tuple of callable
        Each opens one file of its recording: several if it was rotated, none if the run was not
        recorded.
    place : (str, int) or None
        When its experiment started (from experiment.json) and its row in the table of steps, which
        order runs by time. None if it is in no table.
    reader : callable or None
        Reads a file of its step by name, like Bundle.text; None if it has no folder of its own.
    window : str
        The name of the part of its recording that counts, as for Capture.timeline.
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
        """Whether it has a recording."""
        return bool(self.openers)

    @cached_property
    def captures(self) -> "tuple[Capture, ...]":
        """Its recording, opened; several captures if it was rotated."""
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
        """The timeline of each file, over all CPUs, in the run's window.

        Returns
        -------
        tuple of Timeline
            Cached until another run's are requested, so that only one run's tables are in memory.
        """
        return _timelines(self)


@lru_cache(maxsize=1)
def _timelines(run: Run) -> "tuple[Timeline, ...]":
    return tuple(capture.timeline(window=run.window) for capture in run.captures)


def label(value: object) -> str:
    """A label's value as text; a whole number has no decimal point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def controls_in(row: Mapping[Any, Any]) -> dict[str, float]:
    """The numbers in a row that verify its step's settings."""
    return {
        str(key): float(value)
        for key, value in row.items()
        if str(key).startswith(CONTROL) and isinstance(value, int | float) and value == value
    }


def told_apart(row: Mapping[Any, Any]) -> tuple[dict[str, str], dict[str, float]]:
    # Splits a row into labels (conditions and texts) and figures (other numbers).
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


# Includes the text output of perf script and trace-cmd report.
WITH_TEXTS = (*ENDINGS, ".txt")
# The most characters of a name: a title has to fit two.
MOST = 28
_TRAILING = "-_. "

Names = tuple[str, str]


def side_names(base: Iterable[Run], new: Iterable[Run], differs: Mapping[str, Names]) -> Names:
    """Names that tell the sides apart, from labels, else the hosts' settings, else paths.

    differs: the labels whose values differ.
    """
    # The sides of --alternate 'CMD A' 'CMD B' are called by their commands.
    by_commands = _by_commands(base, new) if [*differs] == ["side"] else ()
    others = _by_settings(base, new), _by_paths(base, new)
    for names in chain(by_commands, [_labelled(differs)], *others):
        short = cut(names[0], MOST), cut(names[1], MOST)
        if all(short) and short[0] != short[1]:
            return short
    return "base", "new"


def _labelled(differs: Mapping[str, Names]) -> Names:
    # As many labels as fit, conditions of an experiment first.
    order = [name for name in CONDITIONS if name in differs]
    order += [name for name in differs if name not in order]
    names: Names = ("", "")
    for name in order:
        more = [condition(name, value) for value in differs[name]]
        longer = [", ".join(filter(None, both)) for both in zip(names, more, strict=True)]
        if names[0] and max(map(len, longer)) > MOST:
            break
        names = longer[0], longer[1]
    return names


def _by_commands(base: Iterable[Run], new: Iterable[Run]) -> Iterator[Names]:
    # The words that differ between the sides' commands, if each side has one command.
    commands = [{_command(run) for run in side} for side in (base, new)]
    if any(len(of_side) != 1 for of_side in commands):
        return
    first, second = (of_side.pop().split() for of_side in commands)
    start = len(_common((first, second)))
    end = len(_common((first[start:][::-1], second[start:][::-1])))
    # A value needs its option.
    if start and first[start - 1].startswith("-"):
        start -= 1
    yield (
        " ".join(first[start : len(first) - end]),
        " ".join(second[start : len(second) - end]),
    )


def _command(run: Run) -> str:
    manifest = run.bundle.manifest if run.bundle else None
    return (manifest and manifest.victim and manifest.victim.command) or ""


def _by_settings(base: Iterable[Run], new: Iterable[Run]) -> Iterator[Names]:
    # The sysctls in the manifests that are the same within each side and differ between the sides.
    first, second = (_settings(side) for side in (base, new))
    differs = {
        name.rpartition(".")[2]: (value, second[name])
        for name, value in first.items()
        if second.get(name, value) != value
    }
    if differs:
        yield _labelled(differs)


def _settings(runs: Iterable[Run]) -> dict[str, str]:
    bundles = [run.bundle for run in runs if run.is_recorded]
    known = [bundle.manifest.host.sysctls or {} if bundle else {} for bundle in bundles]
    return {
        name: str(value)
        for name, value in (known[0] if known else {}).items()
        if all(sysctls.get(name) == value for sysctls in known)
    }


def _by_paths(base: Iterable[Run], new: Iterable[Run]) -> Iterator[Names]:
    sides = [[PurePath(run.name) for run in side] for side in (base, new)]
    first, second = ([_stem(path) for path in paths] for paths in sides)
    folders = [{path.parent for path in paths} for paths in sides]
    if len(first) == len(second) == 1:
        yield first[0], second[0]
    if all(len(parents) == 1 for parents in folders):
        yield from zip(*(reversed(parents.pop().parts) for parents in folders), strict=False)
    yield _prefix(first), _prefix(second)
    others = [f"{stems[0]}, {plural(len(stems) - 1, 'other run')}" for stems in (first, second)]
    yield others[0], others[1]


def _prefix(names: list[str]) -> str:
    return "".join(_common(names)).rstrip(_TRAILING)


def _common(names: Iterable[Sequence[str]]) -> list[str]:
    # The letters, or words, that all begin with.
    alike = takewhile(lambda parts: len(set(parts)) == 1, zip(*names, strict=False))
    return [parts[0] for parts in alike]


def _stem(path: PurePath) -> str:
    ending = next((suffix for suffix in WITH_TEXTS if path.name.endswith(suffix)), "")
    return path.name.removesuffix(ending) or path.name
