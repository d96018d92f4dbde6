"""What the report says of one interrupt, of time and of batches, computed; HTML as in story."""

from typing import TYPE_CHECKING

import pandas as pd

from ..coverage import lost_in
from ..display.tables import NO_TASK
from ..questions.batches.poll_sizes import budget_of as budget_of
from ..questions.batches.poll_sizes import polls_of
from ..questions.batches.softirq_sizes import net_rx_of
from ..questions.stolen_time.rolling import Spread, spread
from ..questions.words import count, filled, missing
from ..units import duration, ranges, share

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..questions.example import Moment
    from ..timeline.timeline import Timeline

_DEVICES = 3


def detail_text(timeline: "Timeline", detail: "Timeline") -> str:
    """Which stretch single interrupts and batches are of, where it is not all; else empty."""
    if detail is timeline:
        return ""
    return filled(
        "<p class='missing'>This is a large capture. Single interrupts and batches, below, are of "
        "{width} from its middle, {start} after its start; every sum is of all of it.</p>",
        width=duration(detail.duration_ns),
        start=duration(detail.offset_ns),
    )


def moment_text(capture: "Capture", example: "Moment | None") -> str:
    """What the picture of one interrupt shows, or why there is none."""
    if example is None:
        return (
            missing(capture, "irq:softirq_entry", "irq:softirq_exit")
            or "<p class='missing'>No interrupt was seen from its entry to its exit.</p>"
        )
    names = {
        "hardirq": "hardirqs",
        "vector": "vectors",
        "poll": "polls",
        "softirq": "the rest of the softirq",
        "softirq_other": "other softirqs",
        "nmi": "NMIs",
    }
    ns = example.parts
    parts = ", ".join(f"{name} {duration(ns[kind])}" for kind, name in names.items() if kind in ns)
    text = filled(
        "<p>Full colour is who has the CPU. The pale spans are a softirq that is open and a task "
        "that is current, while something above them runs; a monitor sees the bottom lane only."
        "</p><p>Of median length among its kind: {what} on CPU {cpu}, {at} into the capture. Of "
        "the {span} from the first interrupt to the end of the last, interrupts and softirqs had "
        "{taken}: {parts}.",
        what=example.what,
        cpu=example.cpu,
        at=duration(example.offset_ns),
        span=duration(example.span_ns),
        taken=duration(example.interrupted_ns),
        parts=parts,
    )
    between_ns = int(ns.get("task", 0))
    if between_ns:
        text += (
            f" The {duration(between_ns)} in between, from an interrupt's exit to the softirq's "
            "entry, are booked to the task: no event says otherwise."
        )
    if example.scheduled:
        text += (
            " It ran in a kernel thread: that is scheduled work, stolen from nobody, though others "
            "may have waited for the CPU."
        )
    return text + "</p>"


def over_time_text(
    timeline: "Timeline",
    victim: str | None,
    cpus: list[int],
    gaps: pd.DataFrame,
    bins: pd.DataFrame | None,
    bin_ns: int,
) -> str:
    """What the picture over time shows, and the gaps in it. bins: of rolling_stolen()."""
    if not timeline.duration_ns:
        return "<p class='missing'>The window is empty: there is no time to show.</p>"
    if not cpus:
        return f"<p class='missing'>{NO_TASK}</p>"
    text = filled(
        "<p>Where {who} was on a CPU ({cpus}), in bins of {bin}. What is white is other tasks and "
        "idle time.",
        who=victim or "each task",
        cpus=f"CPU{'s' if len(cpus) > 1 else ''} {ranges(cpus)}",
        bin=duration(bin_ns),
    )
    if not timeline.has_switches:
        text += (
            " Without sched:sched_switch only interrupts are shown: nobody knows who had the CPU "
            "in between."
        )
    elif victim and bins is not None:
        text += _spread(spread(bins))
    if len(gaps):
        why = gaps["why"].astype(object).value_counts()
        reasons = ", ".join(f"{reason} ({number:,})" for reason, number in why[:3].items())
        text += filled(
            " Gaps in the record of these CPUs: {number}, {whole} in all; {reasons}.",
            number=count(len(gaps), "stretch", "stretches"),
            whole=duration(lost_in(timeline, cpus, gaps)),
            reasons=reasons,
        )
    return text + "</p>"


def _spread(found: Spread | None) -> str:
    if found is None:
        return ""
    return (
        f" In the middle four fifths of the bins, interrupts took {share(found.low_share) or '0 %'}"
        f" to {share(found.high_share) or '0 %'} of its time; at worst {share(found.most_share)}."
    )


def busiest_devices(polls: pd.DataFrame, most: int = _DEVICES) -> list[str]:
    """The devices with most polls, busiest first."""
    return [str(name) for name in polls["device"].astype(object).value_counts().index[:most]]


def other_devices(polls: pd.DataFrame, shown: list[str]) -> str:
    """How much the devices without a picture polled; empty where there are none."""
    rest = polls[~polls["device"].isin(shown)]
    devices = rest["device"].astype(object).nunique()
    if not devices:
        return ""
    found = polls_of(rest)
    work = f" and {count(found.packets, 'packet')}" if found.known else ""
    return f"<p>{count(devices, 'more device')}, together {count(len(rest), 'poll')}{work}.</p>"


def batch_text(device: str, polls: pd.DataFrame) -> str:
    """What the polls of one device say."""
    found = polls_of(polls)
    if not found.known:
        return filled(
            "<p>{polls} of {device}, but this kernel's napi_poll has no work field (it came in "
            "4.8): batches are unknown.</p>",
            polls=count(len(polls), "poll"),
            device=device,
        )
    text = (
        f"{count(found.known, 'poll')} handled {count(found.packets, 'packet')}: "
        f"{found.batch_mean or 0:.1f} in the mean of those that received any, "
        f"{found.median:.0f} in the median of all."
    )
    traps = found.traps
    if traps.of("empty"):
        text += (
            f" {count(traps.of('empty'), 'poll')} ({share(traps.traps['empty'].share)}) "
            "received nothing: work does not count the transmissions that a poll completes."
        )
    if found.budget:
        text += (
            f" {traps.of('full'):,} used the whole budget of {found.budget} and were polled again"
            if traps.of("full")
            else f" None used the whole budget of {found.budget}"
        )
        text += (
            f"; {traps.of('almost full'):,} stopped at {found.almost}, which is also what a "
            "driver must report when it used its whole budget and is done."
            if traps.of("almost full")
            else "."
        )
    return filled("<p><b>{device}</b>: {text}</p>", device=device, text=text)


def softirq_text(net_rx: pd.DataFrame) -> str:
    """What the NET_RX softirqs say of batches."""
    if not len(net_rx):
        return ""
    found = net_rx_of(net_rx)
    text = f"{count(found.softirqs, 'NET_RX softirq')}, {found.busy:,} of them with packets"
    if found.busy:
        text += (
            f": {found.packets_mean:.1f} each in the mean, {found.packets_most:,} at most, in "
            f"{found.polls_mean:.1f} polls"
        )
    text += "."
    if found.dispatches:
        text += (
            f" {found.dispatches:,} polled nothing: they only told other CPUs that packets wait "
            "for them (receive packet steering), or found their work done."
        )
    elif found.empty:
        text += f" {found.empty:,} polled and received nothing."
    if found.in_kthread:
        text += (
            f" {found.in_kthread:,} ran in kernel threads, {share(found.in_kthread_share)} of all."
        )
    return f"<p>{text}</p>"


def busy_polls(timeline: "Timeline") -> str:
    """How many polls have no known begin; empty if none."""
    number = int(timeline.summary.get("polls_without_begin", 0))
    if not number:
        return ""
    return (
        f"<p>{count(number, 'poll')} had no known begin: busy polling or netpoll, in whose caller "
        "they ran. Their packets are counted above, their time is the caller's.</p>"
    )
