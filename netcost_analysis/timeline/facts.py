"""The facts that a timeline may know, and why it does not know one.

FACTS lists what each fact needs: tracepoints, other facts, and a check of what only the events
show, like whether clocks agree. Questions declare facts and tracepoints as their needs.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..capture.requires import Group, Need, in_words, unmet

if TYPE_CHECKING:
    from .tables import Tables


class Fact(NamedTuple):
    # needs: tracepoints and facts, all of them; a tuple means any one of its members. is_checked:
    # native checks the events too, and its summary says why it does not know the fact.
    needs: tuple[Need, ...] = ()
    is_checked: bool = False


FACTS = {
    # The time of softirqs, device interrupts and NAPI polls.
    "softirqs": Fact(("irq:softirq_entry", "irq:softirq_exit")),
    "interrupts": Fact(("irq:irq_handler_entry", "irq:irq_handler_exit")),
    "polls": Fact(("napi:napi_poll",)),
    # Whether anything ran on top of a task.
    "interrupted": Fact(
        (
            (
                *("irq:irq_handler_entry", "irq:irq_handler_exit"),
                *("irq:softirq_entry", "irq:softirq_exit", "irq_vectors:*"),
            ),
        )
    ),
    # How long a task was on a CPU, and shares of that time.
    "on_cpu": Fact(("sched:sched_switch",), is_checked=True),
    # Whether times of two CPUs can be compared. They cannot if each CPU has its own clock (ftrace's
    # local, perf's) and either the host's clocksource or wake-ups before their cause show that
    # these clocks disagree.
    "clocks": Fact((), is_checked=True),
    # How long a task was runnable without a CPU, and the part of it while network work in a kernel
    # thread held the CPU. Without softirq events it is not known what ksoftirqd did.
    "waits": Fact(("on_cpu", "clocks")),
    "displaced": Fact(("on_cpu", "softirqs", "clocks")),
}


def tracepoint_groups(needs: tuple[Need, ...]) -> tuple[Group, ...]:
    """Expand needs to tracepoints: one alternative of each group has to be recorded."""
    groups: list[Group] = []
    for need in needs:
        if isinstance(need, tuple):
            groups.append(tuple(tuple(_events(alternative)) for alternative in need))
        elif need in FACTS:
            groups.extend(tracepoint_groups(FACTS[need].needs))
        else:
            groups.append(((need,),))
    return tuple(dict.fromkeys(groups))


def _events(need: str) -> Iterator[str]:
    # All tracepoints that an alternative needs.
    if need not in FACTS:
        yield need
        return
    for (events,) in tracepoint_groups(FACTS[need].needs):
        yield from events


class Missing(Mapping[str, str]):
    """Why a timeline does not know a fact, by fact; "" if it does.

    Facts: softirqs, interrupts, polls (were recorded), interrupted (anything that interrupts a task
    was recorded), on_cpu (how long a task was on a CPU), clocks (times of two CPUs compare), waits,
    displaced. Computed on access; clocks, waits and displaced may take a pass.
    """

    def __init__(self, timeline: "Tables") -> None:
        self._timeline = timeline
        self._reasons: dict[str, str] = {}

    def __getitem__(self, fact: str) -> str:
        if fact not in self._reasons:
            self._reasons[fact] = self._why(fact)
        return self._reasons[fact]

    def __iter__(self) -> Iterator[str]:
        return iter(FACTS)

    def __len__(self) -> int:
        return len(FACTS)

    def __repr__(self) -> str:
        return repr(dict(self))

    def _why(self, fact: str) -> str:
        needs, is_checked = FACTS[fact]
        lacking = unmet(self._timeline.capture, tracepoint_groups(needs))
        if lacking:
            return f"{in_words(lacking)}: not recorded in this capture"
        reasons = (self[need] for need in needs if need in FACTS)
        why = next((why for why in reasons if why), "")
        if why or not is_checked:
            return why
        if fact not in self._timeline.summary["missing"]:
            # Clocks are compared only in a pass that follows waits.
            self._timeline.load("displaced")
        return str(self._timeline.summary["missing"][fact])
