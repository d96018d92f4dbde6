# How the CPU share of networking grows with the rate of packets, over an experiment.

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from ... import plots
from ..._native import CaptureError
from ...answers.form import each
from ...answers.question import Answer, question
from ...capture.requires import unrecorded
from ...errors import ArgumentError
from ...opening.experiment import Experiment
from ...timeline.reading import once
from ...timeline.timeline import Timeline
from ..completeness.completeness import MAX_MISSING, network_missing
from .curves import RATES, SUMS, bend, condition, curve_from, curves_of, named, summed
from .paired import Gathered, gathered, work_is_known

# At most so many curves have a picture.
_PICTURES = 4
# Columns of a table of steps that distinguish its curves.
_CURVES = (
    *("data_path", "path", "kernel", "steering", "destinations", "flows", "victim"),
    *("network", "protocol", "rps", "skb_defer_max"),
)
NEEDS = ("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll")


def _require_polls(experiment: Experiment) -> None:
    # Raises CaptureError where no step's recording was told to record polls.
    if "bundle" not in experiment.steps:
        raise CaptureError(f"{experiment.path} has no recordings: its table has no column bundle")
    for name in map(str, experiment.steps["bundle"].drop_duplicates()):
        with suppress(CaptureError):
            if experiment.has(name) and not unrecorded(experiment.capture(name), *NEEDS):
                return
    raise _without_polls(experiment)


def _without_polls(experiment: Experiment) -> CaptureError:
    return CaptureError(
        f"no step of {experiment.path} was recorded with {', '.join(NEEDS)}: netcost-record "
        "--profile light records them"
    )


@question(
    check=_require_polls,
    columns=(
        *("curve", "device", "rate_per_s", "batch_mean"),
        *("receive_share", "poll_share", "marginal_share"),
    ),
)
def rate_curve(experiment: Experiment, curves: tuple[str, ...] | None = None) -> Answer:
    """The CPU share of networking by packet rate, and what the cost of polls and packets predicts.

    A row per step, by curve and rate. Repeats at one offered rate are one step, over all of their
    time. `curves` are the columns of the experiment's steps that tell its curves apart; by default
    those of the lab's experiments, as far as the table has them. Each step is measured on its
    victim's CPU while the victim ran. If it has no victim throughout, it is measured on the CPU
    that the experiment names for the packets, else on all CPUs.

    - expected_share: Predicted from the costs in the other steps of the curve; NaN if their batches
      are so similar that poll_costs would refuse a line.
    - unbatched_share: The same for batches as small as in the curve's slowest step.
    - marginal_share: The part of expected_share that batches cannot lower.
    - packet_part_ns: A packet's own cost through all devices.
    - poll_part_ns: The cost of the polls, softirq and interrupt around a batch of device.

    packet_part_ns, poll_part_ns, marginal_share and unbatched_share are NaN if the other steps'
    line would make a poll or a packet cost less than nothing. Source: each step's polls and sums,
    and the costs of poll_costs.
    """
    return explained(experiment, rate_curves(experiment, curves))


def explained(experiment: Experiment, table: pd.DataFrame) -> Answer:
    # The answer with this frame.
    bent, names = bend(table), ("command", "kernel", "started")
    described = {name: getattr(experiment.experiment, name) for name in names}
    return Answer(
        table,
        bend=bent,
        xdp_vs_ovs=condition(bent["steps"]) if bent else None,
        curves=curves_of(table),
        pictures=len(_drawn(table)),
        experiment={"name": experiment.path.name, **described},
    )


@once
def rate_curves(experiment: Experiment, curves: tuple[str, ...] | None = None) -> pd.DataFrame:
    _require_polls(experiment)
    steps = experiment.steps
    keys = [name for name in _CURVES if name in steps] if curves is None else list(curves)
    for name in keys:
        if name not in steps:
            raise ArgumentError(
                f"the steps have no column {name!r}; there are {', '.join(map(str, steps.columns))}"
            )
    differing = [key for key in keys if steps[key].nunique() > 1]
    rows, parts = [], []
    for step in steps.drop_duplicates("bundle").to_dict("records"):
        name = str(step["bundle"])
        polled = _polled(experiment, name) if experiment.has(name) else None
        if polled is None:
            continue
        timeline, work = polled
        rows.append(
            {
                "curve": ", ".join(named(key, step[key]) for key in differing) or "all steps",
                "bundle": name,
                "cpu_ns": timeline.duration_ns * len(timeline.summary["cpus"]),
                "window_ns": timeline.duration_ns,
                "scheduled_ns": _scheduled(timeline),
            }
        )
        parts.append(summed(work).assign(bundle=name))
    if not rows:
        raise _without_polls(experiment)
    return curve_from(*_of_repeats(steps, keys, pd.DataFrame(rows), pd.concat(parts)))


def _of_repeats(
    steps: pd.DataFrame, keys: list[str], rows: pd.DataFrame, parts: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    # Repeats at one rate as one step of the curve, under the name of the first.
    alike = [*keys, *(name for name in RATES if name in steps)]
    names = {name: name for name in rows["bundle"]}
    if "repeat" in steps and len(alike) > len(keys):
        known = steps.drop_duplicates("bundle").set_index("bundle").loc[list(names), alike]
        known = known.astype("string").fillna("")
        names = dict(known.assign(bundle=known.index).groupby(alike)["bundle"].transform("first"))
    rows = rows.assign(bundle=rows["bundle"].map(names), repeat_count=1)
    counted = ["cpu_ns", "window_ns", "scheduled_ns", "repeat_count"]
    rows = rows.groupby(["curve", "bundle"], sort=False)[counted].sum().reset_index()
    parts = parts.assign(bundle=parts["bundle"].map(names))
    return rows, parts.groupby(["bundle", "device"], sort=False)[SUMS].sum().reset_index()


def _polled(experiment: Experiment, name: str) -> tuple[Timeline, Gathered] | None:
    # A step's timeline and its sums; None without a trace, or where the trace lacks too much.
    cpu = experiment.experiment.victim_cpu
    with suppress(CaptureError):
        capture = experiment.capture(name)
        if unrecorded(capture, *NEEDS) or network_missing(capture, cpu) > MAX_MISSING:
            return None
        has_victim = capture.bundle is not None and capture.bundle.victim is not None
        cpus = None if cpu is None else [cpu]
        timeline = capture.victim_timeline() if has_victim else capture.timeline(cpus=cpus)
        if timeline.duration_ns > 0 and work_is_known(work := gathered(timeline)):
            return timeline, work
    return None


def _scheduled(timeline: Timeline) -> int:
    sums = timeline.sums()
    inside = sums["context"].isin(["poll", "softirq"]) & (sums["cost_class"] == "scheduled")
    return int(sums.loc[inside & (sums["is_network"] == "yes"), "ns"].sum())


def _drawn(table: pd.DataFrame) -> list[dict[str, Any]]:
    # Curves that have a picture: spread from the first to the last, for neighbours are most alike.
    names = table["curve"].unique()
    places = np.linspace(0, len(names) - 1, min(len(names), _PICTURES)).round().astype(int)
    return [{"curve": str(name)} for name in names[places]]


@rate_curve.plot(
    title=lambda _, curve: f"CPU share by packet rate: {curve}",
    height=2.8,
    panels=lambda answer: _drawn(answer.frame),
    choices=each("curve"),
)
def _share(ax: "plots.Axes", answer: Answer, curve: str) -> None:
    plots.batches.share_by_rate(ax, answer.frame[answer.frame["curve"] == curve])
    ax.set_title(curve, pad=24)


rate_curve.plot("batches", title="Packets per poll by packet rate", height=2.6)(
    lambda ax, answer: plots.batches.batch_by_rate(ax, answer.frame)
)
