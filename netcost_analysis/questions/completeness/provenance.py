"""What figures are of, and what made them."""

import sys
from typing import TYPE_CHECKING

from ..._native import __version__
from ...answers.answer import Answer
from ...answers.question import question
from ...capture.checksum import checksum, checksum_of_all

if TYPE_CHECKING:
    from ...capture.capture import Capture
    from ...opening.experiment import Experiment

_LIBRARIES = ("pandas", "numpy", "scipy", "matplotlib")


@question(rows=0)
def provenance(capture: "Capture", experiment: "Experiment | None" = None) -> Answer:
    """What these figures are of, and what made them: a checksum, and versions.

    sha256 is of the file, or of a folder's recording. Standard input has none, nor has a recording
    that is itself a folder. An experiment's folder has that of what sha256sum prints of its files
    in the order of their names. Source: the capture's files, and the installed versions.
    """
    return Answer(
        path=capture.path,
        sha256=checksum(capture),
        experiment=str(experiment.path) if experiment else None,
        experiment_sha256=checksum_of_all(experiment.path) if experiment else None,
        netcost=__version__,
        python=".".join(map(str, sys.version_info[:3])),
        libraries=versions(),
    )


def versions() -> tuple[str, ...]:
    """The libraries that figures rest on, with their versions."""
    from importlib.metadata import version

    return tuple(f"{name} {version(name)}" for name in _LIBRARIES)
