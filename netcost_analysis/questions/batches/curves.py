# What the curves of CPU share over packet rate say together; document 002's question.

from typing import Any

import pandas as pd

from ...display.tables import listed

# A step is called flat where the share grows by less than the fifth root of the rate's growth.
_FLAT = 0.8
# Batches grew; many polls were followed by another at once; most of the work ran in threads.
_GREW, _AGAIN, _FULL_SHARE = 1.3, 0.25, 0.5
# Document 002: the same share at these packets a second; a poll takes no more packets than that.
SEEN, FULL = (50_000, 500_000), 64
# A step within so much of the lower rate can be set beside that document's.
_NEAR = 0.2

# What a data path is called says what it is; of another label the name does.
PATHS = ("data_path", "path")
# What says at which rate a step was run: packets a second, or "max".
RATES = ("offered_pps", "pps")


def named(key: str, value: object) -> str:
    # A label, as in a curve's name.
    return str(value) if key in PATHS else f"{key.replace('_', ' ')} {value}"


def curves_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    # Each curve with its steps that have a step before them, and how well shares are predicted.
    return [
        {
            "name": str(name),
            "steps": listed(rows[rows["share_growth"].notna()]),
            "misses": _misses(rows),
        }
        for name, rows in table.groupby("curve", sort=False)
    ]


def _misses(curve: pd.DataFrame) -> dict[str, Any] | None:
    # How far a curve's shares are from those expected by its other steps, and the step farthest
    # off. others_batch: the largest batch of the others, where its own is more than twice as large.
    known = curve[curve["expected_share"].notna()]
    if not len(known):
        return None
    error = (known["expected_share"] / known["receive_share"] - 1).abs()
    (worst,) = listed(known.iloc[[int(error.argmax())]])
    others = float(curve.loc[curve["bundle"] != worst["bundle"], "batch_mean"].max())
    is_beyond = worst["batch_mean"] > 2 * others
    return {
        "median_share": float(error.median()),
        "worst": worst,
        "others_batch": others if is_beyond else None,
    }


def _prices(steps: pd.DataFrame) -> dict[str, float] | None:
    packet, around = (float(steps[f"{part}_part_ns"].median()) for part in ("packet", "poll"))
    if not (packet > 0 and around > 0):
        return None
    return {"packet_median_ns": packet, "around_median_ns": around, "times": around / packet}


def bend(curves: pd.DataFrame) -> dict[str, Any] | None:
    # Why curves bend, over the steps that have a step before them; None where none has two rates.
    # Of steps that have most of their work in kernel threads only the number is told.
    known = curves[curves["flatness"].notna()]
    if not len(known):
        return None
    full = known["scheduled_share"] > _FULL_SHARE * known["receive_share"]
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
    # Document 002 beside the steps of bend(); None where their costs are not known. The share stays
    # while packet + around / batch falls as the rate grows.
    prices = _prices(steps[steps["expected_share"].gt(0)])
    if prices is None:
        return None
    packet, around, times = prices.values()
    growth = SEEN[1] / SEEN[0]
    off = (steps["rate_per_s"] / SEEN[0] - 1).abs()
    (near,) = listed(steps.iloc[[int(off.argmin())]])
    is_near, costs_times = bool(off.min() < _NEAR and near["batch_mean"]), 0.0
    if is_near:
        in_full_batches = growth * (packet + around / FULL)
        costs_times = in_full_batches / (packet + around / near["batch_mean"])
    return {
        "from_per_s": SEEN[0],
        "to_per_s": SEEN[1],
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
