# What the notebook says of the cost of polls and packets, and of rates; HTML as in story.

from html import escape
from typing import Any

import pandas as pd

from ...capture.experiment import Experiment
from ...units import absent, duration, share, thousands
from ..words import count, filled
from .curves import FULL, SEEN, Bend, Condition, bend, condition, misses
from .poll_costs import even_batch
from .words import called

NO_SERIES = (
    "<p class='missing'>This part is about several recordings at different packet rates, and this "
    "is "
    "one recording. <code>capture/lab/datapath-sweep -o DIR</code> records such an experiment, and "
    "<code>netcost report --experiment DIR</code> takes it.</p>"
)


def costs_text(cost: "pd.Series[Any]") -> str:
    """What a poll and a packet of one device cost, or why that cannot be said.

    cost: a row of poll_costs.
    """
    packets = cost["packets"]
    text = filled(
        "<p><b>{device}</b>: {polls}, {packets}.",
        device=called(cost["device"]),
        polls=count(int(cost["polls"]), "poll"),
        packets="packets unknown" if absent(packets) else count(int(packets), "packet"),
    )  # fmt: skip
    text += filled(
        " Measured for each poll: {irq} in {irqs:} interrupts, {core} in the softirq outside "
        "polls.",
        irq=duration(cost["irq_per_poll_ns"]),
        irqs=f"{cost['irqs_per_poll']:.2f}",
        core=duration(cost["core_per_poll_ns"]),
    )
    if not absent(cost["refused"]):
        return f"{text}{filled(' <b>No line</b>: {why}.</p>', why=cost['refused'])}"
    text += filled(
        " A poll takes <b>{fixed}</b> ({fixed_low} to {fixed_high}) whatever it receives, and "
        "<b>{marginal}</b> ({marginal_low} to {marginal_high}) for each packet; packets explain "
        "{squared} of the scatter.",
        fixed=duration(cost["fixed_ns"]),
        fixed_low=duration(cost["fixed_low_ns"]),
        fixed_high=duration(cost["fixed_high_ns"]),
        marginal=duration(cost["marginal_ns"]),
        marginal_low=duration(cost["marginal_low_ns"]),
        marginal_high=duration(cost["marginal_high_ns"]),
        squared=share(cost["r_squared"]) or "none",
    )
    if not absent(cost["doubt"]):
        text += filled(
            " <b>Do not use that line</b>: {why}. Large batches are what a CPU finds that was kept "
            "from polling; whatever kept it may have slowed the polls as well. What polls of each "
            "size took is in the picture; it is no cost of a poll and a packet.",
            why=cost["doubt"],
        )
    else:
        if cost["fixed_low_ns"] < 0:
            text += " That the poll itself takes anything cannot be told."
        else:
            text += _even(cost)
    return text + "</p>"


def _even(cost: "pd.Series[Any]") -> str:
    size = even_batch(cost)
    if absent(size):
        return ""
    if size < 1:
        return " Even a packet that comes alone costs more by itself than its poll does."
    return (
        f" From batches of {size:.0f} on, the packets themselves are more than half of the cost, "
        "and "
        "larger batches save less and less."
    )


def series_text(series: Experiment) -> str:
    """Which recordings the curves are of."""
    experiment = series.experiment
    return filled(
        "<p>From here on not the capture above but the experiment <b>{name}</b>: {command}, kernel "
        "{kernel}, {started}.</p>",
        name=series.path.name,
        command=experiment.get("command") or "command unknown",
        kernel=experiment.get("kernel") or "unknown",
        started=experiment.get("started") or "date unknown",
    )


def curve_text(curve: pd.DataFrame) -> str:
    """Where a curve is flat, why, and how well it was predicted.

    curve: the rows of one curve, as rate_curve returns them.
    """
    if len(curve) < 2:
        return filled(
            "<p><b>{name}</b>: one step only, so there is no growth to explain.</p>",
            name=curve["curve"].iloc[0],
        )
    text = filled("<p><b>{name}</b>: ", name=curve["curve"].iloc[0])
    steps = [step for step in curve.to_dict("records") if not absent(step["share_growth"])]
    told = [
        f"to {thousands(step['rate_per_s'])} packets/s the rate grew "
        f"{step['rate_growth']:.1f} times, batches {step['batch_growth']:.1f} times, the share of "
        f"the CPU {step['share_growth']:.1f} times ({share(step['network_share'])})"
        for step in steps
    ]
    text += filled("{told}.", told="; ".join(told))
    found = misses(curve)
    if found:
        worst = found.worst
        text += (
            " From the costs in the other steps each share is predicted within "
            f"{share(found.median_share)} of itself in the median; worst at "
            f"{thousands(worst['rate_per_s'])}, {share(worst['expected_share'])} for "
            f"{share(worst['network_share'])}."
        )
        if found.others_batch is not None:
            text += (
                f" Its batches, of {worst['batch']:.0f}, are far beyond the "
                f"{found.others_batch:.0f} of the others."
            )
    return text + "</p>"


def flat_text(curves: pd.DataFrame) -> str:
    """The answer to document 002's question, over all curves of an experiment."""
    found = bend(curves)
    if found is None:
        return "<p class='missing'>No curve of this experiment has two rates.</p>"
    lines = []
    if len(found.flat):
        places = ", ".join(
            f"{row['curve']} up to {thousands(row['rate_per_s'])}/s"
            for row in found.flat.to_dict("records")
        )
        steps = count(len(found.flat), "step")
        lines.append(f"The share of the CPU is flat in {steps}: {places}.")
    elif len(found.steps):
        best = found.steps.iloc[int(found.steps["flatness"].argmax())]
        lines.append(
            "<b>No step of these curves is flat.</b> The share grows most slowly in "
            f"{escape(str(best['curve']))} up to {thousands(best['rate_per_s'])} "
            f"packets/s: {best['share_growth']:.1f} times for {best['rate_growth']:.1f} times the "
            f"packets, in batches that grew {best['batch_growth']:.1f} times."
        )
    lines.extend(_batches(found))
    known = condition(found.steps)
    if known is not None:
        lines.append(_condition(known))
    if len(found.full):
        lines.append(
            f"In {count(len(found.full), 'step')} most of the work ran in kernel threads. There "
            "the scheduler gives them a part of the CPU beside the victim, and packets that do not "
            "fit wait or are dropped: a curve that bends there says little of batches. On a "
            "machine of two CPUs the highest rate is the sender's, too."
        )
    return "".join(f"<p>{line}</p>" for line in lines)


def _batches(found: Bend) -> list[str]:
    lines = []
    if len(found.still):
        lines.append(
            f"Where batches hardly grow ({count(len(found.still), 'step')}), the share grows "
            f"{found.still_growth:.2f} times as much as the rate: without them the curve is "
            "straight."
        )
    if len(found.grown):
        text = (
            f"Where they grow ({count(len(found.grown), 'step')}), they save "
            f"{share(found.saved_share)} of what the same packets would have cost in batches as "
            f"small as at the lowest rate. Of what is left {share(found.packets_share)} is the "
            "packets themselves, which cost the same in any batch."
        )
        prices = found.grown_prices
        if prices:
            text += (
                f" A packet takes {duration(prices.packet_ns)} of itself (all its devices "
                "together) and a round of polls, with interrupt and softirq, "
                f"{duration(prices.around_ns)}: in batches of more than {prices.times:.0f} the "
                "packets are the larger part."
            )
        lines.append(text)
    if len(found.again):
        worst = found.again.iloc[int(found.again["repoll_share"].argmax())]
        lines.append(
            f"In {count(len(found.again), 'step')} more than a quarter of the polls were followed "
            "by another of the same device in the same softirq (at most "
            f"{share(worst['repoll_share'])}): packets still came while the CPU polled, so it took "
            "them in several smaller batches, and shared the queue with whoever filled it."
        )
    return lines


def _condition(known: Condition) -> str:
    grown = f"{known.growth:.0f}"
    text = (
        f"<b>Document 002's flat part.</b> From {SEEN[0]:,} to {SEEN[1]:,} packets/s the rate "
        f"grew {grown} times and the share not at all, so a packet came to cost a {grown}th. "
        f"Batches alone do that only where they grow at least {grown} times as well and a packet "
        f"takes little of itself. A poll takes {FULL} at most: they must be below "
        f"{known.most_batch:.1f} at the lower rate, and the work around a batch (poll, softirq, "
        f"interrupt) must be {known.alone_times:.0f} times a packet's own where packets came alone "
        f"there, {known.pairs_times:.0f} times where they came in twos. Here it is "
        f"{known.here_times:.1f} times"
    )
    if known.near is not None:
        text += (
            f", and at {thousands(known.near['rate_per_s'])}/s batches are "
            f"{known.near['batch']:.0f} already: {grown} times that rate would cost "
            f"{known.costs_times:.1f} times that share in batches of {FULL}"
        )
    return (
        f"{text}. A curve as flat as that document's takes dearer polls beside cheaper packets "
        "than these, or packets that become cheaper with the rate, which no batch of a poll does."
    )
