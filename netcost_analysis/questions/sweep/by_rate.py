# What each step of a sweep costs and what arrives, a row for each data path and rate; and what
# mpstat says of the CPU there.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...display.tables import listed
from ...opening.experiment import Experiment
from ...parsers.mpstat import KINDS
from .step_figures import HOPS, UNITS, Figures, dropped_at, figures_of
from .steps import require_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    """What each rate of packets costs on each data path, and how many arrive, with intervals.

    A row per step, by curve and rate; `intervals` has each of its figures, `drops` each hop. A step
    is measured while its victim ran, on the victim's CPU. Where it has no victim throughout, it is
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
        {"curve": str(name), "first": listed(curve.head(1))[0], "last": listed(curve.tail(1))[0]}
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
    most = rows[rows[name].notna()].sort_values(name, ascending=False, kind="stable")
    return next(iter(listed(most.head(1))), None)


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

    @by_rate.plot(name, title=title, height=3.4 if name else 4.2, panels=panels)
    def draw(ax: "Axes", answer: Answer) -> None:
        from .plots import by_metric

        by_metric(ax, answer.frame, answer["intervals"], metric)


for _name, _shown in _PICTURES.items():
    _picture(_name, *_shown)


@by_rate.plot(
    "reached",
    title="Throughput reached against packets sent",
    height=3.4,
    panels=lambda answer: ({},) if answer.frame["reached_pps"].gt(0).any() else (),
)
def _reached(ax: "Axes", answer: Answer) -> None:
    from .plots import reached

    reached(ax, answer.frame)


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
