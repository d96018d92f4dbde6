"""An experiment: what an experiment of capture/lab leaves, a step for each condition."""

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
from ..capture.packed import is_packed, is_packed_experiment, unpacked
from ..capture.packed_sums import is_experiment_folder
from ..parsers.typed_json import struct_of
from ..units import plural
from .opening import open_capture

if TYPE_CHECKING:
    import pandas as pd

_FORMAT = 1
# Where a repeat's files are, beside its condition's recording.
_REPEAT = re.compile(r"repeats/([^/]+)/[^/]+")


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


class _Files(Folder):
    _kind = "the experiment"


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
        self.path = folder = Path(path)
        self._open: WeakValueDictionary[str, Capture] = WeakValueDictionary()
        if is_packed(self.path):
            self._held = unpacked(self.path)
            folder = self._held.path
        self._files = _Files(folder)
        if not is_experiment_folder(folder):
            what = "is a single bundle" if is_bundle(folder) else "has no experiment.json"
            raise CaptureError(f"{self.path} is no experiment: it {what}")
        try:
            said = json.loads(read_text(self._files.inside("experiment.json")))
        except (ValueError, RecursionError) as error:
            raise CaptureError(f"{self.path}/experiment.json is no JSON: {error}") from None
        described = struct_of(Description, said)
        if described is None or said.get("netcost_experiment") != _FORMAT:
            raise CaptureError(
                f"{self.path}/experiment.json is of no experiment that this netcost reads"
            )
        self.experiment = described

    def _read(self, read: Callable[[io.StringIO], Any]) -> Any:
        # The table of steps, in either way of reading it.
        text = self._files.text(self.experiment.table)
        if text is None:
            raise CaptureError(f"{self.path} has no table {self.experiment.table!r}")
        try:
            return read(io.StringIO(text))
        except (ValueError, csv.Error) as error:
            raise CaptureError(f"the table of {self.path} cannot be read: {error}") from None

    @cached_property
    def steps(self) -> "pd.DataFrame":
        """A row per step, the columns of its table; bundle (or folder) names the recording.

        Raises CaptureError where the table cannot be read.
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
            The text, None where it has no such file.

        Raises
        ------
        CaptureError
            For a file outside it, or one that is far larger than any of its own.
        """
        return self._files.text(name)

    @cached_property
    def info(self) -> dict[str, Any]:
        """What `netcost info --json` prints of it; fields: docs/cli.md. No trace is read."""
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
        """The names of the recordings that its steps should have, and each one's untraced repeats.

        Where the table says bundle, a step has one. Where it says folder, a step is a repeat,
        ``repeats/CONDITION/N``, that was not traced: the recording is its condition's.
        """
        repeats: dict[str, int] = {}
        # As steps, without pandas.
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
        if candidates := self._candidates(name):
            return candidates[0]
        raise CaptureError(f"the experiment {self.path} has no recording {name!r}")

    def _candidates(self, name: str) -> list[Path]:
        if not name:
            # A step that names no recording.
            return []
        folder, *packed = (self._files.inside(f"{name}{ending}") for ending in ("", *PACKED))
        return [folder] * is_bundle(folder) + [path for path in packed if path.is_file()]

    def __repr__(self) -> str:
        steps, said = plural(len(self.steps), "step"), self.experiment
        return f"Experiment {self.path}: {said.experiment}, {steps}, kernel {said.kernel}"
