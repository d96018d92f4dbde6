# How a sweep was made, and the command that repeats it.

import sys

from ..._native import __version__
from ...answers.answer import Answer
from ...answers.question import question
from ...capture.checksum import checksum_of_all
from ...opening.experiment import Experiment
from ..completeness.provenance import versions


@question(rows=0)
def made_by(experiment: Experiment) -> Answer:
    """How an experiment was made: kernel, times, checksum, versions, and the command to repeat it.

    sha256 is of its file, or of what sha256sum prints for the files of its folder in the order of
    their names. Source: experiment.json, the files, and the installed versions.
    """
    said = experiment.experiment
    return Answer(
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
