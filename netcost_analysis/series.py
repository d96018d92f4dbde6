"""A series of recordings: what an experiment of capture/lab leaves, a step for each condition."""

import io
import json
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from ._native import CaptureError
from .bundle import Bundle, is_bundle
from .capture import Capture, open_capture

_FORMAT = 1
_PACKED = (".netcost.tar.zst", ".netcost.tar.gz")
# A table of steps is small; anything larger is none of ours.
_TEXT_LIMIT_BYTES = 64 << 20


def is_series(path: str | Path) -> bool:
    """Whether there is a folder with an ``experiment.json``."""
    return (Path(path) / "experiment.json").is_file()


def open_series(path: str | Path) -> "Series":
    """Open the folder that an experiment of capture/lab wrote.

    Raises CaptureError where it is none, or its table is missing or lies outside it.
    """
    return Series(path)


class Series:
    """An experiment's folder.

    path: the folder. experiment: what experiment.json says (experiment, command, kernel, started,
    ended, victim_cpu, load_cpu, table, notes).
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not is_series(self.path):
            raise CaptureError(f"{self.path} is no series: it has no experiment.json")
        try:
            self.experiment: dict[str, Any] = json.loads(self._text("experiment.json"))
        except (ValueError, RecursionError) as error:
            raise CaptureError(f"{self.path}/experiment.json is no JSON: {error}") from None
        if not isinstance(self.experiment, dict) or (
            self.experiment.get("netcost_experiment") != _FORMAT
        ):
            raise CaptureError(
                f"{self.path}/experiment.json is of no experiment that this netcost reads"
            )

    @cached_property
    def steps(self) -> pd.DataFrame:
        """A row per step, the columns of its table; bundle (or folder) names the recording."""
        text = self._text(str(self.experiment.get("table") or "steps.tsv"))
        try:
            return pd.read_csv(io.StringIO(text), sep="\t")
        except (ValueError, pd.errors.ParserError) as error:
            raise CaptureError(f"the table of {self.path} cannot be read: {error}") from None

    def bundle(self, name: str) -> Bundle:
        """The bundle of that name, a folder or a packed file. Raises CaptureError without it."""
        return Bundle(self._recording(name))

    def capture(self, name: str) -> Capture:
        """The same, opened as open_capture does."""
        return open_capture(self._recording(name))

    def has(self, name: str) -> bool:
        """Whether the recording of a step is there."""
        return any(True for _ in self._candidates(name))

    def _recording(self, name: str) -> Path:
        for path in self._candidates(name):
            return path
        raise CaptureError(f"the series {self.path} has no recording {name!r}")

    def _candidates(self, name: str) -> list[Path]:
        folder = self._inside(name)
        packed = [self._inside(f"{name}{ending}") for ending in _PACKED]
        return [folder] * is_bundle(folder) + [path for path in packed if path.is_file()]

    def _text(self, name: str) -> str:
        path = self._inside(name)
        if not path.is_file() or path.stat().st_size > _TEXT_LIMIT_BYTES:
            raise CaptureError(f"{self.path} has no table {name!r}")
        return path.read_text(encoding="utf-8", errors="replace")

    def _inside(self, name: str) -> Path:
        # A series comes from a stranger, as a bundle does.
        path = self.path / name
        if not path.resolve().is_relative_to(self.path.resolve()):
            raise CaptureError(f"the series {self.path} names {name!r}, which is outside it")
        return path

    def __repr__(self) -> str:
        experiment = self.experiment
        return (
            f"Series {self.path}: {experiment.get('experiment')}, {len(self.steps)} steps, "
            f"kernel {experiment.get('kernel')}"
        )
