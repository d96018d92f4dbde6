# What a packet costs in batches of so many.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.answer import Answer
from ...answers.form import each
from ...answers.question import question
from ...errors import ArgumentError
from ...stats.line import line_of
from ...stats.resampling import middle
from ...timeline.timeline import Timeline
from .paired import INPUTS
from .poll_costs import around_ns, batches_of, costs_from, packet_ns
from .poll_sums import Gathered, gathered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZES = (1, 2, 4, 8, 16, 32, 64)
# So many devices have a picture, those with most packets.
_DEVICES = 3
# What a poll takes at most, as a rule: beyond that the line is a guess.
_MAX_TOGETHER = 64
_COLUMNS = ("device", "batch", "packet_ns", "packet_low_ns", "packet_high_ns", "fixed_share")


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll"),
    inputs=INPUTS,
    columns=_COLUMNS,
    rows=len(_SIZES),
)
def packet_costs(timeline: Timeline, sizes: tuple[int, ...] = _SIZES) -> Answer:
    """What a packet costs in batches of so many, by the line of poll_costs and what was measured.

    A row per size and device that has a line without doubt. packet_ns = (interrupt + softirq
    outside polls + fixed) / batch + marginal, its ends 95 % of the line's resamples. seen: whether
    polls were as small as that, and as large. Source: poll_costs.
    """
    if any(size < 1 for size in sizes):
        raise ArgumentError("a batch has at least one packet")
    return Answer(packets_from(gathered(timeline), sizes))


def packets_from(work: Gathered, sizes: tuple[int, ...] = _SIZES) -> pd.DataFrame:
    # packet_costs() of what was gathered.
    rows = []
    costs = costs_from(work)
    for cost in costs[costs["refused"].isna() & costs["doubt"].isna()].to_dict("records"):
        device, around = cost["device"], around_ns(cost)
        batch, _ = batches_of(work.sizes.loc[[device]].groupby(level="work").sum())
        line = line_of(work.stretches.parts(device, None, batch))
        for size in sizes:
            total = packet_ns(around, line.fixed_ns, line.marginal_ns, size)
            low, high = middle(packet_ns(around, line.fixed, line.marginal, size))
            share = 1 - line.marginal_ns / total if total > 0 else float("nan")
            seen = bool(batch.min() <= size <= batch.max())
            # Resamples of a line say less than what is known of a price.
            rows.append((device, size, total, max(low, 0.0), high, share, seen))
    return pd.DataFrame(rows, columns=[*_COLUMNS, "seen"]).astype({"batch": "int64", "seen": bool})


def alone_and_together(cost: Any) -> dict[str, float]:
    # Of a row of poll_costs with a line what a packet costs that comes alone, and one of as many in
    # one poll as there were.
    together = min(int(cost["largest_batch"]), _MAX_TOGETHER)
    alone_ns, together_ns = (
        packet_ns(around_ns(cost), float(cost["fixed_ns"]), float(cost["marginal_ns"]), size)
        for size in (1, together)
    )
    return {"alone_ns": alone_ns, "together": together, "together_ns": together_ns}


@packet_costs.plot(
    title=lambda _, device: f"What a packet of {device} costs by the size of its batch",
    height=2.6,
    panels=lambda answer: each("device")(answer)[:_DEVICES],
    choices=each("device"),
)
def _by_batch(ax: "Axes", answer: Answer, device: str) -> None:
    from ...plots.costs import packet_cost

    packet_cost(ax, answer.frame[answer.frame["device"] == device])
    ax.set_title(device, pad=24)
