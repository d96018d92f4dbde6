"""What figures are of, and what made them."""

import sys
from typing import TYPE_CHECKING, NamedTuple

from ..._native import __version__
from ...answers.question import question
from ...capture.checksum import checksum, checksum_of_all

if TYPE_CHECKING:
    from ...capture.capture import Capture
    from ...opening.experiment import Experiment

_LIBRARIES = ("pandas", "numpy", "scipy", "matplotlib")


class Provenance(NamedTuple):
    """What figures are of, and what made them.

    path; sha256: of the file, or of a folder's recording (None for standard input, and for a
    recording that is a folder itself). experiment, experiment_sha256: of its file, or of what
    sha256sum prints of the files of its folder in the order of their names; None where none was
    given. netcost, python: their versions; libraries: others, with theirs.
    """

    path: str
    sha256: str | None
    experiment: str | None
    experiment_sha256: str | None
    netcost: str
    python: str
    libraries: tuple[str, ...]


@question(rows=0)
def provenance(capture: "Capture", experiment: "Experiment | None" = None) -> Provenance:
    """What these figures are of, and what made them: a checksum, and versions.

    - experiment: What else figures are of.

    path, sha256, experiment, experiment_sha256, netcost, python, libraries.

    Source: the capture's files, and the installed versions.
    """
    return Provenance(
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
