"""A comparison of two run sets: what `netcost.compare` returns."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..accessors import OfComparison
from ..display.names import cut
from ..errors import ArgumentError
from ..units import plural
from .run import MOST, REPEATS, Names, Run, side_names
from .run_set import RunSet, Source, gathered

if TYPE_CHECKING:
    from ..timeline.task import Task
    from ..timeline.window import Named

Sources = Source | Iterable[Source]


def compare(
    base: Sources,
    new: Sources | None = None,
    *,
    where: Mapping[str, object] | None = None,
    base_where: Mapping[str, object] | None = None,
    new_where: Mapping[str, object] | None = None,
    per: str | None = None,
    primary: str | None = None,
    beforehand: Iterable[str] = (),
    paired: bool = False,
    victim: "Task | None" = None,
    client: "Task | None" = None,
    server: "Task | None" = None,
    label: Names | None = None,
    window: "Named | None" = None,
) -> "Comparison":
    """Compare two run sets: recordings, experiments, folders or tables of them.

    Parameters
    ----------
    base, new : str, Path, Capture, Experiment, Run, RunSet, or several of them
        The two sides, in any form that run_set takes. Without new, both sides are runs of base,
        selected by base_where and new_where; by default by the label side, a and b, if they have
        it.
    where, base_where, new_where : dict, optional
        Labels that the runs of both sides, or of one, must have, in the form of RunSet.where.
    per : str, optional
        The unit of work that costs are divided by: packet, byte, transaction, block, work or
        second. Unless given, the first of these that all runs have.
    primary : str, optional
        The metric that the verdict is about, one of `changes`, chosen before looking. Unless given,
        the network's CPU time per unit of work, or the throughput if nothing was recorded.
    beforehand : iterable of str
        More metrics chosen before looking: their p-values are not corrected for multiple testing.
    paired : bool
        Whether each repeat of the base is paired with one of the new side: with the same label
        "repeat" if they have one, else in order. Fewer than 6 pairs are compared unpaired.
    victim, client, server : int or str, optional
        Tasks by tid or comm. Unless given, the bundles' victims, and the two of client_and_server.
    label : (str, str), optional
        Names for base and new. Unless given, the labels that differ, else settings or paths.
    window : {"victim", "load", "duration", "trace", "auto"}, optional
        The part of each recording that counts, as for Capture.timeline; "auto" unless given.

    Returns
    -------
    Comparison
        Both sides, with ``ask``.

    Raises
    ------
    ArgumentError
        If a side mixes conditions, or both sides have the same runs.
    CaptureError, OSError
        For what cannot be opened or read.
    """
    conditions = [{**(where or {}), **(of_side or {})} for of_side in (base_where, new_where)]
    first = gathered(_several(base), conditions if new is None else conditions[:1])
    second = first if new is None else gathered(_several(new), conditions[1:])
    if (
        new is None
        and not base_where
        and not new_where
        and sorted(first.labels.get("side", ())) == ["a", "b"]
    ):
        # Recorded with netcost-record --alternate 'CMD A' 'CMD B'.
        conditions = [{**conditions[0], "side": "a"}, {**conditions[1], "side": "b"}]
    if window is not None:
        first, second = first.within(window), second.within(window)
    return Comparison(
        first.where(**conditions[0]),
        second.where(**conditions[1]),
        per=per,
        primary=primary,
        beforehand=beforehand,
        paired=paired,
        victim=victim,
        client=client,
        server=server,
        label=label,
    )


def _several(sources: Any) -> tuple[Source, ...]:
    return tuple(sources) if isinstance(sources, list | tuple) else (sources,)


class Comparison(OfComparison):
    """Two run sets: base and new; compare makes one.

    Attributes
    ----------
    base, new : RunSet
        The two sides.
    per, primary : str or None
        As given to compare.
    beforehand : tuple of str
        The metrics chosen before looking, including the primary one.
    paired : bool
        Whether repeats are pairs.
    victim, client, server : int or str or None
        As given to compare.
    label : (str, str) or None
        As given to compare.
    """

    def __init__(
        self,
        base: RunSet,
        new: RunSet,
        per: str | None = None,
        primary: str | None = None,
        victim: "Task | None" = None,
        client: "Task | None" = None,
        server: "Task | None" = None,
        beforehand: Iterable[str] = (),
        paired: bool = False,
        label: Names | None = None,
    ) -> None:
        self.base, self.new = base, new
        self.per, self.primary, self.paired = per, primary, paired
        self.beforehand = tuple(dict.fromkeys([*([primary] if primary else []), *beforehand]))
        self.victim, self.client, self.server = victim, client, server
        self.label = label
        if label is not None and cut(label[0], MOST) == cut(label[1], MOST):
            raise ArgumentError(f"label names both sides {cut(label[0], MOST)!r}: give two names")
        for side, runs in self.sides.items():
            _require_one_condition(side, runs)
        if {run.name for run in base} & {run.name for run in new}:
            raise ArgumentError(
                "both sides have the same runs: name another for one of them, or tell them apart "
                "by a label (--base-where and --new-where; in Python base_where and new_where)"
            )

    def beside(self, base: Sequence[Run], new: Sequence[Run]) -> tuple[Run, ...]:
        """Runs of the new side; if paired, in the order of their partners on the base side.

        Parameters
        ----------
        base, new : sequence of Run
            Runs of the two sides.

        Returns
        -------
        tuple of Run
            The runs of new.

        Raises
        ------
        ArgumentError
            If a run has no partner.
        """
        if not self.paired:
            return tuple(new)
        numbers = [[run.labels.get(REPEATS[0]) for run in side] for side in (base, new)]
        if len(base) != len(new):
            raise ArgumentError(
                f"base has {plural(len(base), 'run')} and new {len(new)}: pairs need as many of "
                "both; choose them with --where"
            )
        if any(None in side or len(set(side)) < len(side) for side in numbers):
            return tuple(new)
        if set(numbers[0]) != set(numbers[1]):
            raise ArgumentError(
                f"both of a pair have the same {REPEATS[0]}: base has "
                f"{', '.join(map(str, numbers[0]))}, new {', '.join(map(str, numbers[1]))}"
            )
        at = dict(zip(numbers[1], new, strict=True))
        return tuple(at[number] for number in numbers[0])

    @property
    def sides(self) -> dict[str, RunSet]:
        """Both sides, keyed "base" and "new"."""
        return {"base": self.base, "new": self.new}

    @property
    def recorded(self) -> tuple[Run, ...]:
        """The runs of both sides of which there is a recording, base first."""
        return (*self.base.recorded, *self.new.recorded)

    @property
    def recorded_sides(self) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
        """The recorded runs of base and new; if paired, in the order of their partners."""
        base = self.base.recorded
        return base, self.beside(base, self.new.recorded)

    @cached_property
    def differs(self) -> dict[str, tuple[str, str]]:
        """The labels whose values differ between the sides: (base's, new's); "" where absent."""
        names = {**self.base.labels, **self.new.labels}
        values = {
            name: (self.base.labels.get(name, ("",))[0], self.new.labels.get(name, ("",))[0])
            for name in names
        }
        return {name: (base, new) for name, (base, new) in values.items() if base != new}

    @cached_property
    def _names(self) -> Names:
        if self.label is not None:
            return cut(self.label[0], MOST), cut(self.label[1], MOST)
        return side_names(self.base, self.new, self.differs)

    def named(self, side: str) -> str:
        """The name of a side: its label, else what differs; at most 28 characters.

        Parameters
        ----------
        side : str
            "base" or "new".

        Returns
        -------
        str
            For example "data path xdp".
        """
        return self._names[list(self.sides).index(side)]

    @property
    def path(self) -> str:
        """Both sides' names, for a sentence."""
        return f"{self.named('base')} against {self.named('new')}"

    @property
    def recording_to_name(self) -> str:
        """A hint for commands that take a recording rather than a comparison."""
        recorded = [run.name for side in self.sides.values() for run in side.recorded]
        return f"open one of its runs, as {recorded[0]}" if recorded else "no run was recorded"

    def __repr__(self) -> str:
        return "\n".join(
            f"{side}: {plural(len(runs), 'run')}, {self.named(side)}"
            for side, runs in self.sides.items()
        )


def _require_one_condition(side: str, runs: RunSet) -> None:
    mixed = {name: values for name, values in runs.labels.items() if len(values) > 1}
    if mixed:
        name, values = next(iter(mixed.items()))
        listed = ", ".join([*values[:4], "..."] if len(values) > 4 else values)
        more = f", and {', '.join(list(mixed)[1:])} differ too" if len(mixed) > 1 else ""
        raise ArgumentError(
            f"the runs of {side} are not alike: {name} is {listed}{more}; choose, as with "
            f"--where {name}={values[0]}"
        )
