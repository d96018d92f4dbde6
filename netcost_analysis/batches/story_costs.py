# What the notebook says of the cost of polls and packets, and of rates; HTML as in story.

from html import escape
from typing import Any

import pandas as pd

from ..series import Series
from ..story import count, filled
from ..units import absent, duration, share
from .story import called

NO_SERIES = (
    "<p class='missing'>This part is about several recordings at different packet rates, and this "
    "is "
    "one recording. <code>capture/lab/datapath-sweep -o DIR</code> records such a series, and "
    "<code>netcost report --series DIR</code> takes it.</p>"
)

# A step is called flat where the share grows by less than the fifth root of the rate's growth.
_FLAT = 0.8
# Batches grew; many polls were followed by another at once.
_GREW, _AGAIN = 1.3, 0.25


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
        return text + filled(" <b>No line</b>: {why}.</p>", why=cost["refused"])
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
    around = cost["irq_per_poll_ns"] + cost["core_per_poll_ns"] + cost["fixed_ns"]
    if not cost["marginal_ns"] > 0:
        return ""
    size = around / cost["marginal_ns"]
    if size < 1:
        return " Even a packet that comes alone costs more by itself than its poll does."
    return (
        f" From batches of {size:.0f} on, the packets themselves are more than half of the cost, "
        "and "
        "larger batches save less and less."
    )


def series_text(series: Series) -> str:
    """Which recordings the curves are of."""
    experiment = series.experiment
    return filled(
        "<p>From here on not the capture above but the series <b>{name}</b>: {command}, kernel "
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
        f"to {step['rate_per_s'] / 1e3:,.0f} thousand packets/s the rate grew "
        f"{step['rate_growth']:.1f} times, batches {step['batch_growth']:.1f} times, the share of "
        f"the CPU {step['share_growth']:.1f} times ({share(step['network_share'])})"
        for step in steps
    ]
    text += filled("{told}.", told="; ".join(told))
    known = curve[curve["expected_share"].notna()]
    if len(known):
        error = (known["expected_share"] / known["network_share"] - 1).abs()
        worst = known.iloc[int(error.argmax())]
        text += (
            " From the costs in the other steps each share is predicted within "
            f"{share(error.median())} "
            f"of itself in the median; worst at {worst['rate_per_s'] / 1e3:,.0f} thousand, "
            f"{share(worst['expected_share'])} for {share(worst['network_share'])}."
        )
        most = curve.loc[curve["bundle"] != worst["bundle"], "batch"].max()
        if worst["batch"] > 2 * most:
            text += (
                f" Its batches, of {worst['batch']:.0f}, are far beyond the {most:.0f} of the "
                "others."
            )
    return text + "</p>"


def flat_text(curves: pd.DataFrame) -> str:
    """The answer to document 002's question, over all curves of a series."""
    known = curves[curves["flatness"].notna()]
    if not len(known):
        return "<p class='missing'>No curve of this series has two rates.</p>"
    full = known["scheduled_share"] > 0.5 * known["network_share"]
    steps = known[~full]
    lines = []
    flat = steps[steps["flatness"] >= _FLAT]
    if len(flat):
        places = ", ".join(
            f"{row['curve']} up to {row['rate_per_s'] / 1e3:,.0f} thousand/s"
            for row in flat.to_dict("records")
        )
        lines.append(f"The share of the CPU is flat in {count(len(flat), 'step')}: {places}.")
    elif len(steps):
        best = steps.iloc[int(steps["flatness"].argmax())]
        lines.append(
            "<b>No step of these curves is flat.</b> The share grows most slowly in "
            f"{escape(str(best['curve']))} up to {best['rate_per_s'] / 1e3:,.0f} thousand "
            f"packets/s: {best['share_growth']:.1f} times for {best['rate_growth']:.1f} times the "
            f"packets, in batches that grew {best['batch_growth']:.1f} times."
        )
    lines += _batches(steps)
    lines += _condition(steps)
    if full.any():
        lines.append(
            f"In {count(int(full.sum()), 'step')} most of the work ran in kernel threads. There "
            "the scheduler gives them a part of the CPU beside the victim, and packets that do not "
            "fit wait or are dropped: a curve that bends there says little of batches. On a "
            "machine of two CPUs the highest rate is the sender's, too."
        )
    return "".join(f"<p>{line}</p>" for line in lines)


def _typical(steps: pd.DataFrame) -> tuple[float, float]:
    return float(steps["packet_part_ns"].median()), float(steps["poll_part_ns"].median())


def _batches(steps: pd.DataFrame) -> list[str]:
    lines = []
    still = steps[steps["batch_growth"] < _GREW]
    if len(still):
        growth = (still["share_growth"] / still["rate_growth"]).mean()
        lines.append(
            f"Where batches hardly grow ({count(len(still), 'step')}), the share grows "
            f"{growth:.2f} times as much as the rate: without them the curve is straight."
        )
    grown = steps[(steps["batch_growth"] >= _GREW) & steps["expected_share"].gt(0)]
    if len(grown):
        part = (grown["marginal_share"] / grown["expected_share"]).median()
        saved = (1 - grown["expected_share"] / grown["unbatched_share"]).median()
        text = (
            f"Where they grow ({count(len(grown), 'step')}), they save {share(saved)} of what the "
            "same packets would have cost in batches as small as at the lowest rate. Of what is "
            f"left {share(part)} is the packets themselves, which cost the same in any batch."
        )
        packet, around = _typical(grown)
        if packet > 0 and around > 0:
            text += (
                f" A packet takes {duration(packet)} of itself (all its devices together) and a "
                f"round of polls, with interrupt and softirq, {duration(around)}: in batches of "
                f"more than {around / packet:.0f} the packets are the larger part."
            )
        lines.append(text)
    again = steps[steps["again_share"] > _AGAIN]
    if len(again):
        worst = again.iloc[int(again["again_share"].argmax())]
        lines.append(
            f"In {count(len(again), 'step')} more than a quarter of the polls were followed by "
            "another of the same device in the same softirq (at most "
            f"{share(worst['again_share'])}): packets still came while the CPU polled, so it took "
            "them in several smaller batches, and shared the queue with whoever filled it."
        )
    return lines


# Document 002: the same share at these packets a second; a poll takes no more packets than that.
_SEEN, _FULL = (50_000, 500_000), 64


def _condition(steps: pd.DataFrame) -> list[str]:
    # What batches would have had to do for document 002's curve, and what they do here. The share
    # stays while packet + around / batch falls as the rate grows.
    packet, around = _typical(steps[steps["expected_share"].gt(0)])
    if not (packet > 0 and around > 0):
        return []
    grown = _SEEN[1] / _SEEN[0]
    alone, pairs = ((grown - 1) / (1 / batch - grown / _FULL) for batch in (1, 2))
    text = (
        f"<b>Document 002's flat part.</b> From {_SEEN[0]:,} to {_SEEN[1]:,} packets/s the rate "
        f"grew {grown:.0f} times and the share not at all, so a packet came to cost a "
        f"{grown:.0f}th. Batches alone do that only where they grow at least {grown:.0f} times as "
        f"well and a packet takes little of itself. A poll takes {_FULL} at most: they must be "
        f"below {_FULL / grown:.1f} at the lower rate, and the work around a batch (poll, softirq, "
        f"interrupt) must be {alone:.0f} times a packet's own where packets came alone there, "
        f"{pairs:.0f} times where they came in twos. Here it is {around / packet:.1f} times"
    )
    near = steps.iloc[int((steps["rate_per_s"] / _SEEN[0] - 1).abs().argmin())]
    if abs(near["rate_per_s"] / _SEEN[0] - 1) < 0.2 and near["batch"] > 0:
        batch = float(near["batch"])
        least = grown * (packet + around / _FULL) / (packet + around / batch)
        text += (
            f", and at {near['rate_per_s'] / 1e3:,.0f} thousand/s batches are {batch:.0f} already: "
            f"{grown:.0f} times that rate would cost {least:.1f} times that share in batches of "
            f"{_FULL}"
        )
    return [
        text + ". A curve as flat as that document's takes dearer polls beside cheaper packets "
        "than these, or packets that become cheaper with the rate, which no batch of a poll does."
    ]
