"""A run set: runs that are compared as one side, gathered from paths, an experiment or a table."""

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
    """Runs that are one side of a comparison; run_set and compare make them.

    Attributes
    ----------
    runs : tuple of Run
        In the order in which they were named or made.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self.runs = tuple(runs)
        if not self.runs:
            raise ArgumentError("a run set needs one run at least")

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    @property
    def recorded(self) -> tuple[Run, ...]:
        """Those of which there is a recording."""
        return tuple(run for run in self.runs if run.is_recorded)

    @property
    def measured(self) -> tuple[Run, ...]:
        """Those of which figures were measured: without a recording where there are any such."""
        measured = tuple(run for run in self.runs if run.figures)
        # Recording slows a run.
        return tuple(run for run in measured if not run.is_recorded) or measured

    @cached_property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The values of each label that its runs have, most runs first; not those of repeats."""
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
        """Those of its runs that have these labels.

        Parameters
        ----------
        **labels : object
            By name the value that a run must have; of several in a tuple or list one of them.

        Returns
        -------
        RunSet
            The runs that fit.

        Raises
        ------
        AbsentError
            For a label or a value that no run has, or where no run has all of them.
        """
        left = self.runs
        for name, texts in _texts(labels).items():
            known = sorted({one.labels[name] for one in self.runs if name in one.labels})
            if not known:
                every = sorted({key for run in self.runs for key in run.labels})
                raise AbsentError(no_such("label", name, every))
            for text in texts:
                if text not in known:
                    raise AbsentError(no_such(name, text, known))
            left = tuple(run for run in left if run.labels.get(name) in texts)
        if not left:
            said = ", ".join(f"{name}={label(value)}" for name, value in labels.items())
            raise AbsentError(f"no run has {said} all at once")
        return RunSet(left)

    def within(self, window: "Named") -> "RunSet":
        """The same runs, of whose recordings only a window counts.

        Parameters
        ----------
        window : {"victim", "load", "trace", "auto"}
            As Capture.timeline takes it.

        Returns
        -------
        RunSet
            Runs of their own.
        """
        return RunSet(replace(run, window=window) for run in self.runs)

    @property
    def table(self) -> "pd.DataFrame":
        """A row per run: run, is_recorded, then its labels and its figures, null where it has none.

        Labels are text, figures float64.
        """
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
        Recordings, experiments, folders of recordings, or tables of runs (.tsv or .csv: a column
        path, from the table's folder, and a column for each label or figure; victim_output,
        baseline_output, kernel_config, before, after, victim_cpu and tsc_hz give a bare trace what
        open_capture takes beside it). Files of one rotated recording (perf.data.2026...) are one
        run.
    labels : dict, optional
        Labels that all of them get, beside their own or instead.

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
    """As run_set; steps that have the labels of none of the conditions are not opened."""
    wanted = [_texts(one) for one in conditions]

    def opens(labels: Mapping[str, str]) -> bool:
        return any(
            all(labels.get(name, texts[0]) in texts for name, texts in one.items())
            for one in wanted
        )

    return RunSet(
        run
        for source in sources
        for run in (source if isinstance(source, RunSet) else runs_of(source, opens))
    )


def _texts(conditions: Mapping[str, object]) -> dict[str, list[str]]:
    # By label the values that a run may have, as text.
    return {
        name: [
            label(one) for one in (wanted if isinstance(wanted, tuple | list | set) else (wanted,))
        ]
        for name, wanted in conditions.items()
    }
