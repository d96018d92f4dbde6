# What networking costs on devices of each name.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...fleet.fleet import Fleet
from .costs import MAIN, costs, draw, ends, height, panels, require_answers, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer


@question(topic="fleet", check=require_answers, rows=40, columns=("device", *MAIN))
def by_device(fleet: Fleet) -> pd.DataFrame:
    """What networking costs by device: share stolen from tasks, time of a packet, batches.

    A row per device, the dearest packets first: captures, hosts, packets, network_cpu_share,
    stolen_of_tasks_share, ns_per_work, batch_mean, squeezed_share, lowest_ns_per_work and
    highest_ns_per_work (of its captures), dearest (the capture with the highest), command (which
    opens it).

    Shares and costs are ratios of sums over the captures. A capture counts for its busiest device,
    that with most packets: one packet may pass several. Source: the fleet's answers and devices.
    """
    return costs(fleet, "device")


@by_device.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    return ends(answer, "device")


@by_device.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return words(answer, "device")


@by_device.plot(title="CPU time of a packet, by device", height=height, panels=panels)
def _plot(ax: "Axes", answer: "Answer") -> None:
    draw(ax, answer, "device")
