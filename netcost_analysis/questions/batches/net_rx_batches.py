# How many packets the NET_RX softirqs handled.

from typing import TYPE_CHECKING, Any

from ...timeline.timeline import Timeline
from ..example import detail
from ..question import question
from .softirq_sizes import NetRx, net_rx_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..answer import Answer


@question(needs=("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll"), rows=0)
def net_rx_batches(timeline: Timeline) -> NetRx:
    """How many packets the NET_RX softirqs handled, all their polls together.

    Raises MissingEventsError without one of the events. Source: softirqs, of a large capture those
    of a stretch from its middle.
    """
    return net_rx_of(_rows(timeline))


def _rows(timeline: Timeline) -> "pd.DataFrame":
    softirqs = detail(timeline).softirqs
    return softirqs[softirqs["action"].astype(object) == "NET_RX"]


@net_rx_batches.figures
def _figures(answer: "Answer[NetRx]") -> NetRx:
    return answer.result


def _any(answer: "Answer[NetRx]") -> list[dict[str, Any]]:
    return [{}] if answer.result.softirqs else []


@net_rx_batches.plot(title="Packets per NET_RX softirq", height=2.4, panels=_any)
def _sizes(ax: "Axes", answer: "Answer[NetRx]") -> None:
    from ...plots.batches import packets_per_softirq

    packets_per_softirq(ax, _rows(answer.timeline))
