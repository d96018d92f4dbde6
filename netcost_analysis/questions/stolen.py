"""What each task lost: its time on CPU, what of it was its own, what a monitor would show."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ..answers.question import question
from ..capture.accounting import Accounting
from ..capture.requires import unrecorded
from ..timeline.by import By, check_by
from ..timeline.lives import lives_columns
from ..timeline.owners import (
    INTERRUPT_CONTEXTS,
    Owned,
    PerVictim,
    Victim,
    lives_by,
    summed,
    victim_of,
)
from ..timeline.reading import displaced_waits
from ..timeline.task import Group, Task, by_of, is_of, no_such_task
from ..timeline.task_groups import named
from ..timeline.timeline import Timeline
from ..units import absent
from .completeness.completeness import of_interrupts_ahead
from .completeness.unrecorded import Unrecorded, unrecorded_ns
from .network_cost import INTERRUPTS
from .one_pass import OWNERS
from .taken import Taken, by_device, by_softirq

if TYPE_CHECKING:
    import pandas as pd

_STOLEN = ("stolen", "stolen_or_synchronous")
# Columns that are known or not, as pandas' masked integers.
_MASKED = (
    *("on_cpu_ns", "task_min_ns", "task_ns", "displaced_ns", "monitor_ns"),
    *("stolen_own_ns", "stolen_own_max_ns"),
)


class Stolen(NamedTuple):
    """Where each victim's time on CPU went.

    Attributes
    ----------
    victims : pandas.DataFrame
        A row per victim.
    by_softirq, by_device : pandas.DataFrame
        A row per victim and what took time from it.
    """

    victims: "pd.DataFrame"
    by_softirq: "pd.DataFrame"
    by_device: "pd.DataFrame"


@question(
    topic="stolen_time",
    main="victims",
    columns=(
        "comm",
        "stolen_share",
        "stolen_ns",
        "on_cpu_ns",
        "task_ns",
        "stolen_network_ns",
        "displaced_ns",
    ),
)
def stolen(timeline: Timeline, by: By = "comm") -> Stolen:
    """Per victim, where its time on CPU went.

    - by: What victims are told apart by; "device" is as "comm".

    victims: a row per victim, falling by what it lost; all columns int64 ns except on_cpu_ns,
    task_min_ns, task_ns, displaced_ns, monitor_ns, stolen_own_ns, stolen_own_max_ns (Int64, NA
    where unknown) and the shares (float, of on_cpu_ns, NaN where unknown). by_softirq: a row per
    victim and softirq that took time from it: the victim's keys, action, stolen_ns and
    stolen_max_ns (int64). by_device: likewise with device. Notes says what each is.

    on_cpu_ns is from switch-in to switch-out, whoever used it; task_ns the part in which the task
    itself ran; task_min_ns that without stolen_unrecorded_ns.

    stolen_ns is interrupt-context time on top of it that came from an interrupt; stolen_max_ns adds
    stolen_or_synchronous_ns, which may have been its own, and stolen_unrecorded_ns: of the time
    that it is said to have run, what interrupts and softirqs may have had that the kernel counted
    and no event shows (0 where no count proves any missing), each as long as the longest recorded
    there. stolen_unrecorded_expected_ns is the same were each as long as the mean, at any time.

    stolen_hardirq_ns, stolen_vector_ns, stolen_nmi_ns, stolen_unrecorded_ns and stolen_max_ns of
    by_softirq (NET_RX with its polls) add up to stolen_max_ns. by_device is what can be laid at a
    device, its hardirqs and polls, across those parts.

    stolen_network_ns is of stolen_ns what is network, stolen_network_max_ns of stolen_max_ns what
    may be. stolen_own_ns is of stolen_network_ns what softirqs worked on the victim's own packets,
    as their sockets or the packets name the owner; stolen_own_max_ns all of its softirqs that may
    have, but for another's for certain. Both are NA where neither was recorded.

    synchronous_ns are softirqs it raised itself, on its own send or receive path; scheduled_ns
    network work it did as a kthread, with the interrupts on top. displaced_ns is time it waited,
    runnable, while such a kthread had its CPU; NA without sched_switch or where the CPUs' clocks
    disagree.

    unknown_ns is time in which it was current and what ran is unknown. unknown_max_ns adds what it
    may have been on a CPU that nobody is known to have had, between its stays and while it was
    there; by name all of that where events were lost, for tasks of that name may have lived there
    unseen: each victim's upper bound by itself, they do not add up.

    monitor_ns is what utime + stime would say under the accounting of the bundle's kernel
    configuration, NA without one. Where interrupts are not charged and unknown_ns is not 0, it is
    an upper bound.

    Source: the timeline's sums; the counters beside the trace.
    """
    lost = losses(timeline, by)
    parts = (part.frame(lost.victims) for part in lost.parts.values())
    return Stolen(lost.frame, *parts)


class Losses(PerVictim):
    """What stolen() returns, without pandas. parts: by_softirq and by_device."""

    masked = _MASKED

    def __init__(
        self,
        by: By,
        victims: list[Victim],
        columns: dict[str, list[Any]],
        parts: dict[str, Taken],
        missing: Unrecorded,
        nobodys_ns: int,
    ) -> None:
        super().__init__(by, victims, columns)
        self.parts, self.missing, self.nobodys_ns = parts, missing, nobodys_ns

    def together(self, victims: Sequence[Victim]) -> dict[str, Any]:
        """Several victims as one row; what is unknown of one is unknown of all.

        Upper ends do not add up where each lays the same time on its victim: what no event shows,
        and time whose task is not known.
        """
        places = [self._place[victim] for victim in victims]
        if len(places) == 1:
            return {name: values[places[0]] for name, values in self.columns.items()}
        total: dict[str, Any] = {}
        for name, column in self.columns.items():
            values = [column[place] for place in places]
            total[name] = None if None in values else sum(values)
        unrecorded, network = self.missing.total(*victims)
        twice = total["stolen_unrecorded_ns"] - unrecorded
        total["stolen_unrecorded_ns"] = unrecorded
        total["stolen_unrecorded_expected_ns"] = self.missing.expected(*victims)[0]
        total["stolen_max_ns"] -= twice
        total["stolen_network_max_ns"] += network - sum(self.missing.total(v)[1] for v in victims)
        if total["task_min_ns"] is not None:
            total["task_min_ns"] += twice
        total["unknown_max_ns"] = min(
            total["unknown_max_ns"], total["unknown_ns"] + self.nobodys_ns
        )
        shares = shares_of(total)
        names = [name for name in total if name.endswith("_share")]
        return total | {name: shares[name.removesuffix("_share")] for name in names}

    @cached_property
    def _place(self) -> dict[Victim, int]:
        return {victim: place for place, victim in enumerate(self.victims)}

    def plain_parts(self, victims: Iterable[Victim]) -> dict[str, list[dict[str, Any]]]:
        """The rows of each part, of some victims as one."""
        return {name: part.plain(victims) for name, part in self.parts.items()}


def losses(timeline: Timeline, by: By = "comm") -> Losses:
    """stolen() without pandas, but where packets name owners."""
    check_by(by)
    of_interrupts_ahead(timeline.capture)
    # First: its pass brings the sums too.
    waits = displaced_waits(timeline)
    bundle = timeline.capture.bundle
    regime = bundle.accounting if bundle else None
    found = losses_of(
        timeline.owned_by(by),
        None if waits is None else _waits(waits, by),
        by,
        not timeline.missing["on_cpu"],
        regime,
        unrecorded_ns(timeline, by),
        timeline.nobodys_ns,
    )
    unseen = _unseen(timeline, by)
    unknown = zip(found.victims, found.columns["unknown_ns"], strict=True)
    own = _own(timeline, by)
    ends = [(None, None) if own is None else own.get(victim, (0, 0)) for victim in found.victims]
    more = {
        "unknown_max_ns": [ns + unseen.get(victim, 0) for victim, ns in unknown],
        "stolen_own_ns": [low for low, _ in ends],
        "stolen_own_max_ns": [high for _, high in ends],
    }
    columns: dict[str, list[Any]] = {}
    for name, values in found.columns.items():
        columns[name] = values
        for after in _BESIDE.get(name, ()):
            columns[after] = more[after]
    found.columns = columns
    return found


# Behind which column those of other sources stand.
_BESIDE = {
    "stolen_network_max_ns": ("stolen_own_ns", "stolen_own_max_ns"),
    "unknown_ns": ("unknown_max_ns",),
}


def _waits(waits: Mapping[str, list[Any]], by: By) -> dict[Victim, int]:
    of = {"tid": ("tid", "comm"), "cpu": ("cpu",)}.get(by, ("comm",))
    keys: Iterable[Any] = zip(*(waits[name] for name in of), strict=True)
    return summed(
        (key if by == "tid" else key[0], ns) for key, ns in zip(keys, waits["ns"], strict=True)
    )


def shares_of(row: "Mapping[str, Any] | pd.Series[Any]") -> dict[str, float]:
    """Each time of a victim of stolen() as a share of its time on CPU; NaN where that is unknown.

    row: by column. Returns them under the columns' names without "_ns". What may have been its time
    on CPU besides is added to that for the share of unknown_max.
    """
    shares = {
        name.removesuffix("_ns"): share_of(ns, row["on_cpu_ns"])
        for name, ns in ((str(name), ns) for name, ns in row.items())
        if name.endswith("_ns")
    }
    if not absent(row["on_cpu_ns"]):
        most = row["on_cpu_ns"] + row["unknown_max_ns"] - row["unknown_ns"]
        shares["unknown_max"] = share_of(row["unknown_max_ns"], most)
    return shares


def share_of(ns: int | None, whole_ns: int | None) -> float:
    """NaN where either is not known, or the whole is nothing."""
    if ns is None or whole_ns is None or absent(ns) or absent(whole_ns) or whole_ns <= 0:
        return float("nan")
    return float(ns) / float(whole_ns)


class Loss(NamedTuple):
    """What one task lost: its name, its row of stolen(), its rows of by_softirq and by_device."""

    comm: str
    row: dict[str, Any]
    parts: dict[str, list[dict[str, Any]]]


def loss_of(timeline: Timeline, victim: Task) -> Loss:
    """What one task lost, of a tid under all of its names together; AbsentError for none."""
    victim = named(timeline, victim) or victim
    lost = losses(timeline, by_of(victim))
    rows = {one: row for one, row in lost.rows().items() if is_of(one, victim)}
    if not rows:
        raise no_such_task(timeline, victim)
    # Of its names that which it had longest.
    longest = max(rows, key=lambda one: rows[one]["on_cpu_ns"] or 0)
    whole = lost.together(list(rows))
    comm = longest if by_of(victim) == "comm" else longest[1]
    if isinstance(victim, Group):
        comm = victim.comm
    return Loss(comm, whole, lost.plain_parts(rows))


def own_ends(row: "Mapping[str, Any] | pd.Series[Any]") -> tuple[int, int]:
    """What interrupts did for a task itself, at least and at most. row: of stolen()."""
    low = int(row["synchronous_ns"])
    return low, low + int(row["stolen_or_synchronous_ns"])


def monitor_ends(
    timeline: Timeline, row: "Mapping[str, Any] | pd.Series[Any]"
) -> tuple[int, int] | None:
    """What a monitor shows of a task at least and at most; None where its time on CPU is unknown.

    Where nobody says how the kernel accounts, from none to all of the interrupts on top of the
    task. Where they are charged to no task, and not all are known, monitor_ns is the upper end.
    row: of stolen().
    """
    if absent(row["on_cpu_ns"]):
        return None
    capture, whole = timeline.capture, int(row["on_cpu_ns"])
    regime = capture.bundle.accounting if capture.bundle else None
    if regime is None:
        return max(whole - int(row["stolen_max_ns"]) - int(row["synchronous_ns"]), 0), whole
    shown = int(row["monitor_ns"])
    if regime.hardirq:
        return shown, shown
    # Other architectures' are lines with handlers.
    arch = capture.info.get("arch")
    is_x86 = arch is None or arch in ("x86_64", "i386", "i686")
    lacking = ("irq_vectors:*",) if is_x86 else ()
    is_most = row["unknown_ns"] or unrecorded(capture, *INTERRUPTS, *lacking)
    return 0 if is_most else shown, shown


def _own(timeline: Timeline, by: By) -> dict[Victim, tuple[int, int]] | None:
    # What worked on each victim's own traffic, at least and at most; None where nothing tells.
    counts = timeline.capture.info["events"]
    if not any(counts.get(event) for event in OWNERS):
        return None
    from .processes.traffic import own_stolen

    own = own_stolen(timeline, by)
    ends = zip(own["own_ns"].tolist(), own["own_max_ns"].tolist(), strict=True)
    return dict(zip(own.index.tolist(), ends, strict=True))


def _unseen(timeline: Timeline, by: By) -> dict[Victim, int]:
    # What each victim may have had of the time whose task is not known.
    nobodys = [row for row in timeline.owned_by(by) if row.tid is None]
    whole = sum(row.ns for row in nobodys)
    if by == "cpu":
        return summed((row.cpu, row.ns) for row in nobodys)
    if timeline.missing["on_cpu"] or not whole:
        return {}
    if by != "tid" and timeline.recorded not in (None, 1):
        # Tasks of any name may have lived within what was lost.
        return {victim_of(row, by): whole for row in timeline.owned_by(by) if row.tid}
    # Only here: it takes the table of stays, and most captures lost nothing.
    unseen = lives_by(lives_columns(timeline, "lives"), by, "unseen_ns")
    # The sum over the tasks of a name can be more than was lost at all.
    return {victim: min(ns, whole) for victim, ns in unseen.items()}


def losses_of(
    rows: list[Owned],
    displaced: Mapping[Victim, int] | None,
    by: By,
    on_cpu_known: bool,
    regime: Accounting | None,
    missing: Unrecorded,
    nobodys_ns: int,
) -> Losses:
    # losses() on what Timeline.owned_by() returns, without what needs tables. displaced: waits by
    # victim, None where they are not known. missing: as unrecorded_ns() returns it. nobodys_ns:
    # time whose task is not known.
    tasks = [row for row in rows if row.of_task]
    interrupts = [row for row in rows if row.context in INTERRUPT_CONTEXTS]
    taken = [row for row in interrupts if row.cost_class in _STOLEN]
    on_cpu, seen = by_victim(tasks, by), by_victim(taken, by)
    everyone = dict.fromkeys([*on_cpu, *seen, *(displaced or ())])
    # By what was seen: what may be missing is laid on each in turn.
    victims = sorted(everyone, key=lambda one: (-seen.get(one, 0), -on_cpu.get(one, 0)))
    may_be = [missing.total(victim) for victim in victims]
    unrecorded, of_network = [ns for ns, _ in may_be], [ns for _, ns in may_be]

    def total(part: Iterable[Owned]) -> list[int]:
        ns = by_victim(part, by)
        return [ns.get(victim, 0) for victim in victims]

    def known_if(known: bool, ns: list[int]) -> list[int | None]:
        return list(ns) if known else [None] * len(ns)

    def share(name: str) -> list[float]:
        return list(map(share_of, columns[name], columns["on_cpu_ns"]))

    surely = [row for row in taken if row.cost_class == "stolen"]
    own = total(row for row in tasks if row.context == "task")
    perhaps = total(row for row in taken if row.is_network != "no")
    columns: dict[str, list[Any]] = {
        "on_cpu_ns": known_if(on_cpu_known, total(tasks)),
        "task_min_ns": known_if(on_cpu_known, _less(own, unrecorded)),
        "task_ns": known_if(on_cpu_known, own),
        "stolen_ns": total(surely),
        "stolen_or_synchronous_ns": total(row for row in taken if row.cost_class != "stolen"),
        "stolen_unrecorded_ns": unrecorded,
        "stolen_unrecorded_expected_ns": [missing.expected(victim)[0] for victim in victims],
        "stolen_max_ns": list(map(int.__add__, total(taken), unrecorded)),
    }
    for part in ("stolen", "stolen_max"):
        columns[f"{part}_share"] = share(f"{part}_ns")
    columns["stolen_network_ns"] = total(row for row in surely if row.is_network == "yes")
    columns["stolen_network_max_ns"] = list(map(int.__add__, perhaps, of_network))
    for part in ("stolen_network", "stolen_network_max"):
        columns[f"{part}_share"] = share(f"{part}_ns")
    for context in ("hardirq", "vector", "nmi"):
        columns[f"stolen_{context}_ns"] = total(row for row in taken if row.context == context)
    columns["synchronous_ns"] = total(row for row in interrupts if row.cost_class == "synchronous")
    columns["scheduled_ns"] = total(row for row in tasks if row.cost_class == "scheduled")
    waited = [(displaced or {}).get(victim, 0) for victim in victims]
    columns["displaced_ns"] = known_if(displaced is not None, waited)
    columns["unknown_ns"] = total(row for row in tasks if row.context == "unknown")
    free = total(row for row in tasks if regime and not _charged(row, regime))
    charged = _less(total(tasks), free)
    columns["monitor_ns"] = known_if(on_cpu_known and regime is not None, charged)
    parts = {"by_softirq": by_softirq(taken, by), "by_device": by_device(taken, by)}
    return Losses(by, victims, columns, parts, missing, nobodys_ns)


def by_victim(rows: Iterable[Owned], by: By) -> dict[Victim, int]:
    """ns of rows of the sums, by victim."""
    return summed((victim_of(row, by), row.ns) for row in rows)


def _less(whole: list[int], part: list[int]) -> list[int]:
    return list(map(int.__sub__, whole, part))


def _charged(row: Owned, regime: Accounting) -> bool:
    # Whether the kernel charges a segment to the task that was current. NMIs are charged under
    # every regime, as are polls of NAPI's own kthreads: those run with bottom halves off but not in
    # softirq context.
    if row.context in ("hardirq", "vector"):
        return regime.hardirq
    polled = row.context == "poll" and not row.comm.startswith(("napi/", "backlog_napi/"))
    if row.context == "softirq" or polled:
        return regime.ksoftirqd if row.comm.startswith("ksoftirqd/") else regime.softirq
    return True
