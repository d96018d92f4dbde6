"""What the notebook says of softirqs and batches, every figure computed; HTML, names escaped."""

from typing import Any

import pandas as pd

from ..story import count, filled
from ..tables import Table
from ..units import absent, duration, share
from .chain_rows import parts_of
from .exhaustion import Exhaustion
from .settings import KernelLimits

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


def answer(chains: pd.DataFrame, costs: pd.DataFrame | None, cpu_ns: int) -> str:
    """The answer in a few sentences.

    chains: as softirq_chains returns it. costs: as poll_costs does, None where it cannot. cpu_ns:
    the window times its CPUs.
    """
    polled = chains[(chains["polls"] > 0).fillna(False)]
    if not len(chains):
        return "<p>No NET_RX softirq ran from entry to exit in this capture.</p>"
    if not len(polled):
        return filled(
            "<p class='answer'>{number} ran, {ns} in all, and what they polled is not known.</p>",
            number=count(len(chains), "NET_RX softirq"),
            ns=duration(chains["ns"].sum()),
        )
    own = int((polled["poll_ns"] + polled["core_ns"]).sum())
    packets, polls = polled["packets"].sum(), int(polled["polls"].sum())
    received = f", received {count(int(packets), 'packet')}, {packets / polls:.1f} in a poll,"
    text = filled(
        "<p class='answer'>{number} polled {polls} times{packets} and took <b>{ns}</b>, {share} of "
        "the CPUs' time; {part} of that in polls.</p>",
        number=count(len(polled), "NET_RX softirq"),
        polls=f"{polls:,}",
        packets=received if packets else "",
        ns=duration(own),
        share=share(own / cpu_ns) if cpu_ns else "an unknown part",
        part=share(polled["poll_ns"].sum() / own) if own else "none",
    )  # fmt: skip
    fitted = costs[costs["refused"].isna() & costs["doubt"].isna()] if costs is not None else None
    if fitted is not None and len(fitted):
        text += _saves(fitted.iloc[0])
    return text


def _saves(cost: "pd.Series[Any]") -> str:
    around = cost["irq_per_poll_ns"] + cost["core_per_poll_ns"] + cost["fixed_ns"]
    alone, full = around + cost["marginal_ns"], around / 64 + cost["marginal_ns"]
    return filled(
        "<p class='answer'>On {device} a packet that comes alone costs {alone}; one of 64 that "
        "come "
        "together {full}.</p>",
        device=cost["device"],
        alone=duration(alone),
        full=duration(full),
    )


def anatomy_text(chains: pd.DataFrame) -> str:
    """What raised the NET_RX softirqs, and where their time went."""
    if not len(chains):
        return ""
    parts = parts_of(chains)
    origins = chains["origin"].value_counts()
    names = {
        "irq": "an interrupt",
        "task": "the task itself",
        "softirq": "another softirq, or the one before",
        "mixed": "several of these",
        "unknown": "nobody that was seen",
    }
    raised = ", ".join(f"{names[str(origin)]} {number:,}" for origin, number in origins.items())
    raisers = chains["name"].value_counts()
    text = filled("<p>Raised by: {raised}.", raised=raised)
    if len(raisers):
        listed = ", ".join(f"{name} {number:,}" for name, number in raisers[:4].items())
        text += filled(" Of the interrupts: {listed}.", listed=listed)
    first = parts.iloc[0]
    inside = first["irq_ns"] + first["core_ns"] + first["poll_ns"]
    if inside:
        text += filled(
            " Of {device}'s chains the interrupt was {irq} in the mean, the softirq outside its "
            "polls {core}, its polls {poll}.",
            device=first["device"],
            irq=duration(first["irq_ns"]),
            core=duration(first["core_ns"]),
            poll=duration(first["poll_ns"]),
        )
    kthread = int(chains["in_kthread"].sum())
    if kthread:
        text += (
            f" {kthread:,} ran in a kernel thread, {share(kthread / len(chains))} of all: there "
            "the "
            "delay from the raise is the scheduler's too."
        )
    return text + "</p>"


def line_labels(gaps: pd.DataFrame) -> list[str]:
    """A name for each row of irq_gaps."""
    return [
        f"{row.name}{'' if absent(row.device) else f' ({row.device})'}, CPU {row.cpu}"
        for row in gaps.itertuples(name="Line")
    ]


def gaps_text(gaps: pd.DataFrame) -> str:
    """What the time between interrupts says of the busiest line of a device, or of all."""
    measured = gaps[gaps["gaps"] > 0]
    if not len(measured):
        return "<p class='missing'>No line had two interrupts without a gap in the record.</p>"
    of_devices = measured[measured["device"].notna()]
    row = (of_devices if len(of_devices) else measured).iloc[0]
    return filled(
        "<p>{name}{device} on CPU {cpu}: {number}, {rate} a second; the next one after {median} in "
        "the median, after {p99} or more for one in a hundred. While it is polled a driver keeps "
        "its interrupt off, as far as the device heeds that.</p>",
        name=row["name"],
        device=f" ({row['device']})" if not absent(row["device"]) else "",
        cpu=row["cpu"],
        number=count(int(row["interrupts"]), "interrupt"),
        rate=f"{row['interrupts_per_s']:,.0f}",
        median=duration(row["median_ns"]),
        p99=duration(row["p99_ns"]),
    )


def delays_text(delays: pd.DataFrame) -> str:
    """How long NET_RX waited from raise to entry."""
    rows = delays[(delays["action"] == "NET_RX") & (delays["raises_known"] > 0)]
    if not len(rows):
        return "<p class='missing'>No NET_RX was seen from its raise to its entry.</p>"
    told = []
    for row in rows.itertuples():
        where = "in a kernel thread" if row.in_kthread else "on top of whoever ran"
        told.append(
            f"raised by {row.origin}, {where}: {duration(row.median_ns)} in the median, at most "
            f"{duration(row.longest_ns)} ({row.raises_known:,})"
        )
    clamped = int(rows["clamped"].sum())
    text = filled("<p>NET_RX, {told}.", told="; ".join(told))
    if clamped:
        text += (
            f" {count(clamped, 'raise')} stood at or after the entry, which a race between the two "
            "tracepoints explains: no time at all."
        )
    return text + "</p>"


def traps_text(sizes: pd.DataFrame) -> str:
    """Which batch sizes mean something else than packets that came together."""
    polls = int(sizes["polls"].sum())
    if not polls:
        return "<p class='missing'>No poll was seen.</p>"
    meant = {
        "empty": "received nothing: they completed transmissions, which work does not count, or "
        "found nothing to do",
        "full": "used their whole budget and were polled again",
        "almost full": "stopped one short of the budget, which is also what a driver must report "
        "when it used its whole budget and is done",
        "Tx only": "had no budget for packets at all",
        "no work field": "are of a kernel whose napi_poll has no work field (it came in 4.8)",
    }
    told = []
    for trap, meaning in meant.items():
        rows = sizes[sizes["trap"] == trap]
        number = int(rows["polls"].sum())
        if number:
            taken = duration(rows["ns"].sum())
            told.append(f"{number:,} ({share(number / polls)}), {taken}, {meaning}")
    text = f"Of {count(polls, 'poll')}: " + "; ".join(told) + "." if told else ""
    backlog = int(sizes.loc[sizes["device"] == "(no_device)", "polls"].sum())
    if backlog:
        text += (
            f" {count(backlog, 'poll')} were of a CPU's backlog, which has no device: packets that "
            "receive packet steering, a veth pair or the loopback handed over."
        )
    begun = int(sizes["without_begin"].sum())
    if begun:
        text += f" {count(begun, 'poll')} had no known begin (busy polling, netpoll): no time."
    return filled("<p>{text}</p>", text=text) if text else ""


def limits_text(limits: KernelLimits) -> str:
    """What the kernel allows one NET_RX, and where that is read."""
    if limits.netdev_budget is None and limits.hz is None:
        return (
            "<p class='missing'>This capture does not say what the kernel allows a softirq "
            "(net.core.netdev_budget, netdev_budget_usecs, CONFIG_HZ): netcost-record keeps "
            "them.</p>"
        )
    jiffies, tick = limits.net_rx_jiffies, limits.tick_ns
    window = (
        f"{limits.netdev_budget_usecs:,} µs, which are {count(jiffies, 'jiffy', 'jiffies')} of "
        f"{duration(tick)}: between {duration((jiffies - 1) * tick)} and "
        f"{duration(jiffies * tick)}, "
        "for the first of them has begun before"
        if jiffies is not None and tick is not None and limits.netdev_budget_usecs
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
    table = told.against_softnet
    known = table[table["softnet_squeezes"].notna()]
    if not len(known):
        return text + filled(
            "<p class='missing'>Against softnet_stat: {why}.</p>", why=table["verdict"].iloc[0]
        )
    return text + Table(
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
    ).html()  # fmt: skip


def between(low: Any, high: Any) -> str:
    """Two counts as one, or as a range."""
    if absent(low) or absent(high):
        return "an unknown number"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def runs_text(runs: pd.DataFrame, limits: KernelLimits) -> str:
    """How softirqs follow each other, and what ended them."""
    if not len(runs):
        return "<p class='missing'>No softirq was seen.</p>"
    outside = runs[~runs["in_kthread"]]
    again = int((outside["rounds_made"] > 1).sum())
    text = (
        f"{count(len(outside), 'run')} on top of whoever ran; {again:,} of them had more than one "
        f"round, the longest {int(outside['rounds_made'].max()) if len(outside) else 0}."
    )
    ended = runs["ended"].value_counts()
    names = {
        "rounds": "after ten rounds, as many as the kernel allows",
        "time": "after their time",
        "time or need_resched": "after their time or because a task had to run",
        "need_resched": "because a task had to run",
        "pending": "by the kernel's time limit or because a task had to run (the tick is unknown)",
    }
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
    strange = int((rows["picked"] == "few packets").sum())
    text = (
        f"<p>{count(strange, 'NET_RX softirq')} took {duration(longer_ns)} or more for less than "
        f"{fewer_packets} packets. The longest:</p>"
        if strange
        else f"<p>None took {duration(longer_ns)} or more for less than {fewer_packets} packets. "
        "The longest:</p>"
    )
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
    return text + Table(_OUTLIERS, body, left={2, 3}).html()


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


def delays_shown(delays: pd.DataFrame) -> pd.DataFrame:
    """The rows of raise_delays that are worth a picture: NET_RX, then the busiest others."""
    known = delays[delays["raises_known"] > 0]
    network = known["action"].isin(["NET_RX", "NET_TX"])
    return pd.concat([known[network].head(6), known[~network].head(4)])


def delay_labels(delays: pd.DataFrame) -> list[str]:
    """A name for each row of raise_delays."""
    return [
        f"{row.action}, by {row.origin}{', in a thread' if row.in_kthread else ''}"
        for row in delays.itertuples()
    ]


def sizes_text(sizes: pd.DataFrame) -> str:
    """Polls and packets per NET_RX."""
    if not len(sizes):
        return ""
    number, polls = int(sizes["softirqs"].sum()), int((sizes["polls"] * sizes["softirqs"]).sum())
    text = (
        f"{number:,} NET_RX with polls: {polls / number:.2f} polls each in the mean, "
        f"{int(sizes['polls'].max())} at most"
    )
    if sizes["packets"].notna().all():
        packets = int((sizes["packets"] * sizes["softirqs"]).sum())
        text += f"; {packets / number:.1f} packets, {int(sizes['packets'].max()):,} at most"
    single = int(sizes.loc[sizes["polls"] == 1, "softirqs"].sum())
    return f"<p>{text}. {share(single / number) or 'None'} made one poll only.</p>"
