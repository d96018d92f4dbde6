# How a sweep was made, and how it is made again.

import sys
from typing import TYPE_CHECKING, NamedTuple

from ..._native import __version__
from ...answers.question import question
from ...capture.checksum import checksum_of_all
from ...opening.experiment import Experiment
from ..completeness.provenance import versions

if TYPE_CHECKING:
    pass


class MadeBy(NamedTuple):
    """How an experiment was made.

    path; sha256: of its file, or of what sha256sum prints of the files of its folder in the order
    of their names. experiment: its kind; kernel, started, ended, command: as it says, None where it
    does not; step_count: lines of its table, recording_count: those with a recording. notes: its
    own. netcost, python, libraries: what computed the figures.
    """

    path: str
    sha256: str
    experiment: str | None
    kernel: str | None
    started: str | None
    ended: str | None
    command: str | None
    step_count: int
    recording_count: int
    notes: tuple[str, ...]
    netcost: str
    python: str
    libraries: tuple[str, ...]


@question(topic="sweep", rows=0)
def made_by(experiment: Experiment) -> MadeBy:
    """How an experiment was made: kernel, times, checksum, versions, and the command to repeat it.

    - experiment: Any.

    path, sha256, experiment, kernel, started, ended, command, step_count, recording_count, notes,
    netcost, python, libraries.

    Source: experiment.json, the files, and the installed versions.
    """
    said = experiment.experiment
    return MadeBy(
        path=str(experiment.path),
        sha256=checksum_of_all(experiment.path),
        experiment=said.experiment,
        kernel=said.kernel,
        started=said.started,
        ended=said.ended,
        command=said.command,
        step_count=len(experiment.steps),
        recording_count=sum(map(experiment.has, experiment.recordings)),
        notes=tuple(said.notes),
        netcost=__version__,
        python=".".join(map(str, sys.version_info[:3])),
        libraries=versions(),
    )
