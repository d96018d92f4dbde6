# Which part of a packet's cost makes captures dearer or cheaper than others.

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

# A part that makes so much of a difference is named.
_NAMED = 0.25
# More of these in NET_RX than others have, as a share, are named too.
_SQUEEZED = 0.01
# What a packet's cost is expected to do where batches grow and others' tell nothing: half of it is
# the poll's, which packets share.
_SLOPE = -0.5
# Batches of others have to differ by so much to tell, as a standard deviation of logarithms.
_SPREAD = 0.05
# With what each is called.
PARTS = {"batch_part": "batch size", "poll_part": "poll cost", "interrupt_part": "interrupts"}


def parts_of(row: Mapping[Any, Any], others: pd.DataFrame) -> dict[str, Any]:
    # What makes a capture's ns_per_work differ from the median of others: each as a part of that
    # median, so that they add up to the whole difference.
    known = others[others["ns_per_work"].notna() & others["batch_mean"].notna()]
    usual = known[["ns_per_work", "interrupt_ns_per_work", "batch_mean"]].median()
    median = float(usual["ns_per_work"])
    own_interrupt, interrupt = (float(of["interrupt_ns_per_work"]) for of in (row, usual))
    poll, usual_poll = float(row["ns_per_work"]) - own_interrupt, median - interrupt
    expected = usual_poll * (float(row["batch_mean"]) / float(usual["batch_mean"])) ** _slope(known)
    parts = {
        "batch_part": (expected - usual_poll) / median,
        "poll_part": (poll - expected) / median,
        "interrupt_part": (own_interrupt - interrupt) / median,
    }
    squeezes = row["squeezed_share"] - others["squeezed_share"].median() > _SQUEEZED
    return parts | {"because": _because(parts, bool(squeezes))}


def _slope(known: pd.DataFrame) -> float:
    # How a packet's cost in polls goes with the batch: 0 where each packet costs the same, -1 where
    # a poll does. Theil and Sen: the median of the slopes between pairs of captures.
    from scipy import stats

    batch = np.log(known["batch_mean"].to_numpy("float64"))
    price = np.log((known["ns_per_work"] - known["interrupt_ns_per_work"]).to_numpy("float64"))
    if len(known) < 2 or batch.std() < _SPREAD:
        return _SLOPE
    return float(np.clip(stats.theilslopes(price, batch).slope, -1, 0))


def _because(parts: Mapping[str, float], squeezes: bool) -> str:
    # The parts that make the difference, the largest first.
    whole = sum(parts.values())
    named = [
        name
        for name in PARTS
        if parts[name] * whole > 0 and abs(parts[name]) >= _NAMED * abs(whole)
    ]
    named.sort(key=lambda name: -abs(parts[name]))
    return ", ".join([*(PARTS[name] for name in named), *["squeezes"] * squeezes])
