"""What each victim lost, from the sums, without pandas."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..capture.accounting import Accounting
from ..timeline.by import By, check_by
from ..timeline.lives import everywhere, lives_columns
from ..timeline.owners import (
    INTERRUPT_CONTEXTS,
    Owned,
    Victim,
    by_total,
    is_device,
    lives_by,
    summed,
    victim_of,
)
from ..timeline.reading import displaced_waits, once
from ..timeline.timeline import Timeline
from ..units import absent
from .completeness.completeness import of_interrupts_ahead
from .completeness.unrecorded import Unrecorded, unrecorded_ns

if TYPE_CHECKING:
    import pandas as pd

# Events that may name the owner of a softirq's traffic.
_OWNERS = ("net:netif_receive_skb", "sock:sk_data_ready")
_STOLEN = ("stolen", "stolen_or_synchronous")
# The other tables of stolen(), and their column that names what took time.
PART_COLUMNS = {"by_softirq": "action", "by_device": "device"}
FIGURES = (
    *("on_cpu_ns", "task_min_ns", "task_ns", "stolen_ns", "stolen_or_synchronous_ns"),
    *("stolen_unrecorded_ns", "stolen_unrecorded_expected_ns", "stolen_max_ns", "stolen_share"),
    *("stolen_max_share", "stolen_network_ns", "stolen_network_max_ns", "stolen_own_ns"),
    *("stolen_own_max_ns", "stolen_network_share", "stolen_network_max_share"),
    *("stolen_hardirq_ns", "stolen_vector_ns", "stolen_nmi_ns", "synchronous_ns", "scheduled_ns"),
    *("displaced_ns", "unknown_ns", "unknown_max_ns", "monitor_ns"),
)
_SHARES = ("stolen", "stolen_max", "stolen_network", "stolen_network_max")
# ns by victim, at least and at most.
Ends = tuple[dict[Victim, int], dict[Victim, int]]


@dataclass(frozen=True)
class StolenSums:
    """What stolen() returns, without pandas.

    rows: each victim's figures. parts: by table and thief what it took from each victim, at least
    and at most, the largest thief first. missing: what no event shows. nobodys_ns: time whose task
    is unknown.
    """

    rows: dict[Victim, dict[str, Any]]
    parts: dict[str, dict[str, Ends]]
    missing: Unrecorded
    nobodys_ns: int

    def together(self, victims: Sequence[Victim]) -> dict[str, Any]:
        """Several victims as one row; a figure unknown for one is unknown for all.

        Upper ends do not add up where the same time is laid on each victim in turn: what no event
        shows, and time whose task is unknown.
        """
        rows = [self.rows[victim] for victim in victims]
        if len(rows) == 1:
            return rows[0]
        total: dict[str, Any] = {}
        for name in FIGURES:
            values = [row[name] for row in rows]
            total[name] = None if None in values else sum(values)
        unrecorded, network = self.missing.total(*victims)
        twice = total["stolen_unrecorded_ns"] - unrecorded
        total["stolen_unrecorded_ns"] = unrecorded
        total["stolen_unrecorded_expected_ns"] = self.missing.expected(*victims)[0]
        total["stolen_max_ns"] -= twice
        total["stolen_network_max_ns"] += network - sum(self.missing.total(v)[1] for v in victims)
        if total["task_min_ns"] is not None:
            total["task_min_ns"] += twice
        most = total["unknown_ns"] + self.nobodys_ns
        total["unknown_max_ns"] = min(total["unknown_max_ns"], most)
        shares = shares_of(total)
        return total | {f"{name}_share": shares[name] for name in _SHARES}

    def taken_from(self, victims: Iterable[Victim]) -> dict[str, list[dict[str, Any]]]:
        """The rows of by_softirq and by_device for some victims as one, without keys."""
        victims, tables = list(victims), {}
        for part, names in self.parts.items():
            rows = (
                (name, *(sum(ns.get(victim, 0) for victim in victims) for ns in ends))
                for name, ends in names.items()
            )
            columns = (PART_COLUMNS[part], "stolen_ns", "stolen_max_ns")
            tables[part] = [dict(zip(columns, row, strict=True)) for row in rows if row[-1]]
        return tables


def preload(timeline: Timeline, lives: bool) -> None:
    """Read what stolen_sums() needs in one pass; lives: for lifetimes() and waited_for() too."""
    capture, whole = timeline.capture, everywhere(timeline)
    of_interrupts_ahead(capture)
    # Most captures have time without a known owner; lifetimes say whose it may have been. For a
    # large capture they are read only once it is known that they are needed.
    timeline.read("displaced", for_lives=lives or capture.is_small)
    if lives and whole is not timeline:
        whole.read("displaced", for_lives=True)


@once
def stolen_sums(timeline: Timeline, by: By = "comm") -> StolenSums:
    """stolen() without pandas, which it needs only where packets name owners."""
    check_by(by)
    of_interrupts_ahead(timeline.capture)
    # First, since its pass brings the sums too.
    waited = _waited(timeline, by)
    rows, missing = timeline.owned_by(by), unrecorded_ns(timeline, by)
    unseen, own = _unseen(timeline, by), _own(timeline, by)
    regime = timeline.capture.bundle.accounting if timeline.capture.bundle else None
    tasks = [row for row in rows if row.of_task]
    interrupts = [row for row in rows if row.context in INTERRUPT_CONTEXTS]
    taken = [row for row in interrupts if row.cost_class in _STOLEN]
    surely = [row for row in taken if row.cost_class == "stolen"]
    summands: dict[str, Iterable[Owned]] = {
        "on_cpu_ns": tasks,
        "task_ns": (row for row in tasks if row.context == "task"),
        "stolen_ns": surely,
        "stolen_or_synchronous_ns": (row for row in taken if row.cost_class != "stolen"),
        "stolen_max_ns": taken,
        "stolen_network_ns": (row for row in surely if row.is_network == "yes"),
        "stolen_network_max_ns": (row for row in taken if row.is_network != "no"),
        "stolen_hardirq_ns": (row for row in taken if row.context == "hardirq"),
        "stolen_vector_ns": (row for row in taken if row.context == "vector"),
        "stolen_nmi_ns": (row for row in taken if row.context == "nmi"),
        "synchronous_ns": (row for row in interrupts if row.cost_class == "synchronous"),
        "scheduled_ns": (row for row in tasks if row.cost_class == "scheduled"),
        "unknown_ns": (row for row in tasks if row.context == "unknown"),
        "monitor_ns": (row for row in tasks if regime and _charged(row, regime)),
    }
    sums = {name: by_victim(summed_rows, by) for name, summed_rows in summands.items()}
    lost: dict[Victim, dict[str, Any]] = {}
    for victim in victims(timeline, by):
        row: dict[str, Any] = {name: ns.get(victim, 0) for name, ns in sums.items()}
        unrecorded, of_network = missing.total(victim)
        row["task_min_ns"] = row["task_ns"] - unrecorded
        row["stolen_unrecorded_ns"] = unrecorded
        row["stolen_unrecorded_expected_ns"] = missing.expected(victim)[0]
        row["stolen_max_ns"] += unrecorded
        row["stolen_network_max_ns"] += of_network
        row["unknown_max_ns"] = row["unknown_ns"] + unseen.get(victim, 0)
        row["displaced_ns"] = None if waited is None else waited.get(victim, 0)
        ends = (None, None) if own is None else own.get(victim, (0, 0))
        row["stolen_own_ns"], row["stolen_own_max_ns"] = ends
        if timeline.missing["on_cpu"]:
            row |= dict.fromkeys(("on_cpu_ns", "task_min_ns", "task_ns", "monitor_ns"))
        if regime is None:
            row["monitor_ns"] = None
        for name in _SHARES:
            row[f"{name}_share"] = share_of(row[f"{name}_ns"], row["on_cpu_ns"])
        lost[victim] = {name: row[name] for name in FIGURES}
    # A poll runs inside NET_RX; with busy polling NET_RX has no segment.
    softirqs = [
        ("NET_RX" if row.context == "poll" else row.name or "unnamed", row)
        for row in taken
        if row.context in ("softirq", "poll")
    ]
    devices = [(str(row.device), row) for row in taken if is_device(row.device)]
    parts = {"by_softirq": _by_name(softirqs, by), "by_device": _by_name(devices, by)}
    nobodys_ns = sum(row.ns for row in rows if row.tid is None)
    return StolenSums(lost, parts, missing, nobodys_ns)


@once
def victims(timeline: Timeline, by: By = "comm") -> list[Victim]:
    """Who lost time, or had any; most lost first, by what events show.

    What may be missing is laid on each in turn. Whose traffic it was, and who may have had time
    without a known owner, is not read for this.
    """
    waited, rows = _waited(timeline, by), timeline.owned_by(by)
    taken = (row for row in rows if row.context in INTERRUPT_CONTEXTS and row.cost_class in _STOLEN)
    seen, on_cpu = by_victim(taken, by), by_victim((row for row in rows if row.of_task), by)
    return sorted(
        dict.fromkeys([*on_cpu, *seen, *(waited or ())]),
        key=lambda victim: (-seen.get(victim, 0), -on_cpu.get(victim, 0)),
    )


def _by_name(named: list[tuple[str, Owned]], by: By) -> dict[str, Ends]:
    of_name: dict[str, list[Owned]] = {}
    for name, row in named:
        of_name.setdefault(name, []).append(row)
    return {
        name: (
            by_victim((row for row in of_name[name] if row.cost_class == "stolen"), by),
            by_victim(of_name[name], by),
        )
        for name in by_total(summed((name, row.ns) for name, row in named))
    }


def _waited(timeline: Timeline, by: By) -> dict[Victim, int] | None:
    # How long each victim waited for scheduled network work; None where that is unknown.
    waits = displaced_waits(timeline)
    if waits is None or by != "cpu":
        return None if waits is None else lives_by(waits, by, "ns")
    return summed(zip(waits["cpu"], waits["ns"], strict=True))


def shares_of(row: "Mapping[str, Any] | pd.Series[Any]") -> dict[str, float]:
    """Each time of a row of stolen() as a share of its time on CPU; NaN where that is unknown.

    The shares have the columns' names without "_ns". For unknown_max the time on CPU includes what
    may have been the victim's.
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


def _own(timeline: Timeline, by: By) -> dict[Victim, tuple[int, int]] | None:
    # Interrupt time for each victim's own traffic, at least and at most; None where unknown.
    counts = timeline.capture.info["events"]
    if not any(counts.get(event) for event in _OWNERS):
        return None
    from .processes.traffic import own_stolen

    own = own_stolen(timeline, by)
    ends = zip(own["own_ns"].tolist(), own["own_max_ns"].tolist(), strict=True)
    return dict(zip(own.index.tolist(), ends, strict=True))


def _unseen(timeline: Timeline, by: By) -> dict[Victim, int]:
    # What each victim may have had of the time whose task is unknown.
    nobodys = [row for row in timeline.owned_by(by) if row.tid is None]
    whole = sum(row.ns for row in nobodys)
    if by == "cpu":
        return summed((row.cpu, row.ns) for row in nobodys)
    if timeline.missing["on_cpu"] or not whole:
        return {}
    if by != "tid" and timeline.recorded not in (None, 1):
        # A task of any name may have run while events were lost.
        return {victim_of(row, by): whole for row in timeline.owned_by(by) if row.tid}
    # Only here, since it needs the table of lifetimes and most captures lost nothing.
    unseen = lives_by(lives_columns(timeline, "lives"), by, "unseen_ns")
    # The sum over the tasks of a name can exceed what was lost.
    return {victim: min(ns, whole) for victim, ns in unseen.items()}


def by_victim(rows: Iterable[Owned], by: By) -> dict[Victim, int]:
    """ns of rows of the sums, by victim."""
    return summed((victim_of(row, by), row.ns) for row in rows)


def _charged(row: Owned, regime: Accounting) -> bool:
    # Whether the kernel charges a segment to the current task. Every regime charges NMIs, and polls
    # of NAPI's own kthreads, which run with bottom halves off but not in softirq context.
    if row.context in ("hardirq", "vector"):
        return regime.hardirq
    polled = row.context == "poll" and not row.comm.startswith(("napi/", "backlog_napi/"))
    if row.context == "softirq" or polled:
        return regime.ksoftirqd if row.comm.startswith("ksoftirqd/") else regime.softirq
    return True
