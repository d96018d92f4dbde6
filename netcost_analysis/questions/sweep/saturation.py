# Where a curve ends: signs of saturation, what limits it, and what its costs predict.

from typing import Any

import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...opening.experiment import Experiment
from ..batches.curves import FULL
from ..batches.rate_curve import rate_curve
from .step_figures import Figures, figures_of
from .steps import require_steps

# A path that loses more than this share of what was sent is saturated.
LOST = 0.01
# A sender below this share of the rate asked for is at its own limit. If polls then bring less than
# this share of the load's mean rate while the CPU is measured, a full CPU held the sender back.
SENT = 0.95
# From this share of the CPU on networking has all of it.
ALL = 0.95
# A victim's share beside kernel threads of the same weight.
HALF = 0.5
_SIGNS = ("dropped", "victim_floor", "cpu_full")
# Columns of rate_curve.
_COSTS = ("packet_part_ns", "poll_part_ns", "expected_share")


@question(
    check=require_steps,
    rows=30,
    columns=(
        *("curve", "most_rate_per_s", "limited_by", "found_per_s", "found_by"),
        *("full_rate_per_s", "shared_rate_per_s"),
    ),
)
def saturation(experiment: Experiment) -> Answer:
    """Where each curve of a sweep ends: the end found, what limits it, and the end predicted.

    A row per curve; expected_share and network_share are of its fastest step.

    A CPU is found full where networking has 95 % of it (cpu_full). It is also full where networking
    shares it in kernel threads with a victim that has no more than half (victim_floor). The end of
    a curve is:

    - the path's (path), where more than 1 % of what was sent did not arrive.
    - the CPU's (cpu), where nothing was lost, but the CPU was full in the fastest step. While it
      was measured, 5 % less arrived than the load sent over all its run.
    - the sender's, else, where the fastest step was asked for max, or for more than the sender sent
      (by 5 %). It says nothing about the path.

    The prediction uses packet_part_ns and poll_part_ns of rate_curve, learnt from the curve's
    slower steps. In polls of 64 packets a CPU does full_rate_per_s packets a second by itself.
    Beside a victim of the same weight it does half of that (shared_rate_per_s).

    Source: the steps of by_rate, and rate_curve.
    """
    curves: dict[str, list[Figures]] = {}
    for one in figures_of(experiment):
        curves.setdefault(one.step.curve, []).append(one)
    try:
        costs = rate_curve(experiment).frame.set_index("bundle")
    except CaptureError:
        costs = pd.DataFrame(columns=list(_COSTS))
    frame = pd.DataFrame([_row(name, steps, costs) for name, steps in curves.items()])
    ends = frame["limited_by"].value_counts()
    names = ("path", "cpu", "sender")
    return Answer(frame, **{f"{name}s_end": int(ends.get(name, 0)) for name in names})


def _row(curve: str, steps: list[Figures], costs: pd.DataFrame) -> dict[str, Any]:
    ordered = sorted(steps, key=_speed)
    fastest = ordered[-1]
    first = next((one for one in ordered if _signs(one)), None)
    name = fastest.step.name
    known = {of: float(costs[of].get(name, float("nan"))) for of in _COSTS}
    each = known["packet_part_ns"] + known["poll_part_ns"] / FULL
    full = 1e9 / each if each > 0 else float("nan")
    return {
        "curve": curve,
        "most_offered": fastest.step.offered,
        "most_rate_per_s": _speed(fastest),
        "sent_pps": fastest.value("sent_pps"),
        "reached_pps": fastest.value("reached_pps"),
        "limited_by": limited_by(ordered),
        "found_per_s": _speed(first) if first else float("nan"),
        "found_offered": first.step.offered if first else None,
        "found_by": ", ".join(_signs(first)) if first else "",
        **known,
        "full_rate_per_s": full,
        "shared_rate_per_s": HALF * full,
        "network_share": fastest.value("network_share"),
    }


def _speed(one: Figures) -> float:
    # Packets per second: from the trace, else from counters.
    speeds = (one.value(name) for name in ("rate_per_s", "reached_pps", "sent_pps"))
    return next((speed for speed in speeds if speed == speed), -1.0)


def _lost(one: Figures) -> bool:
    dropped, sent = one.value("dropped_share"), one.value("sent_pps")
    return dropped > LOST or one.value("reached_pps") < (1 - LOST) * sent


def _signs(one: Figures) -> list[str]:
    # Comparisons with NaN are False.
    share = one.value("network_share")
    floor = one.value("victim_share") <= HALF and one.value("scheduled_share") > share / 2
    found = (_lost(one), floor, share >= ALL)
    return [name for name, here in zip(_SIGNS, found, strict=True) if here]


def limited_by(steps: list[Figures]) -> str | None:
    # steps: of one curve, the fastest last. None where what was sent was not counted.
    if any(map(_lost, steps)):
        return "path"
    fastest = steps[-1]
    sent, offered = fastest.value("sent_pps"), fastest.step.offered_pps
    if sent != sent:
        return None
    if _signs(fastest) and fastest.value("rate_per_s") < SENT * sent:
        return "cpu"
    return "none" if sent >= SENT * offered else "sender"
