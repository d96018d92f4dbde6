"""A run set: the runs of one side, gathered from paths, an experiment or a table."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Union

from ..errors import AbsentError, ArgumentError, no_such
from .run import REPEATS, Run, label
from .run_sources import OneSource, runs_of

if TYPE_CHECKING:
    import pandas as pd

    from ..timeline.window import Named

Source = Union[OneSource, "RunSet"]


class RunSet:
    """The runs of one side of a comparison; run_set and compare make them.

    Attributes
    ----------
    runs : tuple of Run
        The runs, in the order given or, in an experiment, made.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self.runs = tuple(runs)
        if not self.runs:
            raise ArgumentError("a run set needs at least one run")

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    @property
    def recorded(self) -> tuple[Run, ...]:
        """The runs with a recording."""
        return tuple(run for run in self.runs if run.is_recorded)

    @property
    def measured(self) -> tuple[Run, ...]:
        """The runs with figures; only those without a recording, if there are any."""
        measured = tuple(run for run in self.runs if run.figures)
        # Recording slows a run down.
        return tuple(run for run in measured if not run.is_recorded) or measured

    @cached_property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The values of each label, most frequent first, without labels that number repeats."""
        counts: dict[str, Counter[str]] = {}
        for run in self.runs:
            for name, value in run.labels.items():
                if name not in REPEATS:
                    counts.setdefault(name, Counter())[value] += 1
        return {
            name: tuple(value for value, _ in values.most_common())
            for name, values in counts.items()
        }

    def where(self, **labels: object) -> "RunSet":
        """The runs with these labels.

        Parameters
        ----------
        **labels : object
            The value that a run must have, by name; a tuple or list means any of its values.

        Returns
        -------
        RunSet
            The matching runs.

        Raises
        ------
        AbsentError
            For a label or a value that no run has, or if no run has all of them.
        """
        left = self.runs
        for name, texts in _texts(labels).items():
            known = sorted({run.labels[name] for run in self.runs if name in run.labels})
            if not known:
                every = sorted({key for run in self.runs for key in run.labels})
                raise AbsentError(no_such("label", name, every))
            for text in texts:
                if text not in known:
                    raise AbsentError(no_such(name, text, known))
            left = tuple(run for run in left if run.labels.get(name) in texts)
        if not left:
            wanted = ", ".join(f"{name}={label(value)}" for name, value in labels.items())
            raise AbsentError(f"no run has {wanted} all at once")
        return RunSet(left)

    def within(self, window: "Named") -> "RunSet":
        """Copies of the runs, limited to a window of their recordings.

        Parameters
        ----------
        window : {"victim", "load", "duration", "trace", "auto"}
            As for Capture.timeline.

        Returns
        -------
        RunSet
            The copies.
        """
        return RunSet(replace(run, window=window) for run in self.runs)

    @property
    def table(self) -> "pd.DataFrame":
        """A row per run: run, is_recorded, labels (text) and figures (float64), null if absent."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"run": run.name, "is_recorded": run.is_recorded, **run.labels, **run.figures}
                for run in self.runs
            ]
        )

    def __repr__(self) -> str:
        return f"{len(self)} runs\n{self.table.to_string(index=False, na_rep='')}"

    def _repr_html_(self) -> str:
        return str(self.table.to_html(index=False, na_rep="", escape=True))


def run_set(*sources: Source, labels: Mapping[str, object] | None = None) -> RunSet:
    """Runs to compare as one side.

    Parameters
    ----------
    *sources : str, Path, Capture, Experiment, Run or RunSet
        Recordings, experiments, folders of recordings, or tables of runs (.tsv or .csv). A table
        has a column path, relative to its folder, and a column for each label or figure; the
        columns victim_output, baseline_output, kernel_config, before, after, victim_cpu and tsc_hz
        are arguments of open_capture. The files of a rotated recording (perf.data.2026...) are one
        run.
    labels : dict, optional
        Labels that all runs get; they replace the runs' own.

    Returns
    -------
    RunSet
        Their runs.

    Raises
    ------
    ArgumentError
        For a folder or a table without a recording.
    CaptureError
        For what cannot be opened.
    OSError
        For what cannot be read.
    """
    more = {name: label(value) for name, value in (labels or {}).items()}
    return RunSet(replace(run, labels={**run.labels, **more}) for run in gathered(sources))


def gathered(
    sources: Iterable[Source], conditions: Sequence[Mapping[str, object]] = ({},)
) -> RunSet:
    """Like run_set, but does not open steps whose labels match none of the conditions."""
    wanted = [_texts(condition) for condition in conditions]

    def opens(labels: Mapping[str, str]) -> bool:
        return any(
            all(labels.get(name, texts[0]) in texts for name, texts in condition.items())
            for condition in wanted
        )

    return RunSet(
        run
        for source in sources
        for run in (source if isinstance(source, RunSet) else runs_of(source, opens))
    )


def _texts(conditions: Mapping[str, object]) -> dict[str, list[str]]:
    # The values that a run may have, as text, by label.
    return {
        name: [*map(label, wanted if isinstance(wanted, tuple | list | set) else (wanted,))]
        for name, wanted in conditions.items()
    }
