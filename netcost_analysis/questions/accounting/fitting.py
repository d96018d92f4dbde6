"""What an interrupt costs beyond what tracepoints enclose, fitted to runs of a calibration."""

import numpy as np
import pandas as pd

from ...stats.line import coefficients
from ...stats.resampling import Floats, drawn, middle

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
