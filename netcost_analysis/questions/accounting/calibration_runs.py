"""The runs of a calibration: the same victim alone and robbed, with tracing and without."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...capture.bundle import Bundle
from ...capture.capture import Capture
from ...timeline.reading import once
from ..got_shares import ticks_share, traced_share, work_against
from ..tracing_overhead.event_cost import event_count
from .account_readings import wall_s
from .cpu_counters import NAN, cpu_counters

if TYPE_CHECKING:
    from ...opening.experiment import Experiment

_COLUMNS = (
    *("bundle", "condition", "repeat", "run", "wall_s", "blocks_per_s", "by_work_share"),
    *("by_ticks_share", "by_trace_share", "others_share", "cpu_interrupts_per_s", "packets_per_s"),
    *("events_per_s", "steal_share"),
)


@once
def calibration_runs(experiment: "Experiment") -> pd.DataFrame:
    """A row per run of the victim in an experiment of capture/lab/hidden-cost.

    condition: the rate of datagrams, with the number sent at a time where that is not 1. run: idle,
    idle_traced, load or load_traced; a run at rate 0 has no load run of its own. What is by_trace
    or others' is NaN for runs without a trace; interrupts and packets, by the kernel's counters,
    are of every run. Raises CaptureError for an experiment without such runs.
    """
    steps = calibration_steps(experiment)
    rows: list[dict[str, Any]] = []
    for step in steps.to_dict("records"):
        sent = step.get("burst", 1)
        head = {
            "bundle": step["bundle"],
            "condition": f"{step['offered_pps']}" + (f"x{sent}" if sent != 1 else ""),
            "repeat": int(step["repeat"]),
        }
        rows += [head | run for run in _runs(experiment.capture(str(step["bundle"])))]
    if not rows:
        raise CaptureError(f"{experiment.path} has no run in its table")
    frame = pd.DataFrame(rows, columns=list(_COLUMNS))
    return frame.astype({"by_work_share": float, "by_ticks_share": float})


def calibration_steps(experiment: "Experiment") -> pd.DataFrame:
    # Its table; raises CaptureError where it is of another kind of experiment.
    steps = experiment.steps
    columns = set(steps.columns)
    # Where more than the rate differs the steps are of another experiment.
    if not {"bundle", "repeat", "offered_pps"} <= columns or columns & {"data_path", "flows"}:
        raise CaptureError(
            f"{experiment.path} is no calibration: capture/lab/hidden-cost makes one, a step for "
            "each rate and repeat"
        )
    return steps


def _runs(capture: Capture) -> Iterator[dict[str, Any]]:
    bundle = capture.bundle
    if bundle is None or bundle.victim is None or bundle.baseline is None:
        raise CaptureError(f"{capture.path} has no victim with a baseline: --calibrate records one")
    yield _run("idle", bundle.baseline, None, bundle.baseline)
    traced, load = (bundle.run(f"calibration/{name}") for name in ("idle-traced", "load"))
    if traced is not None:
        yield _run("idle_traced", traced, Capture(traced.path), bundle.baseline)
    if load is not None:
        yield _run("load", load, None, bundle.baseline)
    yield _run("load_traced", bundle, capture, bundle.baseline)


def _run(kind: str, run: Bundle, capture: Capture | None, idle: Bundle) -> dict[str, Any]:
    counts, own = cpu_counters(run), run.speed_runs
    asked_s = sum(one.asked_s for one in own)
    traced = {"by_trace_share": NAN, "others_share": NAN, "events_per_s": 0.0}
    return {
        "run": kind,
        "wall_s": wall_s(run),
        "blocks_per_s": sum(one.blocks for one in own) / asked_s if own else NAN,
        "by_work_share": work_against(run, idle),
        "by_ticks_share": ticks_share(run),
        "cpu_interrupts_per_s": counts.interrupts_per_s,
        "packets_per_s": counts.packets_per_s,
        "steal_share": counts.steal_share,
        **(traced if capture is None else _of_trace(capture, run)),
    }


def _of_trace(capture: Capture, run: Bundle) -> dict[str, float]:
    timeline = capture.victim_timeline()
    own, sums = traced_share(run, timeline), timeline.sums()
    tasks = sums[sums["context"] == "task"]["ns"].sum() / (timeline.duration_ns or NAN)
    # Of the CPU and the window that the timeline is of.
    start_ns, end_ns = timeline.summary["start_ns"], timeline.summary["end_ns"]
    events = event_count(capture, start_ns, end_ns, timeline.summary["cpus"])
    return {
        "by_trace_share": NAN if own is None else own,
        "others_share": NAN if own is None else float(tasks) - own,
        "events_per_s": events / ((end_ns - start_ns) / 1e9 or NAN),
    }
