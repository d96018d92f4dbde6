# The runs of one source: a recording, an experiment, a folder of recordings, or a table of runs.

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from .._native import CaptureError
from ..capture.bundle_files import ROTATED, is_bundle
from ..capture.capture import Capture
from ..capture.sidecars import Sidecars
from ..errors import ArgumentError
from ..opening.experiment import Experiment, is_experiment, open_experiment
from ..opening.opening import open_capture
from ..progress import each
from .run import REPEATS, WITH_TEXTS, Run, controls_in, told_apart

OneSource = str | Path | Capture | Experiment | Run


def runs_of(source: OneSource, opens: Callable[[Mapping[str, str]], bool]) -> list[Run]:
    """The runs of a source; steps whose labels `opens` rejects are not opened."""
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
    # Bundles, packed bundles and bare recordings; the files of a rotated recording are one group.
    groups: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        is_recording = path.name.endswith(WITH_TEXTS) or ROTATED.search(path.name)
        if (is_recording and path.is_file()) or is_bundle(path):
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
    # Opens the recording for the labels that it knows itself, and keeps it open, since unpacking it
    # again would take just as long.
    capture = openers[0]()
    openers = (lambda: capture, *openers[1:])
    kernel = capture.header.get("os_release") or (
        capture.bundle and capture.bundle.manifest.host.kernel
    )
    known = {"kernel": str(kernel)} if kernel else {}
    return Run(name, {**known, **(labels or {})}, figures or {}, openers)


def _of_steps(experiment: Experiment, opens: Callable[[Mapping[str, str]], bool]) -> list[Run]:
    # A run per step, and one for the recording of each condition with untraced repeats. opens: is a
    # run with these labels wanted?
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
            # If the trace is missing or unreadable, keep the other measurements.
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
        raise ArgumentError(f"{path} names no runs: it has no column 'path'")
    if table["path"].isna().any():
        raise ArgumentError(f"{path} has a row without a run: its column 'path' is empty there")
    runs = []
    for row in table.to_dict("records"):
        cells = {key: row[key] for key in row if key != "path" and key not in Sidecars._fields}
        opener = partial(open_capture, path.parent / str(row["path"]), **_beside(row, path.parent))
        known = _recorded(str(row["path"]), (opener,), *told_apart(cells))
        runs.append(replace(known, controls=controls_in(cells)))
    return runs


def _beside(row: Mapping[Any, Any], folder: Path) -> dict[str, Any]:
    # The arguments of open_capture in a row; paths are relative to the folder.
    given: dict[str, Any] = {}
    for name in Sidecars._fields:
        value = row.get(name)
        if value is not None and value == value:
            number = {"victim_cpu": int, "tsc_hz": float}.get(name)
            given[name] = number(value) if number else folder / str(value)
    return given
