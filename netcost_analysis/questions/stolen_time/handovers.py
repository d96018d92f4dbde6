"""What was handed over to kernel threads: when, why, for how long, and who waited meanwhile."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.question import question
from ...frames import to_frame
from ...spans import spans_of
from ...timeline.aggregates import Aggregate
from ...timeline.lives import LIVES, everywhere, lives_of
from ...timeline.reading import once
from ...timeline.task import Task, label_of, rows_of
from ...timeline.timeline import Timeline
from ..batches.kernel_limits import limits_of
from ..stolen import loss_of
from .episodes import counted_if
from .threads import STAYS, THREADS, WAKE_NS, handovers_of, stays_of
from .waiting import displaced_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..._native import ArrowTable
    from ...answers.answer import Answer

_THREADS, _LANES, _TASKS = 3, 8, 7
# Less, and it is told in the tables only.
_LEAST_WAIT_NS = 100_000


@dataclass(frozen=True, eq=False)
class HandedOver:
    """Native's aggregate: what stays of threads were for, and who waited meanwhile.

    stays: of all threads; renamed: lives' table, none where the CPUs' clocks disagree; threads: how
    their names begin; near_ns: how long before a wake-up what it was for may have ended; end_ns:
    until when those wait who had not come back, None for nobody knows.
    """

    stays: pd.DataFrame
    renamed: "ArrowTable | None"
    threads: tuple[str, ...]
    near_ns: int
    end_ns: int | None


@once
def _handed_over(timeline: Timeline) -> HandedOver:
    across, whole = not timeline.missing["clocks"], everywhere(timeline)
    summary = timeline.summary
    return HandedOver(
        stays=stays_of(timeline),
        renamed=lives_of(timeline)["renamed"] if across else None,
        threads=THREADS,
        near_ns=WAKE_NS,
        end_ns=None if whole.summary["lost_events"] else int(summary["end_ns"]),
    )


# Tables stays, a row for each of them: the polls that ended in it, their packets, and of how many
# these are unknown; call_ns, rounds and on_comm of the run of softirqs that ended near before its
# wake-up, null where none did or what the thread ran first was raised later; raised_ns, when that
# was. held: when scheduled network work had the CPU in stays. waits, cut where the task was moved,
# as far as they have time in common with a stay.
_HANDED_OVER = Aggregate(_handed_over, on=everywhere, is_later=True)


class Totals(NamedTuple):
    # Sums over hand-overs, and of one victim's waits in them.
    # polls, packets: None where of any they are unknown. waits: in how many it waited; waited_ns,
    # waited_most_ns: in all, and in one; behind_others_ns: behind threads that were handed nothing.
    network_ns: int
    polls: int | None
    packets: int | None
    waits: int
    waited_ns: int
    waited_most_ns: int
    behind_others_ns: int


@dataclass(frozen=True)
class Handovers:
    """When kernel threads had network work, and who waited meanwhile; columns: docs/columns.md.

    Attributes
    ----------
    handovers : DataFrame
        A row per hand-over, in order of time.
    displaced : DataFrame
        A row per hand-over and task that waited, runnable, on that CPU meanwhile, with the number
        of the hand-over in the index of handovers. Empty where nobody did, and where the CPUs'
        clocks disagree.
    """

    handovers: pd.DataFrame
    displaced: pd.DataFrame

    def totals(self, victim: Task | None, displaced_ns: int | None = None) -> Totals:
        """What all hand-overs come to, and the victim's part.

        Parameters
        ----------
        victim : int or str, optional
            By comm or tid.
        displaced_ns : int, optional
            Its waits for any kernel thread's network work.

        Returns
        -------
        Totals
            Sums.
        """
        frame = self.handovers
        known = frame[["polls", "packets"]].notna().all()
        polls, packets = (
            int(frame[name].sum()) if known[name] else None for name in ("polls", "packets")
        )
        waits = self.displaced[:0] if victim is None else rows_of(self.displaced, victim)
        own = waits.groupby("handover")["ns"].sum()
        waited = int(own.sum())
        return Totals(
            network_ns=int(frame["network_ns"].sum()),
            polls=polls,
            packets=packets,
            waits=len(own),
            waited_ns=waited,
            waited_most_ns=int(own.max()) if len(own) else 0,
            behind_others_ns=(displaced_ns or 0) - waited,
        )


@question(
    needs=("sched:sched_switch", ("softirqs", "polls")),
    inputs=(LIVES, STAYS, _HANDED_OVER),
    columns=(
        *(
            "handover",
            "comm",
            "start_ns",
            "network_ns",
            "displaced_all_ns",
            "wake_reason",
            "packets",
        ),
    ),
)
def handovers(timeline: Timeline) -> Handovers:
    """Each time ksoftirqd, or a thread of NAPI's, had network work.

    handovers, a row per hand-over, and displaced, a row per hand-over and task that waited.

    Source: slices; then segments, softirqs, hardirqs, polls, migrations and slices. A hand-over
    begins when such a thread is woken and ends when it goes back to sleep: all its stays on the CPU
    in between, those after a preemption too. Those without network work are left out. All work of
    NAPI's own threads (threaded NAPI, backlog threads) is handed over from the start, and
    wake_reason says so.
    """
    across = not timeline.missing["clocks"]
    wanted = _handed_over(timeline)
    # Who waited for one of some CPUs may have come back on another.
    found = {name: to_frame(table) for name, table in _HANDED_OVER(timeline).items()}
    sums = spans_of(found["held"], group="cpu")
    limits = limits_of(timeline.capture)
    worked, frame = handovers_of(wanted.stays.join(found["stays"]), sums, limits)
    frame = counted_if(not timeline.missing["polls"], frame)
    frame["displaced_all_ns"] = pd.array([pd.NA] * len(frame), dtype="Int64")
    frame["displaced_tasks"] = frame["displaced_all_ns"]
    waits = found["waits"].astype({"comm": object})
    if not across:
        return Handovers(frame, displaced_in(worked, waits[:0], sums))
    waits = waits.drop_duplicates(["cpu", "tid", "start_ns", "end_ns"])
    pairs = displaced_in(worked, waits, sums)
    group = pairs.groupby("handover")["ns"]
    for name, values in (("displaced_all_ns", group.sum()), ("displaced_tasks", group.size())):
        frame[name] = values.reindex(frame.index, fill_value=0).astype("Int64")
    pairs = pairs.sort_values(["handover", "ns"], ascending=[True, False], kind="stable")
    return Handovers(frame, pairs.reset_index(drop=True))


@handovers.totals
def _totals(answer: "Answer") -> dict[str, Totals]:
    timeline, victim = answer.timeline, answer.timeline.victim
    waited_ns = None if victim is None else loss_of(timeline, victim).row["displaced_ns"]
    return {"in_all": answer.result.totals(victim, waited_ns)}


@handovers.figures
def _of_the_victim(answer: "Answer") -> dict[str, Any]:
    # longest: the longest one's row, None where there is none; wake_reasons: how often each.
    frame, victim, total = answer.frame, answer.timeline.victim, answer.parts["in_all"]
    reasons = frame["wake_reason"].value_counts()
    longest = frame.iloc[int(frame["wall_ns"].argmax())].to_dict() if len(frame) else None
    return {
        "victim": label_of(answer.timeline, victim),
        "handovers": len(frame),
        "threads": list(frame["comm"].value_counts().index[:_THREADS]),
        "wake_reasons": {str(one): int(many) for one, many in reasons.items()},
        "longest": longest,
        "waits_known": bool(frame["displaced_all_ns"].notna().all()),
        "total": total,
        "behind_others_ns": total.behind_others_ns,
        "others_worth_saying": total.behind_others_ns >= _LEAST_WAIT_NS,
        "origin_ns": answer.start_ns,
    }


def _any(answer: "Answer") -> list[dict[str, Any]]:
    return [{}] if len(answer.frame) else []


@handovers.plot(
    title="When kernel threads had network work",
    height=lambda answer: 1.0 + 0.26 * min(answer.frame["comm"].nunique(), _LANES),
    panels=_any,
)
def _when(ax: "Axes", answer: "Answer") -> None:
    from .plots import when

    summary = answer.timeline.summary
    window = (int(summary["start_ns"]), int(summary["end_ns"]))
    when(ax, answer.frame, window, answer.start_ns)


def _waiting(answer: "Answer") -> list[dict[str, Any]]:
    return [{}] if len(answer.tables["displaced"]) else []


@handovers.plot(
    "waited",
    title="Who waited while kernel threads had network work",
    height=lambda answer: 1.0 + 0.26 * min(answer.tables["displaced"]["comm"].nunique(), _TASKS),
    panels=_waiting,
)
def _waited(ax: "Axes", answer: "Answer") -> None:
    from .plots import waited

    waited(ax, answer.tables["displaced"])
