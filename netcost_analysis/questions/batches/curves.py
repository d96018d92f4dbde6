# What the curves of CPU share over packet rate say together; document 002's question.

from typing import Any, NamedTuple

import pandas as pd

from .common import records

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


class Misses(NamedTuple):
    # How far a curve's shares are from those expected by its other steps. median_share: of the
    # share itself. worst: the step farthest off. others_batch: the largest batch of the other
    # steps, where that one's is more than twice as large; else None.

    median_share: float
    worst: dict[str, Any]
    others_batch: float | None


def misses(curve: pd.DataFrame) -> Misses | None:
    # The errors of expected_share. curve: the rows of one, of rate_curve(); None without any.
    known = curve[curve["expected_share"].notna()]
    if not len(known):
        return None
    error = (known["expected_share"] / known["receive_share"] - 1).abs()
    (worst,) = records(known.iloc[[int(error.argmax())]])
    most = float(curve.loc[curve["bundle"] != worst["bundle"], "batch_mean"].max())
    return Misses(float(error.median()), worst, most if worst["batch_mean"] > 2 * most else None)


class Prices(NamedTuple):
    # Medians over steps: of packet_part_ns and poll_part_ns; times: the second by the first.

    packet_median_ns: float
    around_median_ns: float
    times: float


def _prices(steps: pd.DataFrame) -> Prices | None:
    packet, around = (float(steps[f"{part}_part_ns"].median()) for part in ("packet", "poll"))
    return Prices(packet, around, around / packet) if packet > 0 and around > 0 else None


class Bend(NamedTuple):
    # Why curves bend, over the steps of an experiment that have a step before them. full: how many
    # steps have most of their work in kernel threads. steps: the others, of which flat (flat_steps)
    # are those whose share hardly grows, and slowest is the one where it grows least. still: how
    # many have batches that hardly grow, and still_growth, how much the share grows there, by the
    # rate's growth. grown: how many others; of their shares own_packets_share is the packets' own,
    # saved_share what batches save; grown_prices: of these. again: how many have more than a
    # quarter of the polls followed by another, at most repoll_share of them.

    full: int
    steps: pd.DataFrame
    flat: list[dict[str, Any]]
    flat_steps: int
    slowest: dict[str, Any] | None
    still: int
    still_growth: float
    grown: int
    own_packets_share: float
    saved_share: float
    grown_prices: Prices | None
    again: int
    repoll_share: float


def bend(curves: pd.DataFrame) -> Bend | None:
    # What rate_curve() says over all its curves; None where none has two rates.
    known = curves[curves["flatness"].notna()]
    if not len(known):
        return None
    full = known["scheduled_share"] > _FULL_SHARE * known["receive_share"]
    steps = known[~full]
    still = steps[steps["batch_growth"] < _GREW]
    grown = steps[(steps["batch_growth"] >= _GREW) & steps["expected_share"].gt(0)]
    flat = steps[steps["flatness"] >= _FLAT]
    again = steps[steps["repoll_share"] > _AGAIN]
    return Bend(
        full=int(full.sum()),
        steps=steps,
        flat=records(flat),
        flat_steps=len(flat),
        slowest=next(iter(records(steps.nlargest(1, "flatness"))), None),
        still=len(still),
        still_growth=float((still["share_growth"] / still["rate_growth"]).mean()),
        grown=len(grown),
        own_packets_share=float((grown["marginal_share"] / grown["expected_share"]).median()),
        saved_share=float((1 - grown["expected_share"] / grown["unbatched_share"]).median()),
        grown_prices=_prices(grown),
        again=len(again),
        repoll_share=float(again["repoll_share"].max()),
    )


class Condition(NamedTuple):
    # What batches would have to do for document 002's flat part, and what they do here. from_per_s,
    # to_per_s: its rates; growth: of them. full_batch: what a poll takes at most. most_batch:
    # packets of a poll at its lower rate, at most. alone_times, pairs_times: how many times a
    # packet's own cost the work around a batch must be, where packets came alone there, and in
    # twos; here_times: what it is here. near: the step of about that rate, None without;
    # costs_times: how many times its share growth times its rate would cost, in full batches.

    from_per_s: int
    to_per_s: int
    full_batch: int
    growth: float
    most_batch: float
    alone_times: float
    pairs_times: float
    here_times: float
    near: dict[str, Any] | None
    costs_times: float


def condition(steps: pd.DataFrame) -> Condition | None:
    # Document 002 beside these steps (Bend.steps); None where their costs are not known. The share
    # stays while packet + around / batch falls as the rate grows.
    prices = _prices(steps[steps["expected_share"].gt(0)])
    if prices is None:
        return None
    packet, around, times = prices
    growth = SEEN[1] / SEEN[0]
    alone, pairs = ((growth - 1) / (1 / batch - growth / FULL) for batch in (1, 2))
    off = (steps["rate_per_s"] / SEEN[0] - 1).abs()
    (near,) = records(steps.iloc[[int(off.argmin())]])
    close = off.min() < _NEAR and near["batch_mean"]
    costs = (
        growth * (packet + around / FULL) / (packet + around / near["batch_mean"]) if close else 0.0
    )
    return Condition(
        *SEEN,
        FULL,
        growth,
        FULL / growth,
        alone,
        pairs,
        times,
        near if close else None,
        float(costs),
    )


class Curve(NamedTuple):
    # One curve: its steps that have a step before them, and how well shares are predicted.

    name: str
    steps: list[dict[str, Any]]
    misses: Misses | None


def curves_of(table: pd.DataFrame) -> list[Curve]:
    # The curves of rate_curve(), in its order.
    return [
        Curve(str(name), records(rows[rows["share_growth"].notna()]), misses(rows))
        for name, rows in table.groupby("curve", sort=False)
    ]
