# CPU shares of the steps of curves over packet rate: measured, predicted from the costs in the
# other steps, and what the curves say together.

from typing import Any

import numpy as np
import pandas as pd

from ...display.tables import first_row, listed
from ...stats.line import line_by_sums
from .paired import Gathered
from .poll_costs import MIN_POLLS, MIN_SPREAD

# Sums over polls with packets; outside_polls_ns and irq_ns are sums over all polls.
_LINE = ["polls", "packets", "poll_ns", "squares", "products"]
SUMS = [*_LINE, "outside_polls_ns", "irq_ns", "empty_polls", "empty_ns", "again"]
_PARTS = ("poll_share", "outside_polls_share", "interrupt_share")
_PREDICTED = (
    *("expected_share", "marginal_share", "unbatched_share"),
    *("packet_part_ns", "poll_part_ns"),
)
_COLUMNS = (
    *("curve", "bundle", "repeat_count", "device", "rate_per_s", "batch_mean", "polls_per_s"),
    *("repoll_share", "receive_share", *_PARTS, "scheduled_share", *_PREDICTED),
    *("share_growth", "rate_growth", "batch_growth", "flatness"),
)


def summed(work: Gathered) -> pd.DataFrame:
    # By device: the sums from which a line and the shares follow. Polls without a begin have no
    # time and are left out.
    sizes = work.sizes[work.sizes["known"] > 0].reset_index()
    packets = sizes["work"] * sizes["known"]
    sums = sizes[["device", "work"]].assign(
        polls=sizes["known"].where(sizes["work"] > 0, 0),
        packets=packets,
        poll_ns=sizes["known_ns"].where(sizes["work"] > 0, 0),
        squares=sizes["work"] * packets,
        products=sizes["work"] * sizes["known_ns"],
        empty_polls=sizes["known"].where(sizes["work"] <= 0, 0),
        empty_ns=sizes["known_ns"].where(sizes["work"] <= 0, 0),
    )
    table = sums.groupby("device").sum().astype("float64")
    around = work.around.groupby(level="device").sum().reindex(table.index, fill_value=0)
    lines = work.lines.groupby("device")["irq_ns"].sum().reindex(table.index, fill_value=0)
    table["outside_polls_ns"] = around["known_outside_polls_ns"]
    table["irq_ns"] = around["known_irq_ns"] + lines.astype("float64")
    table["again"] = around["again"].astype("float64")
    return table[SUMS].reset_index()


def curve_from(steps: pd.DataFrame, sums: pd.DataFrame) -> pd.DataFrame:
    # The frame of rate_curve. steps: curve, bundle, cpu_ns, window_ns, scheduled_ns, repeat_count.
    # sums: of summed(), with bundle.
    rows = sums.merge(steps, on="bundle")
    table, total = steps.set_index("bundle"), rows.groupby("bundle")[SUMS].sum()
    main = rows.sort_values("packets", ascending=False, kind="stable").groupby("bundle").first()
    seconds, cpu_ns = table["window_ns"] / 1e9, table["cpu_ns"]
    polls = total["polls"] + total["empty_polls"]
    table["device"] = main["device"]
    table["rate_per_s"] = main["packets"] / seconds
    table["batch_mean"] = main["packets"] / main["polls"].where(main["polls"] > 0)
    table["polls_per_s"] = polls / seconds
    table["repoll_share"] = total["again"] / polls
    table["poll_share"] = (total["poll_ns"] + total["empty_ns"]) / cpu_ns
    table["outside_polls_share"] = total["outside_polls_ns"] / cpu_ns
    table["interrupt_share"] = total["irq_ns"] / cpu_ns
    table["receive_share"] = table[list(_PARTS)].sum(axis=1)
    table["scheduled_share"] = table["scheduled_ns"] / cpu_ns
    table = table.reset_index().sort_values(["curve", "rate_per_s"], ignore_index=True)
    predicted = {}
    for _, curve in table.groupby("curve"):
        slowest = rows[rows["bundle"] == curve["bundle"].iloc[0]].set_index("device")
        least = slowest["packets"] / slowest["polls"]
        for bundle in curve["bundle"]:
            others = rows[rows["bundle"].isin(set(curve["bundle"]) - {bundle})]
            predicted[bundle] = _predicted(rows[rows["bundle"] == bundle], others, least)
    table = table.join(pd.DataFrame(predicted).T, on="bundle")
    curves = table.groupby("curve")
    for name, of in (("share", "receive_share"), ("rate", "rate_per_s"), ("batch", "batch_mean")):
        table[f"{name}_growth"] = table[of] / curves[of].shift()
    with np.errstate(divide="ignore", invalid="ignore"):
        table["flatness"] = 1 - np.log(table["share_growth"]) / np.log(table["rate_growth"])
    table["flatness"] = table["flatness"].where(table["rate_growth"] > 1.05)
    return table[list(_COLUMNS)]


def _predicted(
    own: pd.DataFrame, others: pd.DataFrame, least: "pd.Series[float]"
) -> dict[str, float]:
    # A step's share by the costs in the other steps, device by device: rate x (marginal + (irq +
    # core + fixed) / batch). NaN where the others' polls of a device are too few, or their batches
    # too much alike, for a line. least: the mean batch of each device in the curve's slowest step.
    own = own.set_index("device")
    cpu_ns = float(own["cpu_ns"].iloc[0])
    sums = others.groupby("device")[SUMS].sum().reindex(own.index, fill_value=0)
    below = sums["polls"] * sums["squares"] - sums["packets"] ** 2
    # The root of below over the packets is the spread of the batches.
    too_alike = (sums["polls"] < MIN_POLLS) | (below <= (MIN_SPREAD * sums["packets"]) ** 2)
    if too_alike.any() or not cpu_ns:
        return dict.fromkeys(_PREDICTED, np.nan)
    fixed, marginal = line_by_sums(sums[_LINE].to_numpy("float64").T)
    around = (sums["outside_polls_ns"] + sums["irq_ns"]) / (sums["polls"] + sums["empty_polls"])
    per_poll, packets_ns = fixed + around, marginal * own["packets"]
    empty = (sums["empty_ns"] / sums["empty_polls"]).where(sums["empty_polls"] > 0, 0)
    empty_ns = (around + empty) * own["empty_polls"]
    smallest = least.reindex(own.index)
    unbatched = own["packets"] / smallest.where(smallest > 0)
    # Per packet and poll of the device with most packets, for a packet may pass several devices.
    main = own.iloc[int(own["packets"].argmax())]
    polls_ns, unbatched_ns = per_poll * own["polls"], per_poll * unbatched
    step = {
        "expected_share": (packets_ns + polls_ns + empty_ns).sum() / cpu_ns,
        "marginal_share": packets_ns.sum() / cpu_ns,
        "unbatched_share": (packets_ns + unbatched_ns + empty_ns).sum(skipna=False) / cpu_ns,
        "packet_part_ns": packets_ns.sum() / main["packets"],
        "poll_part_ns": polls_ns.sum() / main["polls"],
    }
    if step["packet_part_ns"] < 0 or step["poll_part_ns"] < 0:
        # Scatter outweighs what batches save: only the cost of both together is known.
        return {**dict.fromkeys(_PREDICTED, np.nan), "expected_share": step["expected_share"]}
    return step


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
    growing = table["share_growth"].notna()
    return [
        {"name": str(name), "steps": listed(rows[growing[rows.index]]), "misses": _misses(rows)}
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
        "slowest": first_row(steps.nlargest(1, "flatness")),
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
    growth, costs_times = upper / lower, 0.0
    off = (steps["rate_per_s"] / lower - 1).abs()
    near = first_row(steps[(off == off.min()) & (off < _NEAR) & (steps["batch_mean"] > 0)])
    if near:
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
        "near": near,
        "costs_times": costs_times,
    }
