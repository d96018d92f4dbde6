"""An experiment, as capture/lab writes it: a table of steps, one per condition."""

import csv
import io
import json
import re
from collections.abc import Callable, Hashable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from msgspec.structs import asdict

from .._native import CaptureError
from ..accessors import OfExperiment
from ..capture.bundle import Bundle
from ..capture.bundle_files import PACKED, is_bundle
from ..capture.capture import Capture
from ..capture.folder import Folder, read_text
from ..capture.manifest import Description
from ..capture.packed import is_experiment_folder, is_packed, is_packed_experiment, unpacked
from ..parsers.typed_json import struct_of
from ..units import plural
from .opening import open_capture

if TYPE_CHECKING:
    import pandas as pd

_FORMAT = 1
# The folder of a repeat's files, beside its condition's recording.
_REPEAT = re.compile(r"repeats/([^/]+)/[^/]+")


def is_experiment(path: str | Path) -> bool:
    """Whether a path is an experiment's folder, or one that netcost-pack packed into a file."""
    path = Path(path)
    return is_experiment_folder(path) or is_packed_experiment(path)


def open_experiment(path: str | Path) -> "Experiment":
    """Open an experiment that capture/lab or ``netcost-record --repeat`` wrote.

    Parameters
    ----------
    path : str or Path
        Its folder, or the file that netcost-pack packed it into.

    Returns
    -------
    Experiment
        Its steps and their recordings.

    Raises
    ------
    CaptureError
        If it is not an experiment or not whole, or its table is missing or outside it.
    OSError
        If it cannot be read.
    """
    return Experiment(path)


class _Files(Folder):
    _kind = "the experiment"


class Experiment(OfExperiment):
    """An experiment: a table of steps, and their recordings; open_experiment makes one.

    Attributes
    ----------
    path : Path
        The folder, or the packed file, which stays unpacked for as long as the Experiment is in
        use.
    experiment : Description
        The typed contents of experiment.json.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = folder = Path(path)
        self._open: WeakValueDictionary[str, Capture] = WeakValueDictionary()
        if is_packed(self.path):
            self._held = unpacked(self.path)
            folder = self._held.path
        self._files = _Files(folder)
        if not is_experiment_folder(folder):
            what = "is a single bundle" if is_bundle(folder) else "has no experiment.json"
            raise CaptureError(f"{self.path} is not an experiment: it {what}")
        try:
            fields = json.loads(read_text(self._files.inside("experiment.json")))
        except (ValueError, RecursionError) as error:
            raise CaptureError(f"{self.path}/experiment.json is not JSON: {error}") from None
        described = struct_of(Description, fields)
        if described is None or fields.get("netcost_experiment") != _FORMAT:
            raise CaptureError(
                f"{self.path}/experiment.json describes no experiment that this netcost reads"
            )
        self.experiment = described

    def _read(self, read: Callable[[io.StringIO], Any]) -> Any:
        # Reads the table of steps with a parser of the caller's.
        text = self._files.text(self.experiment.table)
        if text is None:
            raise CaptureError(f"{self.path} has no table {self.experiment.table!r}")
        try:
            return read(io.StringIO(text))
        except (ValueError, csv.Error) as error:
            raise CaptureError(f"the table of {self.path} cannot be read: {error}") from None

    @cached_property
    def steps(self) -> "pd.DataFrame":
        """A row per step, with its table's columns; bundle (or folder) names the recording.

        Raises CaptureError if the table cannot be read.
        """
        import pandas as pd

        steps: pd.DataFrame = self._read(partial(pd.read_csv, sep="\t"))
        return steps

    def bundle(self, name: str) -> Bundle:
        """The bundle of that name, a folder or a packed file.

        Parameters
        ----------
        name : str
            As the steps name it.

        Returns
        -------
        Bundle
            The bundle.

        Raises
        ------
        CaptureError
            If there is no recording of that name.
        """
        return Bundle(self.recording(name))

    def capture(self, name: str) -> Capture:
        """The recording of that name, opened with open_capture.

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
            If there is no recording of that name, and as open_capture.
        """
        # Reuse a capture that is still in use instead of unpacking and reading it again.
        capture = self._open.get(name)
        if capture is None:
            capture = self._open[name] = open_capture(self.recording(name))
        return capture

    def has(self, name: str) -> bool:
        """Whether the recording of a step exists.

        Parameters
        ----------
        name : str
            As the steps name it.

        Returns
        -------
        bool
            Whether it exists.
        """
        return bool(self._candidates(name))

    def text(self, name: str) -> str | None:
        """The text of one of its files.

        Parameters
        ----------
        name : str
            Its path in the experiment.

        Returns
        -------
        str or None
            The text, None if there is no such file.

        Raises
        ------
        CaptureError
            For a file outside the experiment, or one far larger than any that it writes.
        """
        return self._files.text(name)

    @cached_property
    def info(self) -> dict[str, Any]:
        """The output of `netcost info --json`; fields: docs/cli.md. No trace is read."""
        steps = []
        for name, repeats in self.recordings.items():
            is_ = "no recording"
            if self.has(name):
                bundle = self.bundle(name)
                is_ = f"{bundle.manifest.trace or 'no trace'}, {bundle.summary}"
            steps.append({"name": name, "is": is_, "repeats": repeats})
        described = asdict(self.experiment)
        del described["table"]
        return {"path": str(self.path), **described, "steps": steps}

    @cached_property
    def recordings(self) -> dict[str, int]:
        """The recordings that its steps should have, by name, and the untraced repeats of each.

        A step with a bundle has a recording of its own. A step with a folder,
        ``repeats/CONDITION/N``, is an untraced repeat; the recording is its condition's.
        """
        repeats: dict[str, int] = {}
        # Like steps, but without pandas.
        for row in self._read(lambda text: [*csv.DictReader(text, restkey="", delimiter="\t")]):
            if "" in row:
                raise CaptureError(
                    f"the table of {self.path} has a line with more cells than its first"
                )
            name, untraced = self.names({key: cell or None for key, cell in row.items()})
            if name:
                repeats[name] = repeats.get(name, 0) + bool(_REPEAT.fullmatch(untraced))
        return repeats

    @staticmethod
    def names(step: Mapping[Hashable, Any]) -> tuple[str, str]:
        """The recording of a step, and the folder of its measurements without a trace.

        Parameters
        ----------
        step : dict
            A row of steps.

        Returns
        -------
        tuple of (str, str)
            For an untraced repeat the first is its condition's; "" for what the step does not name.
        """
        bundle, folder = (step.get(column) for column in ("bundle", "folder"))
        # pandas marks an empty cell as NaN, which does not equal itself.
        if bundle is not None and bundle == bundle:
            return str(bundle), ""
        if folder is None or folder != folder:
            return "", ""
        repeat = _REPEAT.fullmatch(str(folder))
        return (repeat[1] if repeat else str(folder)), str(folder)

    @property
    def recording_to_name(self) -> str:
        """A hint for commands that take a recording rather than an experiment."""
        first = next(filter(self.has, self.recordings), None)
        if first is None:
            return "none of its steps has one"
        if self.path.is_file():
            return "unpack it with tar -xf, and name one of its steps"
        return f"name one of its steps, as {self.recording(first)}"

    def recording(self, name: str) -> Path:
        """The path of the recording of that name.

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
            If there is no recording of that name.
        """
        if candidates := self._candidates(name):
            return candidates[0]
        raise CaptureError(f"the experiment {self.path} has no recording {name!r}")

    def _candidates(self, name: str) -> list[Path]:
        if not name:
            # The step names no recording.
            return []
        folder, *packed = (self._files.inside(f"{name}{ending}") for ending in ("", *PACKED))
        return [folder] * is_bundle(folder) + [path for path in packed if path.is_file()]

    def __repr__(self) -> str:
        steps, about = plural(len(self.steps), "step"), self.experiment
        return f"Experiment {self.path}: {about.experiment}, {steps}, kernel {about.kernel}"
