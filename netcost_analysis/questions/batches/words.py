"""What the notebook says of softirqs and batches, every figure computed; HTML, names escaped."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...units import absent, duration, share
from ..words import count, filled, missed
from .poll_costs import around_ns, packet_ns
from .raise_delays import clamped_raises
from .softirq_chains import parts_of, totals

if TYPE_CHECKING:
    from ...capture.capture import Capture
    from ...timeline.timeline import Timeline

_MASKED = " While it is polled a driver keeps its interrupt off, as far as the device heeds that."


def answer(chains: pd.DataFrame, costs: pd.DataFrame | None, cpu_ns: int) -> str:
    """The answer in a few sentences.

    chains: as softirq_chains returns it. costs: as poll_costs does, None where it cannot. cpu_ns:
    the window times its CPUs.
    """
    if not len(chains):
        return "<p>No NET_RX softirq ran from entry to exit in this capture.</p>"
    total = totals(chains, cpu_ns)
    if not total.polled:
        return filled(
            "<p class='answer'>{number} ran, {ns} in all, and what they polled is not known.</p>",
            number=count(len(chains), "NET_RX softirq"),
            ns=duration(total.ns),
        )
    received = f", received {count(total.packets, 'packet')}{_batch(costs)}"
    text = filled(
        "<p class='answer'>{number} polled {polls} times{packets} and took <b>{ns}</b>, {share} of "
        "the CPUs' time; {part} of that in polls.</p>",
        number=count(total.polled, "NET_RX softirq"),
        polls=f"{total.polls:,}",
        packets=received if total.packets else "",
        ns=duration(total.own_ns),
        share="an unknown part" if total.cpu_share is None else share(total.cpu_share),
        part="none" if total.polls_share is None else share(total.polls_share),
    )  # fmt: skip
    fitted = costs[costs["refused"].isna() & costs["doubt"].isna()] if costs is not None else None
    if total.dispatches:
        text += filled(
            "<p>Apart from these {number} polled nothing and took {ns} (<i>Steered away</i>).</p>",
            number=f"{total.dispatches:,}",
            ns=duration(total.dispatch_ns),
        )
    # What one says of a packet alone hangs on the fixed part: no figure of it may be noise.
    if fitted is not None and len(fitted) and fitted["fixed_low_ns"].iloc[0] > 0:
        text += _saves(fitted.iloc[0])
    return text


def _batch(costs: pd.DataFrame | None) -> str:
    if costs is None or not len(costs) or absent(costs["batch_mean"].iloc[0]):
        return ""
    first = costs.iloc[0]
    return f", {first['batch_mean']:.1f} in a poll of {called(first['device'])} that received any,"


def _saves(cost: "pd.Series[Any]") -> str:
    # As large as there were; beyond that the line is a guess.
    most = min(int(cost["largest_batch"]), 64)
    alone, full = (
        packet_ns(around_ns(cost), cost["fixed_ns"], cost["marginal_ns"], size)
        for size in (1, most)
    )
    return filled(
        "<p class='answer'>On {device} a packet that comes alone costs {alone}; one of "
        "{most} that come together {full}.</p>",
        most=most,
        device=called(cost["device"]),
        alone=duration(alone),
        full=duration(full),
    )


def called(device: object) -> str:
    """The device's name, or what it is that has none."""
    return "a CPU's backlog" if device == "(no_device)" else str(device)


def anatomy_text(chains: pd.DataFrame) -> str:
    """What raised the NET_RX softirqs, and where their time went."""
    if not len(chains):
        return ""
    parts = parts_of(chains)
    origins = chains["origin"].value_counts()
    names = {
        "irq": "an interrupt",
        "task": "the task that ran",
        "softirq": "another softirq, or the one before",
        "mixed": "several of these",
        "unknown": "nobody that was seen",
    }
    raised = ", ".join(f"{names[str(origin)]} {number:,}" for origin, number in origins.items())
    raisers = chains["name"].value_counts()
    text = filled("<p>Raised by: {raised}.", raised=raised)
    which = "Of the interrupts"
    if chains["raise_ns"].isna().all():
        text, which = "<p>No raise was recorded.", "Begun at the exit of"
    if len(raisers):
        listed = ", ".join(f"{name} {number:,}" for name, number in raisers[:4].items())
        text += filled(" {which}: {listed}.", which=which, listed=listed)
    polled = parts[parts["poll_ns"] > 0]
    if len(polled):
        first = polled.iloc[0]
        text += filled(
            " A chain of {device} took in the mean {irq}, {core} in the softirq outside polls, and "
            "{poll} in polls.",
            device=called(first["device"]),
            irq=f"{duration(first['irq_ns'])} in the interrupt that raised it"
            if first["irq_ns"]
            else "nothing in an interrupt that raised it",
            core=duration(first["core_ns"]),
            poll=duration(first["poll_ns"]),
        )
    total = totals(chains)
    if total.in_kthread:
        text += (
            f" {total.in_kthread:,} ran in a kernel thread ({share(total.in_kthread_share)}): "
            "there the scheduler has its part in the delay from the raise."
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
        "the median, after {p99} or more for one in a hundred.{driver}</p>",
        name=row["name"],
        device=f" ({row['device']})" if not absent(row["device"]) else "",
        cpu=row["cpu"],
        number=count(int(row["interrupts"]), "interrupt"),
        rate=f"{row['interrupts_per_s']:,.0f}",
        median=duration(row["median_ns"]),
        p99=duration(row["p99_ns"]),
        driver=_MASKED if len(of_devices) else "",
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
    clamped = clamped_raises(rows)
    text = filled("<p>NET_RX, {told}.", told="; ".join(told))
    if clamped:
        text += (
            f" {count(clamped, 'raise')} stood at or after the entry, which a race between the two "
            "tracepoints explains: no time at all."
        )
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


def caveats(capture: "Capture", timeline: "Timeline") -> str:
    """What a reader has to know before using the figures: notes of ledger, capture and recorder."""
    manifest = capture.bundle.manifest if capture.bundle else {}
    notes = manifest.get("notes")
    lines = [*timeline.notes, *capture.info["notes"], *(notes if isinstance(notes, list) else ())]
    lines.extend(missed(capture, timeline))
    if capture.info["lost_events"]:
        lost = capture.info["lost_events"]
        lines.append(f"{lost:,} events were lost; what happened then is unknown")
    lines.append(
        "every event of the recording took time of its own, which is within these figures; the "
        "notebook on stolen time says how much that may be"
    )
    items = "".join(filled("<li>{line}</li>", line=line) for line in dict.fromkeys(map(str, lines)))
    return f"<ul>{items}</ul>"
