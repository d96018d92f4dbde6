# NET_RX softirqs that are out of the ordinary, and those that only steer packets elsewhere.

import numpy as np
import pandas as pd

from ...timeline.timeline import Timeline
from ..completeness.unrecorded import proved_softirqs
from ..question import question
from .chain_rows import softirq_chains
from .common import net_rx
from .exhaustion import readings_of, with_missing


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    main_columns=("cpu", "entry_ns", "ns", "packets", "device", "comm", "picked"),
)
def long_softirqs(
    timeline: Timeline,
    longer_ns: int = 20_000_000,
    fewer_packets: int = 64,
    longest: int = 5,
) -> pd.DataFrame:
    """NET_RX that took long for few packets, and the longest few whatever they did.

    longer_ns, fewer_packets: the defaults are document 000's "well over 20,000 usec to process less
    than 64 packets". longest: how many to show regardless. Returns rows of softirq_chains, the
    longest first, with picked: "few packets" or "longest". What an interrupt, or on PREEMPT_RT
    another task, had of it is nested_ns. Without napi_poll nobody knows who had few packets: then
    the longest alone. Raises MissingEventsError without softirq_entry and softirq_exit.
    """
    chains = softirq_chains(timeline)
    return outliers_from(chains, longer_ns, fewer_packets, longest)


def outliers_from(
    chains: pd.DataFrame, longer_ns: int, fewer_packets: int, longest: int
) -> pd.DataFrame:
    # long_softirqs() of softirq_chains().
    few = (chains["packets"] < fewer_packets).fillna(False).astype(bool)
    strange = (chains["ns"] >= longer_ns) & few
    regardless = chains["ns"].nlargest(max(longest, 0)).index
    rows = chains[strange | chains.index.isin(regardless)]
    picked = np.where(strange.loc[rows.index], "few packets", "longest").astype(object)
    return rows.assign(picked=picked).sort_values(
        "ns", ascending=False, kind="stable", ignore_index=True
    )


@question(needs=("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll"))
def rps_dispatch(timeline: Timeline) -> pd.DataFrame:
    """NET_RX without any poll: receive packet steering's sending side, apart from all batches.

    Returns a row per cpu of the window: net_rx (all of its NET_RX), net_rx_max (with those that the
    kernel counted and no event shows, where some are proved missing), dispatches (those without a
    poll), dispatch_share (of net_rx), ns (their own time), median_ns, longest_ns, received_rps (how
    often that CPU was told of packets by another one, as softnet_stat counted it between the first
    and the last reading within the window, NA without them). Raises MissingEventsError without one
    of the events.
    """
    timeline.load("softirqs")
    counted, _ = readings_of(timeline)
    told = None if counted is None else counted["received_rps"]
    table = dispatch_from(timeline.softirqs, timeline.summary["cpus"], told)
    return with_missing(table, proved_softirqs(timeline.capture))


def dispatch_from(
    softirqs: pd.DataFrame, cpus: list[int], told: "pd.Series[int] | None" = None
) -> pd.DataFrame:
    # rps_dispatch() of the softirqs table. told: received_rps by CPU.
    rows = net_rx(softirqs)
    sent = rows[rows["polls"] == 0].groupby("cpu")["self_ns"]
    index = pd.Index(sorted(cpus), name="cpu")
    table = pd.DataFrame(index=index)
    table["net_rx"] = rows.groupby("cpu").size().reindex(index, fill_value=0).astype("int64")
    table["dispatches"] = sent.size().reindex(index, fill_value=0).astype("int64")
    table["dispatch_share"] = table["dispatches"] / table["net_rx"].where(table["net_rx"] > 0)
    table["ns"] = sent.sum().reindex(index, fill_value=0).astype("int64")
    table["median_ns"] = sent.median().reindex(index).round().astype("Int64")
    table["longest_ns"] = sent.max().reindex(index).astype("Int64")
    received = told.reindex(index) if told is not None else pd.Series(pd.NA, index=index)
    table["received_rps"] = received.astype("Int64")
    return table.reset_index()
