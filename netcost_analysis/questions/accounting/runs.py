"""The runs of a calibration: the same victim alone and robbed, with tracing and without."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import pandas as pd

from ..._native import CaptureError
from ...capture.bundle import Bundle
from ...capture.capture import Capture
from ..got_shares import ticks_share, traced_share, work_against
from ..tracing_overhead.counts import event_count
from .counts import NAN, counted
from .side_by_side import wall_s

if TYPE_CHECKING:
    from ...opening.experiment import Experiment

COLUMNS = (
    *("bundle", "condition", "repeat", "run", "wall_s", "blocks_per_s", "by_work_share"),
    *("by_ticks_share", "by_trace_share", "others_share", "cpu_interrupts_per_s", "packets_per_s"),
    *("events_per_s", "steal_share"),
)
# Reading an experiment's recordings takes seconds, and several questions are of the same runs.
_READ: "WeakKeyDictionary[Experiment, pd.DataFrame]" = WeakKeyDictionary()


def calibration_runs(experiment: "Experiment") -> pd.DataFrame:
    """Each run of the victim in an experiment of capture/lab/hidden-cost.

    Returns a row per run: bundle, condition (the rate of datagrams, with the number sent at a time
    where that is not 1), repeat, run (idle, idle_traced, load, load_traced), wall_s, blocks_per_s,
    by_work_share (of the blocks per second of the same bundle's idle run), by_ticks_share (user
    time by times(2) over wall time), by_trace_share and others_share (the victim's own segments,
    and other tasks', over wall time; NaN for runs without a trace), and of the victim's CPU
    cpu_interrupts_per_s, packets_per_s (by the kernel's counters, so of every run), events_per_s
    (recorded; 0 for runs without a trace) and steal_share. A run at rate 0 has no load run of its
    own. Raises CaptureError for an experiment without such runs.
    """
    if experiment not in _READ:
        _READ[experiment] = _read(experiment)
    return _READ[experiment].copy()


class Noise(NamedTuple):
    """How far by_work_share is from 1 in traced runs without a load: how many, mean and most."""

    runs: int
    mean_share: float
    most_share: float


def noise(runs: pd.DataFrame) -> Noise:
    """How far the measure goes from one run to the next when nothing happens. runs: as above."""
    idle = (runs["condition"] == "0") & (runs["run"] == "load_traced")
    shares = runs[(runs["run"] == "idle_traced") | idle]["by_work_share"].dropna()
    off = (shares - 1).abs()
    return Noise(len(off), float(off.mean()), float(off.max()))


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


def _read(experiment: "Experiment") -> pd.DataFrame:
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
    return pd.DataFrame(rows, columns=list(COLUMNS))


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
    counts = counted(run)
    work, ticks = work_against(run, idle), ticks_share(run)
    return {
        "run": kind,
        "wall_s": wall_s(run),
        "blocks_per_s": _blocks_per_s(run),
        "by_work_share": NAN if work is None else work,
        "by_ticks_share": NAN if ticks is None else ticks,
        "cpu_interrupts_per_s": counts.interrupts_per_s,
        "packets_per_s": counts.packets_per_s,
        "steal_share": counts.steal_share,
        **_of_trace(capture, run),
    }


def _blocks_per_s(run: Bundle) -> float:
    runs = run.speed_runs
    return sum(one.blocks for one in runs) / sum(one.asked_s for one in runs) if runs else NAN


def _of_trace(capture: Capture | None, run: Bundle) -> dict[str, float]:
    if capture is None:
        return {"by_trace_share": NAN, "others_share": NAN, "events_per_s": 0.0}
    timeline = capture.victim_timeline()
    own, sums = traced_share(run, timeline), timeline.sums()
    tasks = sums[sums["context"] == "task"]["ns"].sum() / (timeline.duration_ns or NAN)
    return {
        "by_trace_share": NAN if own is None else own,
        "others_share": NAN if own is None else float(tasks) - own,
        "events_per_s": _events_per_s(capture, timeline.summary),
    }


def _events_per_s(capture: Capture, window: dict[str, Any]) -> float:
    # Of the CPU and the window that the timeline is of.
    start_ns, end_ns = window["start_ns"], window["end_ns"]
    count = event_count(capture, start_ns, end_ns, window["cpus"])
    seconds = (end_ns - start_ns) / 1e9
    return count / seconds if seconds else NAN
