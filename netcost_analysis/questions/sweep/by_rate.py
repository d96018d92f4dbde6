# What each step of a sweep costs and what arrives, a row for each data path and rate; and where
# curves end: signs of saturation, what limits them, and what their costs predict.

from typing import Any

import pandas as pd

from ... import plots
from ..._native import CaptureError
from ...answers.question import Answer, question
from ...display.tables import first_row
from ...frames import most_first
from ...opening.experiment import Experiment
from ..batches.curves import FULL
from ..batches.rate_curve import rate_curve
from .step_figures import HOPS, UNITS, Figures, dropped_at, figures_of
from .steps import require_steps

KEYS = ("curve", "data_path", "steering", "destinations", "victim_kind", "offered", "step")
_INTERVAL = (
    *("curve", "offered", "step", "metric", "per_unit", "measured_value", "measured_low"),
    *("measured_high", "observed_in", "observations"),
)
_DROPS = ("curve", "offered", "step", "hop", "dropped", "dropped_per_s", "dropped_share")


@question(
    check=require_steps,
    rows=80,
    columns=(
        *("curve", "offered", "network_share", "victim_share", "batch_mean"),
        *("network_ns_per_packet", "rate_per_s", "reached_pps", "dropped_share"),
    ),
)
def by_rate(experiment: Experiment) -> Answer:
    """What each packet rate costs on each data path, and how many packets arrive, with intervals.

    A row per step, by curve and rate; `intervals` has each of its figures, `drops` each hop. A step
    is measured while its victim ran, on the victim's CPU. If it has no victim throughout, it is
    measured on the CPU that the experiment names for the packets, else on all CPUs.

    With 6 repeats or more a figure is the median over repeats, and its interval is over repeats.
    With fewer, the interval of a figure from the trace is over the blocks of time of its
    recordings. What was counted once for a run has no interval then. Intervals: permutation. From
    sent_pps to dropped_share all figures are of the load's whole run, which begins before the
    victim's.

    Source: the trace's sums and polls, the counters in the experiment's table, mpstat, and
    `/proc/PID` or pidstat of daemons.
    """
    figures = figures_of(experiment)
    steps = [
        {
            **keys_of(one),
            "step_runs": len(one.step.runs),
            "recorded_runs": len(one.step.recorded),
            "lacking_runs": one.step.lacking,
            "measured_cpu": one.step.cpu,
            **{name: one.value(name) for name in UNITS},
        }
        for one in figures
    ]
    rows = pd.DataFrame(steps)
    intervals = [row for one in figures for row in _intervals(one)]
    drops = pd.DataFrame([row for one in figures for row in _drops(one)], columns=list(_DROPS))
    measured = rows[rows["network_share"].notna()]
    ends = [
        {"curve": str(name), "first": first_row(curve), "last": first_row(curve[-1:])}
        for name, curve in measured.groupby("curve", sort=False)
    ]
    return Answer(
        by_rate=rows,
        intervals=pd.DataFrame(intervals, columns=list(_INTERVAL)),
        drops=drops,
        curve_ends=ends,
        unmeasured=len(rows) - len(measured),
        lacking=int(rows["lacking_runs"].sum()),
        dropped_most=_most(drops[drops["dropped"] > 0], "dropped_share"),
        counted_drops=len(drops),
        daemons_most=_most(rows, "daemon_cpu_share"),
    )


def keys_of(figures: Figures) -> dict[str, Any]:
    # The columns that identify a step's row.
    step = figures.step
    labels = {"victim_kind" if name == "victim" else name: of for name, of in step.labels.items()}
    known = {"curve": step.curve, "data_path": step.data_path, "offered": step.offered}
    return {name: {**labels, **known, "step": step.name}.get(name) for name in KEYS}


def _intervals(figures: Figures) -> list[dict[str, Any]]:
    keys = keys_of(figures)
    return [
        {
            **keys,
            "metric": name,
            "per_unit": UNITS[name],
            **{f"measured_{part}": value for part, value in measured._asdict().items()},
            "observed_in": figures.of[name][0],
            "observations": figures.of[name][1],
        }
        for name, measured in figures.values.items()
    ]


def _drops(figures: Figures) -> list[dict[str, Any]]:
    # The sums over all repeats.
    rows = []
    runs = [run for run in figures.step.runs if run.figures.get("sent_pps")]
    for hop in HOPS:
        known = [run for run in runs if dropped_at(run, hop) == dropped_at(run, hop)]
        if known:
            dropped = sum(dropped_at(run, hop) for run in known)
            sent = sum(run.figures["sent"] for run in known)
            seconds = sum(run.figures["sent"] / run.figures["sent_pps"] for run in known)
            shares = {"dropped_per_s": dropped / seconds, "dropped_share": dropped / sent}
            rows.append({**keys_of(figures), "hop": hop, "dropped": dropped, **shares})
    return rows


def _most(rows: pd.DataFrame, name: str) -> dict[str, Any] | None:
    return first_row(most_first(rows[rows[name].notna()], name))


# By the name of a picture: the metric that it shows of each curve, and its title.
_PICTURES = {
    "": ("network_share", "Network share of the CPU by packet rate, all data paths"),
    "cost": ("network_ns_per_packet", "CPU time of a packet by packet rate"),
    "batch": ("batch_mean", "Packets per poll by packet rate"),
    "victim": ("victim_share", "The victim's share of its CPU by packet rate"),
    "softirq": ("soft_share", "%soft of mpstat by packet rate"),
    "drops": ("dropped_share", "Packets dropped by packet rate"),
}


def _picture(name: str, metric: str, title: str) -> None:
    def panels(answer: Answer) -> Any:
        # Drops are drawn only where there are any.
        known = answer.frame.loc[answer.frame["rate_per_s"].notna(), metric]
        return ({},) if (known.gt(0) if name == "drops" else known.notna()).any() else ()

    by_rate.plot(name, title=title, height=3.4 if name else 4.2, panels=panels)(
        lambda ax, answer: plots.sweep.by_metric(ax, answer.frame, answer["intervals"], metric)
    )


for _name, _shown in _PICTURES.items():
    _picture(_name, *_shown)


by_rate.plot(
    "reached",
    title="Throughput reached against packets sent",
    height=3.4,
    panels=lambda answer: ({},) if answer.frame["reached_pps"].gt(0).any() else (),
)(lambda ax, answer: plots.sweep.reached(ax, answer.frame))


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
    """Where each curve of a sweep ends: the measured end, its cause, and the predicted end.

    A row per curve; expected_share and network_share are of its fastest step.

    A CPU is full if networking has 95 % of it (cpu_full). It is also full if networking in kernel
    threads shares it with a victim that has no more than half (victim_floor). The end of a curve
    is:

    - the path's (path), if more than 1 % of what was sent did not arrive.
    - the CPU's (cpu), if nothing was lost, but the CPU was full in the fastest step. While it was
      measured, 5 % less arrived than the load sent over its whole run.
    - the sender's otherwise, if the fastest step was asked for max, or for more than the sender
      sent (by 5 %). This says nothing about the path.

    The prediction uses packet_part_ns and poll_part_ns of rate_curve, learnt from the curve's
    slower steps. In polls of 64 packets a CPU handles full_rate_per_s packets a second by itself.
    Beside a victim of the same weight it handles half of that (shared_rate_per_s).

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
