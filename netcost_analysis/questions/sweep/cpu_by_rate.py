# What mpstat says of the CPU at each rate.

import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...opening.experiment import Experiment
from ...parsers.mpstat import KINDS
from .step_figures import figures_of
from .steps import require_steps

# Left out where they are 0 throughout.
_LEFT_OUT = ("steal_share", "guest_share", "gnice_share")
# From this share on, mpstat's interval counts as within the victim's run.
_WITHIN = 0.95


@question(check=require_steps, rows=80)
def cpu_by_rate(experiment: Experiment) -> Answer:
    """What mpstat shows for the measured CPU at each rate on each data path.

    A row per step, by curve and rate, without those of steal_share, guest_share and gnice_share
    that are 0 throughout; network_share is the trace's. The intervals of mpstat are those within
    the victim's run. Where no whole one lies within it, they are those that overlap the run, and
    in_run_share is the part within it. The trace is of the run alone, so where in_run_share is far
    below 1 the two cover different times. `partly`: how many steps have no whole interval.

    Source: mpstat beside each recording, and the trace's sums.
    """
    names = (*(f"{kind}_share" for kind in KINDS), "network_share", "in_run_share")
    rows = [
        (one.step.curve, one.step.offered, *(one.value(name) for name in names))
        for one in figures_of(experiment)
    ]
    frame = pd.DataFrame(rows, columns=["curve", "offered", *names])
    if frame["soft_share"].isna().all():
        raise CaptureError(f"{experiment.path}: mpstat was not recorded beside any step")
    inside = frame["in_run_share"]
    return Answer(
        frame.drop(columns=[name for name in _LEFT_OUT if not frame[name].any()]),
        partly=int((inside < _WITHIN).sum()),
        least_in_run_share=float(inside.min()),
    )
