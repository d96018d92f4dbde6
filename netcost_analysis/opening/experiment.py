"""An experiment: what an experiment of capture/lab leaves, a step for each condition."""

import io
import json
import re
from collections.abc import Hashable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from msgspec.structs import asdict

from .._native import CaptureError
from ..accessors import OfExperiment
from ..capture.bundle import Bundle, is_bundle
from ..capture.capture import Capture
from ..capture.manifest import Description, struct_of
from ..capture.packed import is_packed, is_packed_experiment, unpacked
from ..capture.packed_sums import is_experiment_folder
from ..units import plural
from .opening import open_capture

if TYPE_CHECKING:
    import pandas as pd


_FORMAT = 1
_PACKED = (".netcost.tar.zst", ".netcost.tar.gz")
# Where a repeat's files are, beside its condition's recording.
_REPEAT = re.compile(r"repeats/([^/]+)/[^/]+")
# A table of steps is small; anything larger is none of ours.
_TEXT_LIMIT_BYTES = 64 << 20


def is_experiment(path: str | Path) -> bool:
    """Whether there is the folder of an experiment, or one in a file as netcost-pack makes it."""
    path = Path(path)
    return is_experiment_folder(path) or is_packed_experiment(path)


def open_experiment(path: str | Path) -> "Experiment":
    """Open what an experiment wrote: capture/lab's, or ``netcost-record --repeat``'s.

    Parameters
    ----------
    path : str or Path
        Its folder, or that folder in one file as netcost-pack makes it.

    Returns
    -------
    Experiment
        Its steps, and their recordings.

    Raises
    ------
    CaptureError
        Where it is none, is not whole, or its table is missing or lies outside it.
    OSError
        Where it cannot be read.
    """
    return Experiment(path)


class Experiment(OfExperiment):
    """An experiment: a table of steps, and their recordings; open_experiment makes one.

    Attributes
    ----------
    path : Path
        The folder, or the file that it is packed in, which is unpacked for as long as the
        Experiment is used.
    experiment : dict
        What experiment.json says.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._folder = self.path
        self._open: WeakValueDictionary[str, Capture] = WeakValueDictionary()
        if is_packed(self.path):
            self._held = unpacked(self.path)
            self._folder = self._held.path
        if not is_experiment_folder(self._folder):
            is_one = is_bundle(self._folder)
            what = "it is a single bundle" if is_one else "it has no experiment.json"
            raise CaptureError(f"{self.path} is no experiment: {what}")
        try:
            said = json.loads(self._text("experiment.json"))
        except (ValueError, RecursionError) as error:
            raise CaptureError(f"{self.path}/experiment.json is no JSON: {error}") from None
        described = struct_of(Description, said)
        if described is None or said.get("netcost_experiment") != _FORMAT:
            raise CaptureError(
                f"{self.path}/experiment.json is of no experiment that this netcost reads"
            )
        self.experiment = described

    @cached_property
    def steps(self) -> "pd.DataFrame":
        """A row per step, the columns of its table; bundle (or folder) names the recording.

        Raises CaptureError where the table cannot be read.
        """
        import pandas as pd

        text = self._text(self.experiment.table)
        try:
            return pd.read_csv(io.StringIO(text), sep="\t")
        except (ValueError, pd.errors.ParserError) as error:
            raise CaptureError(f"the table of {self.path} cannot be read: {error}") from None

    def bundle(self, name: str) -> Bundle:
        """The bundle of that name, a folder or a packed file.

        Parameters
        ----------
        name : str
            As the steps name it.

        Returns
        -------
        Bundle
            What was recorded.

        Raises
        ------
        CaptureError
            Without such a recording.
        """
        return Bundle(self.recording(name))

    def capture(self, name: str) -> Capture:
        """The recording of that name, opened as open_capture does.

        Parameters
        ----------
        name : str
            As the steps name it.

        Returns
        -------
        Capture
            The recording.

        Raises
        ------
        CaptureError
            Without such a recording, and as open_capture does.
        """
        # One that somebody holds is not unpacked and read again.
        capture = self._open.get(name)
        if capture is None:
            capture = self._open[name] = open_capture(self.recording(name))
        return capture

    def has(self, name: str) -> bool:
        """Whether the recording of a step is there.

        Parameters
        ----------
        name : str
            As the steps name it.

        Returns
        -------
        bool
            Whether it is.
        """
        return any(True for _ in self._candidates(name))

    def text(self, name: str) -> str | None:
        """The text of one of its files.

        Parameters
        ----------
        name : str
            Its path in the experiment.

        Returns
        -------
        str or None
            The text, None where it has no such file.

        Raises
        ------
        CaptureError
            For a file outside it, or one that is far larger than any of its own.
        """
        return self._text(name) if self._inside(name).is_file() else None

    @cached_property
    def info(self) -> dict[str, Any]:
        """What `netcost info --json` prints of it; fields: docs/cli.md. No trace is read."""
        described = asdict(self.experiment)
        del described["table"]
        return {
            "path": str(self.path),
            **described,
            "steps": [
                {"name": name, "is": self._summary(name), "repeats": repeats}
                for name, repeats in self.recordings.items()
            ],
        }

    @cached_property
    def recordings(self) -> dict[str, int]:
        """The names of the recordings that its steps should have, and each one's untraced repeats.

        Where the table says bundle, a step has one. Where it says folder, a step is a repeat,
        ``repeats/CONDITION/N``, that was not traced: the recording is its condition's.
        """
        found: dict[str, int] = {}
        for row in self.steps.to_dict("records"):
            name, untraced = self.names(row)
            if name:
                found[name] = found.get(name, 0) + bool(_REPEAT.fullmatch(untraced))
        return found

    @staticmethod
    def names(step: Mapping[Hashable, Any]) -> tuple[str, str]:
        """The recording of a step, and the folder of what was measured without a trace.

        Parameters
        ----------
        step : dict
            A row of steps.

        Returns
        -------
        tuple of (str, str)
            Of an untraced repeat the first is its condition's; "" for what the step does not name.
        """
        bundle, folder = (step.get(column) for column in ("bundle", "folder"))
        # A cell without a value is not equal to itself.
        if bundle is not None and bundle == bundle:
            return str(bundle), ""
        if folder is None or folder != folder:
            return "", ""
        repeat = _REPEAT.fullmatch(str(folder))
        return (repeat[1] if repeat else str(folder)), str(folder)

    def _summary(self, name: str) -> str:
        if not self.has(name):
            return "no recording"
        bundle = self.bundle(name)
        return f"{bundle.manifest.trace or 'no trace'}, {bundle.summary}"

    @property
    def recording_to_name(self) -> str:
        """What to name instead, for what takes a recording and no experiment."""
        first = next(filter(self.has, self.recordings), None)
        if first is None:
            return "none of its steps has one"
        if self.path.is_file():
            return "unpack it with tar -xf, and name one of its steps"
        return f"name one of its steps, as {self.recording(first)}"

    def recording(self, name: str) -> Path:
        """Where the recording of that name is.

        Parameters
        ----------
        name : str
            As the steps name it.

        Returns
        -------
        Path
            A bundle's folder or file.

        Raises
        ------
        CaptureError
            Without such a recording.
        """
        for path in self._candidates(name):
            return path
        raise CaptureError(f"the experiment {self.path} has no recording {name!r}")

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
        # An experiment comes from a stranger, as a bundle does.
        path = self._folder / name
        if not path.resolve().is_relative_to(self._folder.resolve()):
            raise CaptureError(f"the experiment {self.path} names {name!r}, which is outside it")
        return path

    def __repr__(self) -> str:
        steps, said = plural(len(self.steps), "step"), self.experiment
        return f"Experiment {self.path}: {said.experiment}, {steps}, kernel {said.kernel}"
