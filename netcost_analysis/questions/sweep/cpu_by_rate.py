# The table of document 002, of a sweep's own: what mpstat says of the CPU at each rate.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...opening.experiment import Experiment
from ...parsers.mpstat import KINDS
from .by_rate import keys_of
from .measure import figures_of
from .steps import require_steps

if TYPE_CHECKING:
    from ...answers.answer import Answer

# As that document leaves out %steal, %guest and %gnice where they are 0.
_LEFT_OUT = ("steal", "guest", "gnice")
# mpstat's interval is the victim's run up to so much.
_WITHIN = 0.95


@question(topic="sweep", check=require_steps, rows=80)
def cpu_by_rate(experiment: Experiment) -> pd.DataFrame:
    """What mpstat says of the measured CPU at each rate on each data path.

    - experiment: A sweep, recorded with mpstat beside it.

    A row per step, by curve and rate: curve, offered, usr_share, nice_share, sys_share,
    iowait_share, irq_share, soft_share, idle_share, those of steal_share, guest_share and
    gnice_share that are not 0 throughout, network_share (the trace's), in_run_share.

    Source: mpstat's intervals within the victim's run; where no whole one is, those that the run
    shares, and in_run_share is how much of them. The trace is of the run alone, so where that is
    far below 1 the two are not of the same time.
    """
    rows = []
    for one in figures_of(experiment):
        keys = keys_of(one)
        names = (*(f"{kind}_share" for kind in KINDS), "network_share", "in_run_share")
        rows.append(
            {
                "curve": keys["curve"],
                "offered": keys["offered"],
                **{name: one.value(name) for name in names},
            }
        )
    frame = pd.DataFrame(rows)
    if frame["soft_share"].isna().all():
        raise CaptureError(f"{experiment.path}: mpstat was not recorded beside any step")
    nothing = [f"{kind}_share" for kind in _LEFT_OUT if not frame[f"{kind}_share"].any()]
    return frame.drop(columns=nothing)


@cpu_by_rate.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # partly: how many steps have no interval of mpstat's within the run, and least_in_run_share.
    inside = answer.frame["in_run_share"]
    return {
        "partly": int((inside < _WITHIN).sum()),
        "least_in_run_share": float(inside.min()),
    }


@cpu_by_rate.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {name: answer.parts[name] for name in ("partly", "least_in_run_share")}
