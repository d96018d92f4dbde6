# The runs of a calibration, and what is fitted to them.

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...capture.bundle import Bundle
from ...capture.capture import Capture
from ...opening.experiment import Experiment
from ...stats.line import coefficients
from ...stats.resampling import Floats, drawn, middle
from ...timeline.reading import once
from ..got_shares import ticks_share, traced_share, work_against
from ..tracing_overhead.event_cost import event_count
from .account_readings import NAN, cpu_counters, wall_s

_RESAMPLES = 4000
_SEED = 6
QUANTITIES = (
    *("hidden_ns", "event_ns", "traced_interrupt_ns", "traced_packet_ns"),
    *("events_per_interrupt", "events_per_packet"),
)


def wide(runs: pd.DataFrame) -> pd.DataFrame:
    """A row per bundle of its two runs with the load: runs as calibration_runs returns them.

    Of the traced run and, with ``untraced_`` before it, of the untraced one: what was lost by work,
    ticks and trace, others' share, interrupts, packets and events a second, steal. Rate 0 has no
    untraced one, hence NaN.
    """
    names = {
        "cpu_interrupts_per_s": "interrupts",
        "packets_per_s": "packets",
        "events_per_s": "events",
        "steal_share": "steal",
    }
    parts = []
    for run, before in (("load_traced", ""), ("load", "untraced_")):
        part = runs[runs["run"] == run].set_index("bundle")
        made = part[list(names)].rename(columns=names).astype(float)
        for column, share in (("lost", "work"), ("ticks", "ticks"), ("traced", "trace")):
            made[column] = 1 - part[f"by_{share}_share"].astype(float)
        made["others"] = part["others_share"].astype(float)
        parts.append(made.add_prefix(before))
    keys = runs[runs["run"] == "load_traced"].set_index("bundle")[["condition", "repeat"]]
    return keys.join(parts[0]).join(parts[1])


def fit(table: pd.DataFrame, weights: Floats | None = None) -> pd.DataFrame:
    """The quantities that explain the runs of a table, by least squares without a constant.

    table: as wide returns it. weights: a row for each fit and a column for each bundle, how often
    it counts; None for one fit in which each counts once. A row per fit; NaN where nothing tells.

    hidden_ns is of what was lost beyond traced time; event_ns of what the traced run lost more than
    the untraced one, for the interrupts that each had; what an interrupt and a packet take of
    traced time, and make of events, is fitted by both, without other tasks' time.
    """
    if weights is None:
        weights = np.ones((1, len(table)))
    counts = table[["interrupts", "packets"]].to_numpy(float)
    ratio = (table["untraced_interrupts"] / table["interrupts"]).to_numpy(float)
    tracing = (table["lost"] * ratio - table["untraced_lost"]).to_numpy(float)
    traced = (table["traced"] - table["others"]).to_numpy(float)
    hidden = (table["lost"] - table["traced"]).to_numpy(float)
    events = table["events"].to_numpy(float)
    found = np.column_stack(
        [
            hidden_ns(hidden, counts[:, 0], weights),
            1e9 * coefficients((events * ratio)[:, None], tracing, weights),
            1e9 * coefficients(counts, traced, weights),
            coefficients(counts, events, weights),
        ]
    )
    return pd.DataFrame(found, columns=list(QUANTITIES))


def hidden_ns(hidden: Floats, interrupts: Floats, weights: Floats | None = None) -> Floats:
    """The hidden cost of an interrupt, in ns: of one run its quotient, of several their slope.

    hidden: of each run what was lost beyond traced time, as a share of the victim's CPU.
    interrupts: how many a second the kernel counted there. weights: as for fit.
    """
    weights = np.ones((1, len(hidden))) if weights is None else weights
    return 1e9 * coefficients(interrupts[:, None], hidden, weights)


def by_rate(table: pd.DataFrame) -> pd.DataFrame:
    """The hidden cost at each rate alone, where there is a load at all; table: of wide.

    point_ns is what a percentage point of work is for each interrupt.
    """
    loaded = table[table["untraced_lost"].notna()]
    rows = [
        (rate, float(fit(part)["hidden_ns"].iloc[0]), float(part["interrupts"].mean()))
        for rate, part in loaded.groupby("condition", sort=False)
    ]
    frame = pd.DataFrame(rows, columns=["condition", "hidden_ns", "cpu_interrupts_per_s"])
    frame["point_ns"] = 1e7 / frame["cpu_interrupts_per_s"]
    return frame[frame["hidden_ns"].notna()].reset_index(drop=True)


def intervals(table: pd.DataFrame) -> pd.DataFrame:
    """Each quantity with its interval of 95 %: bundles drawn again with replacement, seeded.

    table: as wide returns it. Fewer than three bundles have no interval.
    """
    frame = pd.DataFrame({"value": fit(table).iloc[0], "low": np.nan, "high": np.nan})
    if len(table) >= 3:
        many = fit(table, drawn(len(table), _RESAMPLES, np.random.default_rng(_SEED)))
        ends = {name: middle(many[name].to_numpy()) for name in many}
        frame[["low", "high"]] = pd.DataFrame(ends).T
    return frame.rename_axis(index="quantity")


_COLUMNS = (
    *("bundle", "condition", "repeat", "run", "wall_s", "blocks_per_s", "by_work_share"),
    *("by_ticks_share", "by_trace_share", "others_share", "cpu_interrupts_per_s", "packets_per_s"),
    *("events_per_s", "steal_share"),
)


@once
def calibration_runs(experiment: Experiment) -> pd.DataFrame:
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


def calibration_steps(experiment: Experiment) -> pd.DataFrame:
    # Its table; raises CaptureError where it is of another kind of experiment.
    steps = experiment.steps
    columns = set(steps.columns)
    # Where more than the rate differs the steps are of another experiment.
    if not {"bundle", "repeat", "offered_pps"} <= columns or columns & {"data_path", "flows"}:
        raise CaptureError(
            f"{experiment.path} is not a calibration: capture/lab/hidden-cost records one, with "
            "a step for each rate and repeat"
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
