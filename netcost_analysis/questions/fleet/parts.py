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
PARTS = ("batch_part", "poll_part", "interrupt_part")


def parts_of(row: Mapping[str, Any], others: pd.DataFrame) -> dict[str, Any]:
    # What of the difference between a capture's ns_per_work and the median of others is due to the
    # size of its batches, to its polls at that size, to its interrupts: each as a part of that
    # median, so that they add up to the whole difference; because: names those that matter.
    known = others[others["ns_per_work"].notna() & others["batch_mean"].notna()]
    usual = known[["ns_per_work", "interrupt_ns_per_work", "batch_mean"]].median()
    median = float(usual["ns_per_work"])
    own_interrupt, interrupt = (float(of["interrupt_ns_per_work"]) for of in (row, usual))
    poll, usual_poll = float(row["ns_per_work"]) - own_interrupt, median - interrupt
    expected = usual_poll * (float(row["batch_mean"]) / float(usual["batch_mean"])) ** slope(known)
    found = {
        "batch_part": (expected - usual_poll) / median,
        "poll_part": (poll - expected) / median,
        "interrupt_part": (own_interrupt - interrupt) / median,
    }
    return found | {"because": because(found, _more_squeezes(row, others))}


def slope(known: pd.DataFrame) -> float:
    # How a packet's cost in polls goes with the batch: 0 where each packet costs the same, -1 where
    # a poll does. Theil and Sen: the median of the slopes between pairs of captures.
    from scipy import stats

    batch = np.log(known["batch_mean"].to_numpy("float64"))
    price = np.log((known["ns_per_work"] - known["interrupt_ns_per_work"]).to_numpy("float64"))
    if len(known) < 2 or batch.std() < _SPREAD:
        return _SLOPE
    return float(np.clip(stats.theilslopes(price, batch).slope, -1, 0))


def _more_squeezes(row: Mapping[str, Any], others: pd.DataFrame) -> bool:
    squeezed, usual = row["squeezed_share"], others["squeezed_share"].median()
    return bool(squeezed - usual > _SQUEEZED)


_CALLED = {"batch_part": "batch size", "poll_part": "poll cost", "interrupt_part": "interrupts"}


def because(found: Mapping[str, float], squeezes: bool) -> str:
    # The parts that make the difference, the largest first.
    whole = sum(found[name] for name in PARTS)
    named = [name for name in PARTS if found[name] * whole > 0]
    named = [name for name in named if abs(found[name]) >= _NAMED * abs(whole)]
    named.sort(key=lambda name: -abs(found[name]))
    said = [_CALLED[name] for name in named]
    return ", ".join([*said, *(["squeezes"] if squeezes else [])])
