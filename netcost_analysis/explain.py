"""What the report says of one interrupt, of time and of batches, computed; HTML as in story."""

from typing import TYPE_CHECKING

import pandas as pd

from .answer import over_time
from .batches.poll_sizes import mean_batch
from .covering import lost_of_cpus
from .story import count, filled, missing
from .tables import NO_TASK
from .units import duration, ranges, share

if TYPE_CHECKING:
    from .capture import Capture
    from .moment import Moment
    from .timeline import Timeline

_DEVICES = 3


def detail_text(timeline: "Timeline", detail: "Timeline") -> str:
    """Which stretch single interrupts and batches are of, where it is not all; else empty."""
    if detail is timeline:
        return ""
    origin = timeline.capture.start_ns
    return filled(
        "<p class='missing'>This is a large capture. Single interrupts and batches, below, are of "
        "{width} from its middle, {start} after its start; every sum is of all of it.</p>",
        width=duration(detail.duration_ns),
        start=duration(int(detail.summary["start_ns"]) - origin),
    )


def moment_text(capture: "Capture", example: "Moment | None") -> str:
    """What the picture of one interrupt shows, or why there is none."""
    if example is None:
        return (
            missing(capture, "irq:softirq_entry", "irq:softirq_exit")
            or "<p class='missing'>No interrupt was seen from its entry to its exit.</p>"
        )
    inside = example.segments[
        (example.segments["cpu"] == example.cpu)
        & (example.segments["start_ns"] >= example.first_ns)
        & (example.segments["end_ns"] <= example.last_ns)
    ]
    names = {
        "hardirq": "hardirqs",
        "vector": "vectors",
        "poll": "polls",
        "softirq": "the rest of the softirq",
        "softirq_other": "other softirqs",
        "nmi": "NMIs",
    }
    ns = (inside["end_ns"] - inside["start_ns"]).groupby(inside["kind"]).sum()
    parts = ", ".join(f"{name} {duration(ns[kind])}" for kind, name in names.items() if kind in ns)
    text = filled(
        "<p>Full colour is who has the CPU. The pale spans are a softirq that is open and a task "
        "that is current, while something above them runs; a monitor sees the bottom lane only."
        "</p><p>Of median length among its kind: {what} on CPU {cpu}, {at} into the capture. Of "
        "the {span} from the first interrupt to the end of the last, interrupts and softirqs had "
        "{taken}: {parts}.",
        what=example.what,
        cpu=example.cpu,
        at=duration(example.first_ns - capture.start_ns),
        span=duration(example.last_ns - example.first_ns),
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
    timeline: "Timeline", victim: str | None, cpus: list[int], gaps: pd.DataFrame, bin_ns: int
) -> str:
    """What the picture over time shows, and the gaps in it."""
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
    elif victim:
        text += _spread(over_time(timeline.sums(bin_ns), victim))
    if len(gaps):
        window = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
        whole = sum(lost_of_cpus(cpus, gaps.to_dict("records"), window).values())
        why = gaps["why"].astype(object).value_counts()
        reasons = ", ".join(f"{reason} ({number:,})" for reason, number in why[:3].items())
        text += filled(
            " Gaps in the record of these CPUs: {number}, {whole} in all; {reasons}.",
            number=count(len(gaps), "stretch", "stretches"),
            whole=duration(whole),
            reasons=reasons,
        )
    return text + "</p>"


def _spread(bins: pd.DataFrame) -> str:
    # Of the bins in which the victim had at least half of its usual time.
    taken = ["poll", "softirq", "hardirq", "vector", "softirq_other", "nmi"]
    whole = bins.groupby("bin_ns")["ns"].sum()
    lost = bins[bins["kind"].isin(taken)].groupby("bin_ns")["ns"].sum()
    usual = whole[whole >= whole.median() / 2]
    shares = (lost.reindex(usual.index, fill_value=0) / usual).sort_values()
    if len(shares) < 5 or not shares.max():
        return ""
    low, high = shares.quantile(0.1), shares.quantile(0.9)
    return (
        f" In the middle four fifths of the bins, interrupts took {share(low) or '0 %'} to "
        f"{share(high) or '0 %'} of its time; at worst {share(shares.iloc[-1])}."
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
    work = f" and {count(int(rest['work'].sum()), 'packet')}" if rest["work"].notna().any() else ""
    return f"<p>{count(devices, 'more device')}, together {count(len(rest), 'poll')}{work}.</p>"


def budget_of(polls: pd.DataFrame) -> int | None:
    """The budget most polls had; None where it was not recorded."""
    budgets = polls["budget"].dropna()
    return int(budgets.mode().iloc[0]) if len(budgets) else None


def batch_text(device: str, polls: pd.DataFrame) -> str:
    """What the polls of one device say."""
    work = polls["work"].dropna().astype("int64")
    if not len(work):
        return filled(
            "<p>{polls} of {device}, but this kernel's napi_poll has no work field (it came in "
            "4.8): batches are unknown.</p>",
            polls=count(len(polls), "poll"),
            device=device,
        )
    budget = budget_of(polls)
    text = (
        f"{count(len(work), 'poll')} handled {count(int(work.sum()), 'packet')}: "
        f"{mean_batch(work) or 0:.1f} in the mean of those that received any, "
        f"{work.median():.0f} in the median of all."
    )
    empty = int((work == 0).sum())
    if empty:
        text += (
            f" {count(empty, 'poll')} ({share(empty / len(work))}) received nothing: work does not"
            " count the transmissions that a poll completes."
        )
    if budget:
        full, almost = int((work == budget).sum()), int((work == budget - 1).sum())
        text += (
            f" {full:,} used the whole budget of {budget} and were polled again"
            if full
            else f" None used the whole budget of {budget}"
        )
        text += (
            f"; {almost:,} stopped at {budget - 1}, which is also what a driver must report when "
            "it used its whole budget and is done."
            if almost
            else "."
        )
    return filled("<p><b>{device}</b>: {text}</p>", device=device, text=text)


def softirq_text(net_rx: pd.DataFrame) -> str:
    """What the NET_RX softirqs say of batches."""
    if not len(net_rx):
        return ""
    empty = int((net_rx["packets"] == 0).sum())
    busy = net_rx[net_rx["packets"] > 0]
    text = f"{count(len(net_rx), 'NET_RX softirq')}, {len(busy):,} of them with packets"
    if len(busy):
        text += (
            f": {busy['packets'].mean():.1f} each in the mean, {int(busy['packets'].max()):,} at "
            f"most, in {busy['polls'].mean():.1f} polls"
        )
    text += "."
    dispatch = int((net_rx["polls"] == 0).sum())
    if dispatch:
        text += (
            f" {dispatch:,} polled nothing: they only told other CPUs that packets wait for them "
            "(receive packet steering), or found their work done."
        )
    elif empty:
        text += f" {empty:,} polled and received nothing."
    kthread = int(net_rx["in_kthread"].sum())
    if kthread:
        text += f" {kthread:,} ran in kernel threads, {share(kthread / len(net_rx))} of all."
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
