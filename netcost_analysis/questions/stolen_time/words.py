"""What the report says of stolen time beyond its sums, every figure computed; HTML as in story."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...display.tables import between, share_between
from ...units import absent, duration, share, since
from ..network import NetworkCost, network_words
from ..words import count, filled
from .by_queue import by_queue
from .lifetimes import parts_of_life
from .rolling import largest_change, usual, width_of

if TYPE_CHECKING:
    from .episodes import Episodes
    from .ksoftirqd import Handovers

_QUEUES = 4
_HOLDERS, _WORTH_NAMING = 3, 0.001
# Less, and it is told in the tables only.
_LEAST_WAIT_NS = 100_000
_WHY = {
    "rounds": "softirqs had had their ten rounds",
    "time": "softirqs' time was up",
    "need_resched": "a task was due",
    "time or need_resched": "softirqs' time was up or a task was due",
    "raise": "a softirq was raised outside of interrupts",
    "napi_schedule": "a poll was scheduled, which is what the thread is for",
    "unknown": "nobody saw why",
}


def network_text(cost: NetworkCost) -> str:
    """What networking cost in all, before what anybody lost. cost: as network_cost returns it."""
    return "".join(
        filled("<p class='answer'>{line}</p>", line=line) for line in network_words(cost)
    )


def queues_text(victim: str, rows: pd.DataFrame) -> str:
    """Which queues took the victim's time; empty where none can be named.

    rows: as thieves returns it by comm.
    """
    found = by_queue(rows, victim)
    if not len(found.queues):
        return ""
    listed = [f"{queue} {duration(ns)}" for queue, ns in found.queues[:_QUEUES].items()]
    if len(found.queues[_QUEUES:]):
        listed.append(f"{len(found.queues[_QUEUES:])} more")
    what = "interrupts and polls together" if found.with_polls else "interrupts alone"
    text = filled("<p>By queue, {what}: {all}.", what=what, all=", ".join(listed))
    if len(found.nobodys):
        text += filled(
            " Polls that no line can be named for: {all}. A line is named where its handler raises "
            "the softirqs that poll one instance, and no other line does.",
            all=", ".join(f"{device} {duration(ns)}" for device, ns in found.nobodys.items()),
        )
    return f"{text}</p>"


def windows_text(victim: str | None, frame: pd.DataFrame, origin_ns: int) -> str:
    """Where in the capture most was taken, and where it changed; empty where nothing did.

    frame: as rolling_stolen returns it, of the victim.
    """
    rows = usual(frame[frame["stolen_cpu_share"].notna()])
    if len(rows) < 2 or not rows["stolen_cpu_share"].max():
        return ""
    most = rows.iloc[int(rows["stolen_cpu_share"].argmax())]
    least = rows.iloc[int(rows["stolen_cpu_share"].argmin())]
    text = filled(
        "<p>In windows of {width} that roll over the time in which {who} was there, between {low} "
        "and {high} of a CPU was stolen from it: most {most}, least {least}.",
        width=duration(width_of(rows)),
        low=share(least["stolen_cpu_share"]) or "0 %",
        high=share(most["stolen_cpu_share"]),
        who=victim or "any task",
        most=_between(most, origin_ns),
        least=_between(least, origin_ns),
    )
    change = largest_change(rows)
    if change is not None:
        before, after = change
        text += (
            f" It changed most at {_at(after['start_ns'], origin_ns)}: from "
            f"{share(before['stolen_cpu_share']) or '0 %'} to "
            f"{share(after['stolen_cpu_share']) or '0 %'}."
        )
    return text + "</p>"


def _at(time_ns: Any, origin_ns: int) -> str:
    return f"{since(time_ns, origin_ns, 3)} s"


def _between(row: "pd.Series[Any]", origin_ns: int) -> str:
    return f"from {_at(row['start_ns'], origin_ns)} on"


def episodes_text(victim: str | None, found: "Episodes", origin_ns: int) -> str:
    """What the longest episode was made of, or that there was none."""
    who = victim or "any task"
    if not found.total:
        return filled(
            "<p class='missing'>No interrupt ran on top of {who}: there are no stretches to "
            "show.</p>",
            who=who,
        )
    first = found.episodes.iloc[0]
    parts = found.parts[found.parts["episode"] == 0].head(3)
    listed = ", ".join(f"{one.thief} {duration(one.ns)}" for one in parts.itertuples())
    text = filled(
        "<p>{many} on top of {who}, in each of which it did not get to run. The longest began "
        "{at} into the capture on CPU {cpu} with {began}, after {victim} had run {ran}, and held "
        "it up for {wall}: {parts}.",
        many=count(found.total, "stretch", "stretches"),
        who=who,
        at=f"{since(first['start_ns'], origin_ns)} s",
        cpu=first["cpu"],
        began=first["began_with"],
        victim=first["comm"],
        ran=duration(first["ran_before_ns"]),
        wall=duration(first["wall_ns"]),
        parts=listed,
    )
    if found.episodes["cut"].any():
        text += " Some may have been longer: they reach into unknown time or the capture's edge."
    return text + "</p>"


def handovers_text(
    victim: str | None, found: "Handovers", origin_ns: int, displaced_ns: int | None = None
) -> str:
    """When and why work was handed over, and what that did to the victim.

    displaced_ns: how long the victim waited for network work of any kernel thread.
    """
    frame, total = found.handovers, found.totals(victim, displaced_ns)
    others = _behind_others(victim, total.behind_others_ns, bool(total.waits))
    if not len(frame):
        return (
            "<p class='missing'>Nothing was handed over: no network work was seen in ksoftirqd or "
            f"a thread of NAPI's.</p>{others}"
        )
    longest = frame.iloc[int(frame["wall_ns"].argmax())]
    why = frame["why"].value_counts()
    reasons = ", ".join(
        f"{_WHY[str(name)]} ({count(int(number), 'time')})" for name, number in why.items()
    )
    text = filled(
        "<p>{threads} had network work {times}, {network} of it in all, with {packets} in {polls}. "
        "Why it began: {reasons}. The longest stretch was {name}'s, from {start} s to {end} s: "
        "{wall} in {stays}, {on_cpu} of it on the CPU.",
        threads=" and ".join(map(str, frame["comm"].value_counts().index[:3])),
        times=count(len(frame), "time"),
        network=duration(total.network_ns),
        packets="an unknown number of packets"
        if total.packets is None
        else count(total.packets, "packet"),
        polls="polls that were not recorded" if total.polls is None else count(total.polls, "poll"),
        reasons=reasons,
        name=longest["comm"],
        start=since(longest["start_ns"], origin_ns),
        end=since(longest["end_ns"], origin_ns),
        wall=duration(longest["wall_ns"]),
        stays=count(int(longest["stays"]), "stay"),
        on_cpu=duration(longest["on_cpu_ns"]),
    )
    if frame["displaced_ns"].isna().any():
        return text + " Who waited is unknown: the CPUs' clocks disagree.</p>"
    if total.waits:
        text += filled(
            " {victim} waited, runnable, in {number} of them, {all} in all and {most} in one.",
            victim=victim,
            number=f"{total.waits:,}",
            all=duration(total.waited_ns),
            most=duration(total.waited_most_ns),
        )
    return f"{text}</p>{others}"


def _behind_others(victim: str | None, ns: int, more: bool) -> str:
    # What was waited behind threads to which nothing is handed over, where that is worth a line.
    if ns < _LEAST_WAIT_NS:
        return ""
    return filled(
        "<p>{more} {time} {victim} waited behind threads that have network work from the start: "
        "interrupt threads, ktimers, vhost.</p>",
        more="Another" if more else "For",
        time=duration(ns),
        victim=victim,
    )


def life_text(victim: str | None, lived: pd.DataFrame, window_ns: int) -> str:
    """How long the victim was there, and where all of that time went; empty for nobody.

    lived: as lifetimes returns it by comm.
    """
    if victim is None or victim not in lived.index:
        return ""
    row = lived.loc[[victim]].iloc[0]
    parts = ", ".join(
        f"{one.part} {share(one.share) or '0 %'}" for one in parts_of_life(row).itertuples()
    )
    many = int(row["tasks"]) > 1
    known = row["lifetime_ns"] == row["lifetime_max_ns"]
    return filled(
        "<p>{who} there for {lifetime} of {window}{absent}. Of that: {parts}.{range}</p>",
        who=f"The {row['tasks']:,} tasks named {victim} were together" if many else f"{victim} was",
        lifetime=between(row["lifetime_ns"], row["lifetime_max_ns"]),
        window=f"{row['tasks']:,} x {duration(window_ns)}" if many else duration(window_ns),
        absent=f", and absent for {duration(row['absent_ns'])}" if row["absent_ns"] else "",
        parts=parts,
        range=""
        if known
        else " When it began, or whether it ended, is not known: shares of wall "
        "time are ranges, and what it may have been away is unknown here.",
    )


def waited_text(victim: str | None, rows: pd.DataFrame) -> str:
    """For whom the victim waited most; empty where for nobody. rows: as waited_for returns them."""
    own = rows[(rows["comm"] == victim) & (rows["lifetime_share"] >= _WORTH_NAMING)]
    if not len(own):
        return ""
    listed = [
        f"{one.holder_comm} {share(one.lifetime_share)}" for one in own.head(_HOLDERS).itertuples()
    ]
    return filled(
        "<p>While {victim} was runnable without a CPU, that CPU was most with: {all} of its "
        "lifetime.</p>",
        victim=victim,
        all=", ".join(listed),
    )


def monitor_text(victim: str | None, frame: pd.DataFrame) -> str:
    """What the victim had beside what is shown, and what the kernel's ticks saw; may be empty."""
    if victim is None or victim not in frame.index:
        return ""
    row: dict[Any, Any] = frame.loc[[victim]].iloc[0].to_dict()
    if absent(row["monitor_share"]):
        return (
            "<p class='missing'>What a monitor would show is unknown: record with netcost-record, "
            "which keeps the kernel's configuration.</p>"
        )
    text = filled(
        "<p>{when} <code>top</code> shows {victim} at {shown} of a CPU{counted}; effectively it "
        "had {had}{of}.",
        when=f"Over its whole run of {duration(row['monitor_of_ns'])}"
        if row["monitor_from"] == "counted"
        else "While it was there",
        counted=" (the kernel's own count)" if row["monitor_from"] == "counted" else "",
        of=f" of the {between(row['lifetime_ns'], row['lifetime_max_ns'])} that it was there in "
        "the recording"
        if row["monitor_from"] == "counted"
        else "",
        victim=victim,
        shown=share_between(row["monitor_share"], row["monitor_max_share"]) or "0 %",
        had=share_between(row["effective_share"], row["effective_max_share"]) or "0 %",
    )
    if not absent(row["ticks"]) and row["ticks"]:
        text += (
            f" Of {count(int(row['ticks']), 'timer interrupt')} that found it current, "
            f"{int(row['softirq_ticks']):,} interrupted a softirq: a kernel that samples by ticks "
            f"would book {share(row['softirq_ticks_share']) or '0 %'} of that time as "
            "softirq."
        )
    return text + "</p>"
