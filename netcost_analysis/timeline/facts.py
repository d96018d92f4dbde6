"""What a timeline can tell, fact by fact, and otherwise why not.

One table says what each fact needs: tracepoints, other facts, and what only the events themselves
show, such as clocks that agree. Questions need facts and tracepoints.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..capture.requires import Group, Need, in_words, unmet

if TYPE_CHECKING:
    from .tables import Tables


class Fact(NamedTuple):
    # needs: all of these tracepoints and facts; any one of a tuple. check: why a timeline that has
    # them still does not know the fact, "" where it does.
    needs: tuple[Need, ...] = ()
    check: "Callable[[Tables], str]" = lambda _: ""


def _switches(timeline: "Tables") -> str:
    return str(timeline.summary["missing"]["on_cpu"])


def _clocks(timeline: "Tables") -> str:
    # Only a pass that follows waits compares clocks.
    if "clocks" not in timeline.summary["missing"]:
        timeline.load("displaced")
    return str(timeline.summary["missing"]["clocks"])


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
    # How long a task had a CPU, and shares of that.
    "on_cpu": Fact(("sched:sched_switch",), _switches),
    # Whether times of two CPUs can be compared: not where each CPU has its own clock (ftrace's
    # local, perf's) and the host's clocksource, or wake-ups before their cause, show that these
    # clocks disagree.
    "clocks": Fact((), _clocks),
    # How long a task was runnable without a CPU, and how long of that for network work in a
    # kernel thread. Without softirqs nobody knows what ksoftirqd did.
    "waits": Fact(("on_cpu", "clocks")),
    "displaced": Fact(("on_cpu", "softirqs", "clocks")),
}


def tracepoint_groups(needs: tuple[Need, ...]) -> tuple[Group, ...]:
    """The tracepoints that needs stand for: one alternative of each group has to be recorded."""
    found: list[Group] = []
    for need in needs:
        if isinstance(need, tuple):
            found.append(tuple(tuple(_events(one)) for one in need))
        elif need in FACTS:
            found.extend(tracepoint_groups(FACTS[need].needs))
        else:
            found.append(((need,),))
    return tuple(dict.fromkeys(found))


def _events(need: str) -> Iterator[str]:
    # Everything that an alternative needs.
    if need not in FACTS:
        yield need
        return
    for (one,) in tracepoint_groups(FACTS[need].needs):
        yield from one


class Missing(Mapping[str, str]):
    """Why a timeline does not know a fact, "" where it does.

    Facts: softirqs, interrupts, polls (recorded), interrupted (whether anything on top of a task
    was), on_cpu (how long a task had a CPU), clocks (whether times of two CPUs compare), waits,
    displaced. Each is computed when it is asked for; clocks, waits and displaced may take a pass.
    """

    def __init__(self, timeline: "Tables") -> None:
        self._timeline = timeline
        self._found: dict[str, str] = {}

    def __getitem__(self, fact: str) -> str:
        if fact not in self._found:
            self._found[fact] = self._why(FACTS[fact])
        return self._found[fact]

    def __iter__(self) -> Iterator[str]:
        return iter(FACTS)

    def __len__(self) -> int:
        return len(FACTS)

    def __repr__(self) -> str:
        return repr(dict(self))

    def _why(self, fact: Fact) -> str:
        lacking = unmet(self._timeline.capture, tracepoint_groups(fact.needs))
        if lacking:
            return f"{in_words(lacking)}: not recorded in this capture"
        rests = (self[need] for need in fact.needs if need in FACTS)
        return next((why for why in rests if why), "") or fact.check(self._timeline)
