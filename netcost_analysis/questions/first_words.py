# The first sentences about a victim: what networking took from it, what it got, and how sure that
# is. Without pandas and templates, which the command line does not wait for.

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..capture.requires import few
from ..coverage import coverage_words
from ..display.tables import between, share_between
from ..timeline.owners import Owned, by_total, summed, victim_of
from ..timeline.task import Task, by_of, called, comm_of, is_of, label_of
from ..timeline.timeline import Timeline
from ..units import absent, duration, share, were
from .completeness.unrecorded import unrecorded_ns
from .network_cost import INTERRUPTS, SOFTIRQS, NetworkCost, missing_words, opening, unknown_words
from .stolen import stolen_from
from .stolen_sums import share_of

if TYPE_CHECKING:
    from .beyond_trace import BeyondTrace

_THIEVES = 3
# Its polls count as their devices.
_OUTSIDE = {"NET_RX": "NET_RX outside polls"}
# A shorter wait, as a share of the time on CPU, is left to the tables.
_WORTH_SAYING = 0.005
# Of a victim's run without a CPU, so that what networking took is not what it lacked.
_WORTH_ASKING = 0.25


def first_words(
    timeline: Timeline, victim: Task | None, cost: NetworkCost, beyond: "BeyondTrace | None"
) -> list[str]:
    """Sentences about what a victim lost to networking in a timeline.

    None where nobody ran, or neither interrupts nor softirqs were recorded.
    """
    unseen = tuple(event for event in INTERRUPTS if event in cost.not_recorded)
    if victim is None or len(unseen) == len(INTERRUPTS):
        return []
    taken = _taken(timeline, victim)
    if unseen:
        kinds = ("softirqs" if event in SOFTIRQS else "interrupt handlers" for event in unseen)
        kind = " and ".join(dict.fromkeys(kinds))
        why = f"{few(unseen)} {were(len(unseen))} not recorded"
        taken += f" What it took in {kind} is unknown: {why}."
    lines = [*unknown_words(cost), taken]
    if beyond:
        from .beyond_trace import beyond_words

        lines += beyond_words(beyond)
    sure = f"CPU time is {coverage_words(cost.recorded_share, cost.owned_share)}."
    if missing := missing_words(cost):
        sure += f" The recording misses {missing}."
    return [*lines, sure]


def _taken(timeline: Timeline, victim: Task) -> str:
    row, name = stolen_from(timeline, victim).row, called(timeline, victim)
    during, window_ns = timeline.window.during, timeline.duration_ns
    begin = opening(during, window_ns)
    are_several = name != label_of(timeline, victim)
    if absent(row["on_cpu_ns"]):
        took = _at_most(between(row["stolen_network_ns"], row["stolen_network_max_ns"]))
        was = "were" if are_several else "was"
        unknown = f"Without sched_switch it is unknown how long {name} {was} on a CPU."
        return f"{begin} took {took or 'nothing'} from {name}. {unknown}"
    ran = duration(row["on_cpu_ns"])
    if are_several:
        of = f" of the {ran} that {name} had on CPU"
    else:
        # The window may have named it already.
        its = "its" if comm_of(timeline, victim) in during else f"{name}'s"
        of = f" of {its} {ran} on CPU"
    if not during:
        of += f" in {duration(window_ns)}"
    took = _range(timeline, victim, row)
    text = f"{begin} took {took or 'none'}{of}{_thieves(timeline, victim) if took else ''}."
    own = sum(row.ns for row in _of_network(timeline, victim, "synchronous"))
    if own >= _WORTH_SAYING * row["on_cpu_ns"] and own:
        whose = "Their" if are_several else "Its"
        text += f" {whose} own traffic took another {duration(own)} in softirqs."
    waited = 0 if absent(row["displaced_ns"]) else row["displaced_ns"]
    is_long = waited >= max(_WORTH_SAYING * row["on_cpu_ns"], 1)
    off_ns = window_ns - row["on_cpu_ns"]
    if timeline.window.of == "victim" and not are_several and off_ns >= _WORTH_ASKING * window_ns:
        off = f"For {duration(off_ns)} ({share(share_of(off_ns, window_ns))}) it had no CPU"
        of_that = f", {duration(waited)} of that while kernel threads did network work"
        text += f" {off}{of_that if is_long else ': it waited or slept'}."
    elif is_long:
        text += f" {name} waited another {duration(waited)} while kernel threads did network work."
    return text


def _at_most(text: str) -> str:
    return text.replace("≤", "at most")


def _range(timeline: Timeline, victim: Task, row: dict[str, Any]) -> str:
    low, high = row["stolen_network_ns"], row["stolen_network_max_ns"]
    shares = row["stolen_network_share"], row["stolen_network_max_share"]
    missing = unrecorded_ns(timeline, by_of(victim))
    ran = (name for on_cpu in missing.own.values() for name in on_cpu)
    victims = list(dict.fromkeys(name for name in ran if is_of(name, victim)))
    if victims:
        expected, most = low + missing.expected(*victims)[1], missing.total(*victims)[1]
        # The range comes only from what was counted and not recorded.
        if low and duration(high - most) == duration(low) != duration(high):
            of_whole = share(share_of(expected, row["on_cpu_ns"]))
            at_most = f"at most {duration(high)} ({share(shares[1])}),"
            return f"about {duration(expected)} ({of_whole}), {at_most}"
    taken = between(low, high)
    return f"{_at_most(taken)} ({share_between(*shares)})" if taken else ""


def _of_network(timeline: Timeline, victim: Task, cost_class: str) -> Iterator[Owned]:
    # What may be network work on top of a victim, of these classes.
    by = by_of(victim)
    for row in timeline.owned_by("device"):
        is_its = row.of_task and is_of(victim_of(row, by), victim) and row.is_network != "no"
        if is_its and (row.cost_class or "").startswith(cost_class):
            yield row


def _thieves(timeline: Timeline, victim: Task) -> str:
    taken = summed((row.thief, row.ns) for row in _of_network(timeline, victim, "stolen"))
    order = by_total(taken)
    named = [f"{_OUTSIDE.get(who, who)} {duration(taken[who])}" for who in order[:_THIEVES]]
    more = len(order) - len(named)
    return f": {', '.join(named)}{f' and {more} more' if more else ''}" if named else ""
