# What networking costs on captures that share a host, a kernel, a device or a driver.

from typing import TYPE_CHECKING

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...fleet import Fleet
from .capture_costs import SUMS, capture_costs, command_for, ratios, require_answers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FIGURES = (
    *("captures", "hosts", "packets", "network_cpu_share", "stolen_of_tasks_share"),
    *("ns_per_work", "batch_mean", "squeezed_share", "lowest_ns_per_work"),
    *("highest_ns_per_work", "dearest", "command"),
)
_SHOWN = (
    *("captures", "ns_per_work", "stolen_of_tasks_share", "network_cpu_share"),
    *("batch_mean", "highest_ns_per_work", "dearest", "squeezed_share"),
)


@question(topic="fleet", check=require_answers, rows=40, columns=("hostname", *_SHOWN))
def by_host(fleet: Fleet) -> Answer:
    """What networking costs by host: share stolen from tasks, time of a packet, batches.

    A row per host, the dearest packets first. Shares and costs are ratios of sums over the
    captures. A capture counts for its busiest device, the one with most packets, because one packet
    may pass several devices. Source: the fleet's answers and devices.
    """
    return _costs(fleet, by="hostname")


@question(topic="fleet", check=require_answers, rows=40, columns=("kernel", *_SHOWN))
def by_kernel(fleet: Fleet) -> Answer:
    """What networking costs by kernel: share stolen from tasks, time of a packet, batches.

    A row per kernel, the dearest packets first; the rest is as in by_host. Source: the fleet's
    answers and devices.
    """
    return _costs(fleet, by="kernel")


@question(topic="fleet", check=require_answers, rows=40, columns=("device", *_SHOWN))
def by_device(fleet: Fleet) -> Answer:
    """What networking costs by device: share stolen from tasks, time of a packet, batches.

    A row per name of a device, the dearest packets first; the rest is as in by_host. Source: the
    fleet's answers and devices.
    """
    return _costs(fleet, by="device")


@question(topic="fleet", check=require_answers, rows=40, columns=("driver", *_SHOWN))
def by_driver(fleet: Fleet) -> Answer:
    """What networking costs by driver: share stolen from tasks, time of a packet, batches.

    A row per driver, the dearest packets first; the rest is as in by_host. Source: the fleet's
    answers and devices.
    """
    return _costs(fleet, by="driver")


def _costs(fleet: Fleet, by: str) -> Answer:
    rows = capture_costs(fleet).sort_values("ns_per_work", ascending=False, kind="stable")
    # A ratio of sums is of the captures that know both parts of it.
    for pair in (["stolen_network_ns", "on_cpu_ns"], ["squeezes_low", "with_polls"]):
        rows[pair] = rows[pair].where(rows[pair].notna().all(axis=1))
    groups = rows.groupby(by)
    prices = groups["ns_per_work"]
    frame = ratios(groups[SUMS].sum(min_count=1)).assign(
        captures=groups.size(),
        hosts=groups["hostname"].nunique(),
        lowest_ns_per_work=prices.min(),
        highest_ns_per_work=prices.max(),
        dearest=groups["path"].first(),
    )
    frame["command"] = frame["dearest"].map(command_for)
    frame = frame.sort_values("ns_per_work", ascending=False, kind="stable").reset_index()
    priced = frame[frame["ns_per_work"].notna()]
    stolen = frame["stolen_of_tasks_share"].dropna().nlargest(1)
    ends = pd.concat(
        {"dearest": priced[:1], "cheapest": priced[-1:], "most stolen": frame.loc[stolen.index]},
        names=["end"],
    )
    ends = ends.reset_index("end").rename(columns={by: "named"})
    columns = ["end", "named", "ns_per_work", "stolen_of_tasks_share"]
    return Answer(frame[[by, *_FIGURES]], ends=ends[columns].reset_index(drop=True))


def _draw(ax: "Axes", answer: Answer) -> None:
    from .plots import prices

    prices(ax, answer.frame, answer.question.columns[0])


for _question in (by_host, by_kernel, by_device, by_driver):
    _question.plot(
        title=f"CPU time of a packet, by {_question.name.removeprefix('by_')}",
        height=lambda answer: 0.9 + 0.33 * min(len(answer.frame), 20),
        panels=lambda answer: [{}] if answer.frame["ns_per_work"].notna().any() else [],
    )(_draw)
