# What the notebook says of what ends softirqs, of long ones, and of those that only steer; HTML as
# in story.

from typing import Any

import pandas as pd

from ...display.tables import Table
from ...units import absent, duration, share
from ..words import count, filled
from .kernel_limits import KernelLimits
from .softirq_sizes import per_softirq
from .squeezes import Exhaustion

_ROWS = 12
_SQUEEZES = (
    "CPU",
    "squeezes in the trace",
    "in softnet_stat",
    "NET_RX in the trace",
    "in /proc/softirqs",
    "verdict",
)
_OUTLIERS = (
    "length",
    "CPU",
    "on top of",
    "device",
    "polls",
    "packets",
    "in polls",
    "outside",
    "interrupts",
)


def limits_text(limits: KernelLimits) -> str:
    """What the kernel allows one NET_RX, and where that is read."""
    if limits.netdev_budget is None and limits.hz is None:
        return (
            "<p class='missing'>This capture does not say what the kernel allows a softirq "
            "(net.core.netdev_budget, netdev_budget_usecs, CONFIG_HZ): netcost-record keeps "
            "them.</p>"
        )
    jiffies, tick, took = limits.net_rx_jiffies, limits.tick_ns, limits.net_rx_limit_ns
    window = (
        f"{limits.netdev_budget_usecs:,} µs, which are {count(jiffies, 'jiffy', 'jiffies')} of "
        f"{duration(tick)}: between {duration(took[0])} and {duration(took[1])}, for the first of "
        "them has begun before"
        if jiffies is not None and took is not None and limits.netdev_budget_usecs
        else "an unknown time"
    )
    return filled(
        "<p>One NET_RX may take {budget} packets and {window} ({source}). It looks after each "
        "poll; "
        "where either is used up it leaves the rest to the next one and counts a squeeze.</p>",
        budget=limits.netdev_budget if limits.netdev_budget is not None else "an unknown number of",
        window=window,
        source=limits.source,
    )


def squeezes_text(told: Exhaustion) -> str:
    """How many NET_RX were squeezed, and what softnet_stat says."""
    rows = told.by_cpu[told.by_cpu["net_rx"] > 0]
    if not len(rows):
        return "<p class='missing'>No NET_RX polled anything.</p>"
    lines = []
    for row in rows.itertuples():
        if absent(row.squeezes_low):
            lines.append(f"CPU {row.cpu}: unknown")
            continue
        lines.append(
            f"CPU {row.cpu}: {between(row.squeezes_low, row.squeezes_high)} of {row.net_rx:,} "
            "NET_RX "
            f"({between(row.by_budget, row.by_budget)} by packets, "
            f"{between(row.by_time_low, row.by_time_high)} by time)"
        )
    text = filled("<p>Squeezed, {lines}.</p>", lines="; ".join(lines))
    if rows["squeezes_low"].isna().all():
        text = "<p class='missing'>How many were squeezed is unknown without these limits.</p>"
    table = told.against_softnet
    known = table[table["softnet_squeezes"].notna()]
    if not len(known):
        return text + filled(
            "<p class='missing'>Against softnet_stat: {why}.</p>", why=table["verdict"].iloc[0]
        )
    shown = Table(
        _SQUEEZES,
        [
            [
                str(row.cpu),
                between(row.squeezes_low, row.squeezes_high),
                f"{row.softnet_squeezes:,}",
                f"{row.softirqs_traced:,}",
                "unknown" if absent(row.softirqs_counted) else f"{row.softirqs_counted:,}",
                str(row.verdict),
            ]
            for row in known.head(_ROWS).itertuples()
        ],
        left={0, 5},
    )
    return f"{text}{shown.html()}"


def between(low: Any, high: Any) -> str:
    """Two counts as one, or as a range."""
    if absent(low) or absent(high):
        return "an unknown number"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def runs_text(runs: pd.DataFrame, limits: KernelLimits) -> str:
    """How softirqs follow each other, and what ended them."""
    if not len(runs):
        return "<p class='missing'>No softirq was seen.</p>"
    outside, threads = runs[~runs["in_kthread"]], len(runs[runs["in_kthread"]])
    again = len(outside[outside["rounds_made"] > 1])
    text = f"{count(len(outside), 'run')} on top of whoever ran"
    most = int(outside["rounds_made"].max()) if again else 1
    if again and len(outside) == 1:
        text += f", of {most} rounds"
    elif again:
        text += f", {again:,} of them of more than one round, the longest of {most}"
    elif len(outside):
        text += ", of one round each" if len(outside) > 1 else ", of one round"
    if threads:
        text += f"; {threads:,} in kernel threads"
    text += "."
    ended = runs["ended"].value_counts()
    names = {
        "rounds": "after ten rounds, as many as the kernel allows",
        "time": "after their time",
        "time or need_resched": "after their time or because a task had to run",
        "need_resched": "because a task had to run",
    }
    if "unknown" in ended:
        text += " Whether anything was left pending, softirq_raise would say: it was not recorded."
    told = [f"{int(ended[kind]):,} {name}" for kind, name in names.items() if kind in ended]
    if told:
        text += " With something still pending ended " + "; ".join(told) + "."
    if limits.softirq_jiffies is not None and limits.tick_ns is not None:
        text += (
            " Their time is msecs_to_jiffies(2), here "
            f"{count(limits.softirq_jiffies, 'jiffy', 'jiffies')}"
            f" of {duration(limits.tick_ns)}: it may be over at once, or last that long."
        )
    return filled("<p>{text}</p>", text=text)


def outliers_text(rows: pd.DataFrame, longer_ns: int, fewer_packets: int) -> str:
    """Whether there were long NET_RX with few packets, and the longest."""
    if not len(rows):
        return "<p class='missing'>No NET_RX was seen.</p>"
    strange = len(rows[rows["picked"] == "few packets"])
    if rows["packets"].isna().all():
        text = "<p>How many packets each had is not known. The longest:</p>"
        return text + _longest(rows)
    text = (
        f"<p>{count(strange, 'NET_RX softirq')} took {duration(longer_ns)} or more for less than "
        f"{fewer_packets} packets. The longest:</p>"
        if strange
        else f"<p>None took {duration(longer_ns)} or more for less than {fewer_packets} packets. "
        "The longest:</p>"
    )
    return text + _longest(rows)


def _longest(rows: pd.DataFrame) -> str:
    body = [
        [
            f"{duration(row.ns)}",
            str(row.cpu),
            "unknown" if absent(row.comm) else str(row.comm),
            "" if absent(row.device) else str(row.device),
            "unknown" if absent(row.polls) else f"{row.polls:,}",
            "unknown" if absent(row.packets) else f"{row.packets:,}",
            duration(row.poll_ns),
            duration(row.core_ns),
            duration(row.nested_ns),
        ]
        for row in rows.head(_ROWS).itertuples()
    ]
    return Table(_OUTLIERS, body, left={2, 3}).html()


def dispatch_text(rows: pd.DataFrame) -> str:
    """What receive packet steering's sending side cost."""
    sent = rows[rows["dispatches"] > 0]
    if not len(sent):
        return "<p>No NET_RX was without a poll.</p>"
    lines = [
        f"CPU {row.cpu}: {row.dispatches:,} of {row.net_rx:,} NET_RX "
        f"({share(row.dispatch_share)}), "
        f"{duration(row.ns)}, {duration(row.median_ns)} in the median"
        for row in sent.itertuples()
    ]
    text = filled("<p>NET_RX that polled nothing, {lines}.", lines="; ".join(lines))
    if rows["received_rps"].isna().all():
        return text + (
            " Those that were not for another CPU were raised again by packets that the NET_RX "
            "before them had already polled.</p>"
        )
    told = rows[(rows["received_rps"] > 0).fillna(False)]
    if not len(told):
        text += (
            " But softnet_stat says that no CPU was told of packets by another: these were raised "
            "again by packets that the NET_RX before them had already polled."
        )
    else:
        heard = "; ".join(f"CPU {row.cpu} {row.received_rps:,} times" for row in told.itertuples())
        text += filled(" softnet_stat: {heard} told of packets by another CPU.", heard=heard)
    return text + "</p>"


def sizes_text(sizes: pd.DataFrame) -> str:
    """Polls and packets per NET_RX."""
    if not len(sizes):
        return ""
    found = per_softirq(sizes)
    text = (
        f"{found.softirqs:,} NET_RX with polls: {found.polls_mean:.2f} polls each in the mean, "
        f"{found.polls_most} at most"
    )
    if not absent(found.packets_mean):
        text += f"; {found.packets_mean:.1f} packets, {found.packets_most:,} at most"
    return f"<p>{text}. {share(found.single_share) if found.single_share else 'None'} made one " + (
        "poll only.</p>"
    )
