"""A run set: runs that are compared as one side, gathered from paths, an experiment or a table."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from .._native import CaptureError
from ..capture.bundle_files import PACKED, ROTATED, is_bundle
from ..capture.capture import Capture
from ..capture.sidecars import Sidecars
from ..errors import AbsentError, ArgumentError, no_such
from ..opening.experiment import Experiment, is_experiment, open_experiment
from ..opening.opening import open_capture
from ..progress import each
from .run import REPEATS, Run, controls_in, label, told_apart

if TYPE_CHECKING:
    import pandas as pd

    from ..timeline.window import Named

Source = Union[str, Path, Capture, Experiment, Run, "RunSet"]


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

    return RunSet(run for source in sources for run in _runs_of(source, opens))


def _texts(conditions: Mapping[str, object]) -> dict[str, list[str]]:
    # By label the values that a run may have, as text.
    return {
        name: [
            label(one) for one in (wanted if isinstance(wanted, tuple | list | set) else (wanted,))
        ]
        for name, wanted in conditions.items()
    }


def _runs_of(source: Source, opens: Callable[[Mapping[str, str]], bool]) -> list[Run]:
    if isinstance(source, RunSet):
        return list(source.runs)
    if isinstance(source, Run):
        return [source]
    if isinstance(source, Capture):
        return [_recorded(source.path, (lambda: source,))]
    if isinstance(source, Experiment):
        return _of_steps(source, opens)
    path = Path(source)
    if is_experiment(path):
        return _of_steps(open_experiment(path), opens)
    if path.suffix in (".tsv", ".csv"):
        return _of_table(path)
    if path.is_dir() and not is_bundle(path):
        inside = _recordings_in(path)
        if inside:
            return [_of_files(files) for files in inside]
    return [_of_files([path])]


def _recordings_in(folder: Path) -> list[list[Path]]:
    # Bundles, packed bundles and bare recordings; the files of a rotated one together.
    groups: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        is_bare = path.suffix in (".data", ".dat", ".txt") or ROTATED.search(path.name)
        if (is_bare and path.is_file()) or path.name.endswith(PACKED) or is_bundle(path):
            groups.setdefault(ROTATED.sub("", path.name), []).append(path)
    return list(groups.values())


def _of_files(paths: Sequence[Path]) -> Run:
    name = str(paths[0]) if len(paths) == 1 else ROTATED.sub("", str(paths[0]))
    return _recorded(name, tuple(partial(open_capture, path) for path in paths))


def _recorded(
    name: str,
    openers: tuple[Callable[[], Capture], ...],
    labels: Mapping[str, str] | None = None,
    figures: Mapping[str, float] | None = None,
) -> Run:
    # The given labels, and those that the recording knows.
    # Kept, for to unpack it again takes as long.
    capture = openers[0]()
    openers = (lambda: capture, *openers[1:])
    kernel = capture.header.get("os_release") or (
        capture.bundle and capture.bundle.manifest.host.kernel
    )
    known = {"kernel": str(kernel)} if kernel else {}
    return Run(name, {**known, **(labels or {})}, figures or {}, openers)


def _of_steps(experiment: Experiment, opens: Callable[[Mapping[str, str]], bool]) -> list[Run]:
    # A run per step, and one for the recording of a condition whose repeats have no trace. opens:
    # whether a run with these labels is wanted.
    steps = experiment.steps
    if not {"bundle", "folder"} & set(steps.columns):
        raise ArgumentError(f"{experiment.path} has no runs: its table names no bundle or folder")
    runs: list[Run] = []
    conditions: dict[str, dict[str, str]] = {}
    for at, row in enumerate(each("opening the recordings", steps.to_dict("records"))):
        labels, figures = told_apart(row)
        name, untraced = experiment.names(row)
        run = Run(
            f"{experiment.path.name}/{untraced or name}",
            labels,
            figures,
            place=(experiment.experiment.started or "", at),
            controls=controls_in(row),
        )
        if untraced:
            runs.append(replace(run, reader=partial(_file_of, experiment, untraced)))
            condition = {key: text for key, text in labels.items() if key not in REPEATS}
            conditions.setdefault(name, condition)
        elif experiment.has(name):
            opener = partial(experiment.capture, name)
            if not opens(labels):
                runs.append(replace(run, openers=(opener,)))
                continue
            # Its trace may be missing or unreadable; what was measured beside it is kept.
            with suppress(CaptureError):
                known = _recorded(run.name, (opener,), labels, figures)
                run = replace(known, place=run.place, controls=run.controls)
            runs.append(run)
    for name, labels in conditions.items():
        if experiment.has(name) and opens(labels):
            opener = partial(experiment.capture, name)
            runs.append(_recorded(f"{experiment.path.name}/{name}", (opener,), labels))
    if not runs:
        raise ArgumentError(f"{experiment.path} has no recording of any of its steps")
    return runs


def _file_of(experiment: Experiment, folder: str, name: str) -> str | None:
    return experiment.text(f"{folder}/{name}")


def _of_table(path: Path) -> list[Run]:
    import pandas as pd

    table = pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",")
    if "path" not in table:
        raise ArgumentError(f"{path} names no runs: it has no column path")
    runs = []
    for row in table.to_dict("records"):
        own = {key: row[key] for key in row if key != "path" and key not in Sidecars._fields}
        opener = partial(open_capture, path.parent / str(row["path"]), **_beside(row, path.parent))
        known = _recorded(str(row["path"]), (opener,), *told_apart(own))
        runs.append(replace(known, controls=controls_in(own)))
    return runs


def _beside(row: Mapping[Any, Any], folder: Path) -> dict[str, Any]:
    # The parameters of open_capture in a row; files are relative to the folder.
    given: dict[str, Any] = {}
    for name in Sidecars._fields:
        value = row.get(name)
        if value is not None and value == value:
            number = {"victim_cpu": int, "tsc_hz": float}.get(name)
            given[name] = number(value) if number else folder / str(value)
    return given
