# What the curves of CPU share over packet rate say together.

from typing import Any

import pandas as pd

from ...display.tables import listed

# A step is flat where the share grows by less than the fifth root of the rate's growth.
_FLAT = 0.8
# From here on batches grew, many polls were repeated at once, most work ran in threads.
_GREW, _AGAIN, _THREADS_SHARE = 1.3, 0.25, 0.5
# XDP vs OVS (David Ahern, 2020) has the same CPU share at both of these packet rates, per second.
_FLAT_RATES = (50_000, 500_000)
# The most packets of a poll.
FULL = 64
# A step is compared with the lower rate where it differs by less than this share.
_NEAR = 0.2

# Labels whose values need no name beside them.
PATHS = ("data_path", "path")
# Labels of the rate at which a step was run: packets a second, or "max".
RATES = ("offered_pps", "pps")


def named(key: str, value: object) -> str:
    return str(value) if key in PATHS else f"{key.replace('_', ' ')} {value}"


def curves_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    # Each curve: its steps but the first, and how well their shares are predicted.
    return [
        {
            "name": str(name),
            "steps": listed(rows[rows["share_growth"].notna()]),
            "misses": _misses(rows),
        }
        for name, rows in table.groupby("curve", sort=False)
    ]


def _misses(curve: pd.DataFrame) -> dict[str, Any] | None:
    # How far a curve's shares are from the predicted ones, and the step farthest off. others_batch:
    # the largest batch of the other steps, where the step's own is more than twice as large.
    known = curve[curve["expected_share"].notna()]
    if not len(known):
        return None
    error = (known["expected_share"] / known["receive_share"] - 1).abs()
    (worst,) = listed(known.iloc[[int(error.argmax())]])
    others = float(curve.loc[curve["bundle"] != worst["bundle"], "batch_mean"].max())
    return {
        "median_share": float(error.median()),
        "worst": worst,
        "others_batch": others if worst["batch_mean"] > 2 * others else None,
    }


def _prices(steps: pd.DataFrame) -> dict[str, float] | None:
    packet, around = (float(steps[f"{part}_part_ns"].median()) for part in ("packet", "poll"))
    if not (packet > 0 and around > 0):
        return None
    return {"packet_median_ns": packet, "around_median_ns": around, "times": around / packet}


def bend(curves: pd.DataFrame) -> dict[str, Any] | None:
    # Why curves bend, over the steps that have a step before them; None where there is no such
    # step. Steps with most of their work in kernel threads are counted and left out.
    known = curves[curves["flatness"].notna()]
    if not len(known):
        return None
    full = known["scheduled_share"] > _THREADS_SHARE * known["receive_share"]
    steps = known[~full]
    still = steps[steps["batch_growth"] < _GREW]
    grown = steps[(steps["batch_growth"] >= _GREW) & steps["expected_share"].gt(0)]
    flat = steps[steps["flatness"] >= _FLAT]
    again = steps[steps["repoll_share"] > _AGAIN]
    return {
        "full": int(full.sum()),
        "steps": steps,
        "flat": listed(flat),
        "flat_steps": len(flat),
        "slowest": next(iter(listed(steps.nlargest(1, "flatness"))), None),
        "still": len(still),
        "still_growth": float((still["share_growth"] / still["rate_growth"]).mean()),
        "grown": len(grown),
        "own_packets_share": float((grown["marginal_share"] / grown["expected_share"]).median()),
        "saved_share": float((1 - grown["expected_share"] / grown["unbatched_share"]).median()),
        "grown_prices": _prices(grown),
        "again": len(again),
        "repoll_share": float(again["repoll_share"].max()),
    }


def condition(steps: pd.DataFrame) -> dict[str, Any] | None:
    # What batches have to do for the flat part of XDP vs OVS, beside the steps of bend(); None
    # where their costs are unknown. A share is flat where packet + around / batch falls as the rate
    # grows.
    prices = _prices(steps[steps["expected_share"].gt(0)])
    if prices is None:
        return None
    packet, around, times = prices.values()
    lower, upper = _FLAT_RATES
    growth = upper / lower
    off = (steps["rate_per_s"] / lower - 1).abs()
    (near,) = listed(steps.iloc[[int(off.argmin())]])
    is_near, costs_times = bool(off.min() < _NEAR and near["batch_mean"]), 0.0
    if is_near:
        in_full_batches = growth * (packet + around / FULL)
        costs_times = in_full_batches / (packet + around / near["batch_mean"])
    return {
        "from_per_s": lower,
        "to_per_s": upper,
        "full_batch": FULL,
        "growth": growth,
        "most_batch": FULL / growth,
        # Where packets come alone at the lower rate, and in twos.
        "alone_times": (growth - 1) / (1 - growth / FULL),
        "pairs_times": (growth - 1) / (1 / 2 - growth / FULL),
        "here_times": times,
        "near": near if is_near else None,
        "costs_times": costs_times,
    }
