# Where a curve ends: what was found there, whose end it is, and what polls and packets predict.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...opening.experiment import Experiment
from ..batches.curves import FULL
from ..batches.rate_curve import rate_curve
from .measure import Figures, figures_of
from .steps import require_steps

if TYPE_CHECKING:
    from ...answers.answer import Answer

# Lost, of what was sent: a path that drops more is saturated.
LOST = 0.01
# Sent, of what was asked for: a sender that gets no further is at its own ceiling. Polled while it
# was measured, of what was sent in the mean of the load's run: less, and a full CPU held it back.
SENT = 0.95
# Of the CPU: networking alone has all of it.
ALL = 0.95
# Of the CPU: where networking runs in kernel threads, the scheduler leaves a victim of the same
# weight a half.
HALF = 0.5
_ENDS = ("path", "cpu", "sender")
_SIGNS = ("dropped", "victim_floor", "cpu_full")


@question(
    topic="sweep",
    check=require_steps,
    rows=30,
    columns=(
        *("curve", "most_rate_per_s", "limited_by", "found_per_s", "found_by"),
        *("full_rate_per_s", "shared_rate_per_s"),
    ),
)
def saturation(experiment: Experiment) -> pd.DataFrame:
    """Where each curve of a sweep ends: found, whose end it is, predicted from its slower steps.

    - experiment: A sweep.

    A row per curve: curve, most_offered (of its fastest step), most_rate_per_s, sent_pps,
    reached_pps, limited_by (path, cpu, sender, or none where all came as offered), found_per_s (the
    lowest rate with a sign of saturation, NaN without one), found_offered, found_by (the signs:
    dropped, victim_floor, cpu_full), packet_part_ns, poll_part_ns, full_rate_per_s,
    shared_rate_per_s, expected_share, network_share (both of the fastest step).

    A CPU is found full where networking has 95 % of it (cpu_full), or shares it in kernel threads
    with a victim that has no more than half (victim_floor). A path limits a curve where more than 1
    % of what was sent did not arrive (path); where nothing was lost, but the CPU was full in the
    fastest step, and while it was measured 5 % less came by than the load sent over all its run,
    the CPU does (cpu). Else, where the fastest step was asked for max, or for more than the sender
    sent (by 5 %), the end is the sender's, and says nothing of the path. Predicted: with
    packet_part_ns and poll_part_ns of rate_curve, learnt from the curve's slower steps, in polls of
    64 packets a CPU does full_rate_per_s packets a second by itself, and half of that
    (shared_rate_per_s) beside a victim of the same weight.

    Source: the steps of by_rate, and rate_curve.
    """
    curves: dict[str, list[Figures]] = {}
    for one in figures_of(experiment):
        curves.setdefault(one.step.curve, []).append(one)
    try:
        costs = rate_curve(experiment).frame.set_index("bundle")
    except CaptureError:
        costs = pd.DataFrame(columns=list(_COSTS))
    return pd.DataFrame([_row(name, of, costs) for name, of in curves.items()])


_COSTS = ("packet_part_ns", "poll_part_ns", "expected_share")


def _row(curve: str, steps: list[Figures], costs: pd.DataFrame) -> dict[str, Any]:
    ordered = sorted(steps, key=_speed)
    fastest = ordered[-1]
    signs = [(one, _signs(one)) for one in ordered]
    first = next(((one, found) for one, found in signs if found), None)
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
        "found_per_s": _speed(first[0]) if first else float("nan"),
        "found_offered": first[0].step.offered if first else None,
        "found_by": ", ".join(first[1]) if first else "",
        **known,
        "full_rate_per_s": full,
        "shared_rate_per_s": HALF * full,
        "network_share": fastest.value("network_share"),
    }


def _speed(one: Figures) -> float:
    # Packets a second: by the trace, else by counters.
    for name in ("rate_per_s", "reached_pps", "sent_pps"):
        if one.value(name) == one.value(name):
            return one.value(name)
    return -1.0


def _lost(one: Figures) -> bool:
    dropped, sent = one.value("dropped_share"), one.value("sent_pps")
    return dropped > LOST or one.value("reached_pps") < (1 - LOST) * sent


def _signs(one: Figures) -> list[str]:
    # Comparisons with what is not known are False.
    share = one.value("network_share")
    floor = one.value("victim_share") <= HALF and one.value("scheduled_share") > share / 2
    found = (_lost(one), floor, share >= ALL)
    return [name for name, here in zip(_SIGNS, found, strict=True) if here]


def limited_by(steps: list[Figures]) -> str | None:
    # steps: of one curve, the fastest last. None where nobody counted what was sent.
    if any(map(_lost, steps)):
        return "path"
    fastest = steps[-1]
    sent, offered = fastest.value("sent_pps"), fastest.step.offered_pps
    if sent != sent:
        return None
    if _signs(fastest) and fastest.value("rate_per_s") < SENT * sent:
        return "cpu"
    return "none" if sent >= SENT * offered else "sender"


@saturation.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # paths_end, cpus_end, senders_end: how many curves end so.
    by = answer.frame["limited_by"]
    return {f"{name}s_end": int((by == name).sum()) for name in _ENDS}


@saturation.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {
        "rows": answer.frame.astype(object).to_dict("records"),
        **{name: answer.parts[name] for name in map("{}s_end".format, _ENDS)},
    }
