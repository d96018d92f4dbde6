# What a packet costs in batches of so many.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.form import each
from ...answers.question import question
from ...errors import ArgumentError
from ...stats.line import line_of
from ...stats.resampling import middle
from ...timeline.timeline import Timeline
from .common import called
from .paired import INPUTS
from .poll_costs import around_ns, batches_of, costs_from, gathered, packet_ns
from .poll_sums import Gathered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

_SIZES = (1, 2, 4, 8, 16, 32, 64)


# So many devices have a picture, those with most packets.
_DEVICES = 3
# What a poll takes at most, as a rule: beyond that the line is a guess.
_MAX_TOGETHER = 64


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll"),
    inputs=INPUTS,
    columns=("device", "batch", "packet_ns", "packet_low_ns", "packet_high_ns", "fixed_share"),
    rows=len(_SIZES),
)
def packet_costs(timeline: Timeline, sizes: tuple[int, ...] = _SIZES) -> pd.DataFrame:
    """What a packet costs in batches of so many, by the line of poll_costs and what was measured.

    - sizes: Packets per poll, each at least 1.

    A row per size and device that has a line without doubt: device, batch, packet_ns,
    packet_low_ns, packet_high_ns (95 % of the line's resamples, not below 0), fixed_share (what of
    packet_ns falls as batches grow), seen (whether polls were as small as that, and as large).

    packet_ns = (interrupt + softirq outside polls + fixed) / batch + marginal. Source: poll_costs.
    """
    if any(size < 1 for size in sizes):
        raise ArgumentError("a batch has at least one packet")
    return packets_from(gathered(timeline), sizes)


def packets_from(work: Gathered, sizes: tuple[int, ...] = _SIZES) -> pd.DataFrame:
    # packet_costs() of what was gathered.
    columns = ["device", "batch", "packet_ns", "packet_low_ns", "packet_high_ns", "fixed_share"]
    rows = []
    costs = costs_from(work)
    for cost in costs[costs["refused"].isna() & costs["doubt"].isna()].to_dict("records"):
        device = cost["device"]
        batch, _ = batches_of(work.sizes.loc[[device]].groupby(level="work").sum())
        line = line_of(work.stretches.parts(device, None, batch))
        around = around_ns(cost)
        for size in sizes:
            total = packet_ns(around, line.fixed_ns, line.marginal_ns, size)
            low, high = middle(packet_ns(around, line.fixed, line.marginal, size))
            # Resamples of a line say less than what is known of a price.
            low = max(low, 0.0)
            share = 1 - line.marginal_ns / total if total > 0 else float("nan")
            seen = bool(batch.min() <= size <= batch.max())
            rows.append((cost["device"], size, total, low, high, share, seen))
    return pd.DataFrame(rows, columns=[*columns, "seen"]).astype({"batch": "int64", "seen": bool})


class Price(NamedTuple):
    # What a packet costs that comes alone, and one of together that come in one poll.

    alone_ns: float
    together: int
    together_ns: float


def alone_and_together(cost: Any) -> Price:
    # Of a row of poll_costs with a line: as large a batch as there was.
    together = min(int(cost["largest_batch"]), _MAX_TOGETHER)
    alone, shared = (
        packet_ns(around_ns(cost), float(cost["fixed_ns"]), float(cost["marginal_ns"]), size)
        for size in (1, together)
    )
    return Price(alone, together, shared)


@packet_costs.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {"devices": [called(device) for device in answer.frame["device"].unique()]}


@packet_costs.plot(
    title=lambda _, device: f"What a packet of {device} costs by the size of its batch",
    height=2.6,
    panels=lambda answer: each("device")(answer)[:_DEVICES],
    choices=each("device"),
)
def _by_batch(ax: "Axes", answer: "Answer", device: str) -> None:
    from .plots_costs import packet_cost

    packet_cost(ax, answer.frame[answer.frame["device"] == device])
    ax.set_title(device, pad=24)
