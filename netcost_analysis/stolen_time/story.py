"""What the report says of stolen time beyond its sums, every figure computed; HTML as in story."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..story import count, filled
from ..tables import share_between
from ..units import absent, duration, share
from .rolling import largest_change

if TYPE_CHECKING:
    from .ksoftirqd import Handovers
    from .stretches import Episodes

_QUEUES = 4
# Of a window, so that it can be compared with others.
_COVERED = 0.9
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


def queues_text(victim: str, rows: pd.DataFrame) -> str:
    """Which queues took the victim's time; empty where none can be named.

    rows: as thieves returns it by comm.
    """
    network = rows[(rows["comm"] == victim) & (rows["is_network"] != "no")]
    own = network[network["queue"].notna()]
    by_queue = own.groupby("queue")["stolen_max_ns"].sum().sort_values(ascending=False)
    if not len(by_queue):
        return ""
    listed = [f"{queue} {duration(ns)}" for queue, ns in by_queue[:_QUEUES].items()]
    if len(by_queue) > _QUEUES:
        listed.append(f"{len(by_queue) - _QUEUES} more")
    polls = network[network["context"] == "poll"]
    what = "interrupts and polls together" if polls["queue"].notna().any() else "interrupts alone"
    text = filled("<p>By queue, {what}: {all}.", what=what, all=", ".join(listed))
    nobodys = polls[polls["queue"].isna()].groupby("device", dropna=False)["stolen_max_ns"].sum()
    if len(nobodys):
        text += filled(
            " Polls that no line can be named for: {all}. A line is named where its handler raises "
            "the softirqs that poll one instance, and no other line does.",
            all=", ".join(f"{device} {duration(ns)}" for device, ns in nobodys.items()),
        )
    return text + "</p>"


def windows_text(victim: str | None, frame: pd.DataFrame, origin_ns: int) -> str:
    """Where in the capture most was taken, and where it changed; empty where nothing did.

    frame: as rolling_stolen returns it, of the victim.
    """
    rows = _usual(frame[frame["stolen_cpu_share"].notna()])
    if len(rows) < 2 or not rows["stolen_cpu_share"].max():
        return ""
    width = int((rows["end_ns"] - rows["start_ns"]).median())
    most = rows.iloc[int(rows["stolen_cpu_share"].argmax())]
    least = rows.iloc[int(rows["stolen_cpu_share"].argmin())]
    text = filled(
        "<p>In windows of {width} that roll over the time in which {who} ran, between {low} and "
        "{high} of a CPU was stolen from it: most {most}, least {least}.",
        width=duration(width),
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


def _usual(frame: pd.DataFrame) -> pd.DataFrame:
    # The windows between its first and its last in which it had at least half of its usual time,
    # and of which most is known: not before it began, nor in a gap.
    if not len(frame) or frame["on_cpu_ns"].isna().any():
        return frame
    ran = frame["on_cpu_ns"].astype("int64")
    known = frame["covered_share"] > _COVERED
    kept = frame[known & (ran >= ran[ran > 0].median() / 2)]
    some = frame[ran > 0]
    inside = pd.Series(True, index=kept.index)
    if len(some) and not ran.iloc[0]:
        inside &= kept["start_ns"] >= some["end_ns"].iloc[0]
    if len(some) and not ran.iloc[-1]:
        inside &= kept["end_ns"] <= some["start_ns"].iloc[-1]
    return kept[inside] if inside.sum() > 1 else kept


def _at(time_ns: Any, origin_ns: int) -> str:
    return f"{(int(time_ns) - origin_ns) / 1e9:.3f} s"


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
        at=f"{(int(first['start_ns']) - origin_ns) / 1e9:.6f} s",
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
    frame = found.handovers
    own = found.displaced[found.displaced["comm"] == victim]
    others = _behind_others(victim, (displaced_ns or 0) - int(own["ns"].sum()), bool(len(own)))
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
        network=duration(frame["network_ns"].sum()),
        packets=_packets(frame["packets"]),
        polls="polls that were not recorded"
        if frame["polls"].isna().any()
        else count(int(frame["polls"].sum()), "poll"),
        reasons=reasons,
        name=longest["comm"],
        start=f"{(int(longest['start_ns']) - origin_ns) / 1e9:.6f}",
        end=f"{(int(longest['end_ns']) - origin_ns) / 1e9:.6f}",
        wall=duration(longest["wall_ns"]),
        stays=count(int(longest["stays"]), "stay"),
        on_cpu=duration(longest["on_cpu_ns"]),
    )
    if frame["displaced_ns"].isna().any():
        return text + " Who waited is unknown: the CPUs' clocks disagree.</p>"
    if len(own):
        text += filled(
            " {victim} waited, runnable, in {number} of them, {all} in all and {most} in one.",
            victim=victim,
            number=f"{own['handover'].nunique():,}",
            all=duration(own["ns"].sum()),
            most=duration(own.groupby("handover")["ns"].sum().max()),
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


def _packets(packets: "pd.Series[int]") -> str:
    if packets.isna().any():
        return "an unknown number of packets"
    return count(int(packets.sum()), "packet")


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
        "<p>Over the window <code>top</code> shows {victim} at {shown} of a CPU; effectively it "
        "had {had}.",
        victim=victim,
        shown=share(row["monitor_share"]) or "0 %",
        had=share_between(row["effective_share"], row["effective_max_share"]) or "0 %",
    )
    if not absent(row["ticks"]) and row["ticks"]:
        text += (
            f" Of {count(int(row['ticks']), 'timer interrupt')} that found it current, "
            f"{int(row['softirq_ticks']):,} interrupted a softirq: a kernel that samples by ticks "
            f"would book {share(row['softirq_ticks'] / row['ticks']) or '0 %'} of that time as "
            "softirq."
        )
    return text + "</p>"
