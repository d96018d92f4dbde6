# What is known of a recording's completeness: the rows, and the line that says what follows.

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ...units import plural

if TYPE_CHECKING:
    import pandas as pd

# Kinds of counts of which one that is higher than the trace's proves a loss. Packets do not: GRO
# merges some before they are counted, and one that passes two devices counts twice.
PROOFS = ("softirq", "irq", "vector", "switches")
_MAX_NAMED = 3


class Row(NamedTuple):
    # cpu: None for a count of the whole host. counted: what the counter grew by; recorded: events
    # of the trace while it may have, recorded_inside while it surely did.
    what: str
    counter: str
    cpu: int | None
    counted: int
    recorded: int
    recorded_inside: int

    @property
    def missing_least(self) -> int:
        return max(0, self.counted - self.recorded) if self.what in PROOFS else 0

    @property
    def missing_most(self) -> int:
        return max(0, self.counted - self.recorded_inside)


class Verdict(NamedTuple):
    # A Completeness without its rows, for which no pandas is needed.
    verdict: str
    state: str
    reason: str | None
    lost_events: int | None

    @property
    def why(self) -> str | None:
        # The state in a sentence; None where nothing is wrong.
        if self.state != "incomplete":
            return self.reason
        return "; ".join(part for part in (self.verdict, self.reason) if part)


@dataclass(frozen=True)
class Completeness:
    """Whether a recording has all that its host counted.

    Attributes
    ----------
    verdict : str
        One line: "complete", "lost 86,172 events", "misses 48 % of NET_RX on CPU 1", or "unknown: "
        with the reason.
    state : str
        "complete", "incomplete" or "unknown".
    reason : str or None
        Why nothing could be compared.
    lost_events : int or None
        Those that the recorder knows it lost, None where nobody counted.
    listed : tuple of Row
        The counts compared, most missing first.
    rows : pandas.DataFrame
        The same, a row per count: what ("softirq", "irq", "vector", "packets", "switches"), counter
        (as the kernel names it), cpu (Int64, NA for the host's), then int64 counted, recorded,
        recorded_inside, missing_least, missing_most.
    """

    verdict: str
    state: str
    reason: str | None
    lost_events: int | None
    listed: tuple[Row, ...]
    part_names: ClassVar[tuple[str, ...]] = ("state", "why", "lost_events", "rows")

    @property
    def without_rows(self) -> Verdict:
        """The verdict alone."""
        return Verdict(self.verdict, self.state, self.reason, self.lost_events)

    @property
    def why(self) -> str | None:
        """What was lost or is missing, or why nobody knows; None where it is complete."""
        return self.without_rows.why

    @cached_property
    def rows(self) -> "pd.DataFrame":
        """As a table: a row per count that was compared."""
        import pandas as pd

        listed = [(*row, row.missing_least, row.missing_most) for row in self.listed]
        frame = pd.DataFrame(listed, columns=list(COLUMNS))
        kinds = dict.fromkeys(COLUMNS[3:], "int64")
        return frame.astype({"what": object, "counter": object, "cpu": "Int64", **kinds})


COLUMNS = (*Row._fields, "missing_least", "missing_most")


def with_rows(verdict: Verdict, rows: list[Row]) -> Completeness:
    """A verdict with its rows, those that surely miss most first."""
    rows = sorted(rows, key=lambda row: (-row.missing_least, -row.missing_most))
    return Completeness(*verdict, tuple(rows))


def unknown(reason: str, lost_events: int) -> Completeness:
    """Nothing was compared; what the recorder itself says it lost is known all the same."""
    if lost_events:
        return replace(judged([], lost_events), reason=reason)
    return Completeness(f"unknown: {reason}", "unknown", reason, lost_events, ())


def judged(rows: list[Row], lost_events: int, some_lost: bool = False) -> Completeness:
    """What rows and losses say. some_lost: whether events were lost that nobody counted."""
    found = "; ".join([*_lost(lost_events, some_lost), *_missed(rows, lost_events)])
    state = "incomplete" if found else "complete"
    return with_rows(Verdict(found or "complete", state, None, lost_events), rows)


def _lost(lost_events: int, some_lost: bool) -> list[str]:
    if lost_events:
        return [f"lost {plural(lost_events, 'event')}"]
    return ["lost an unknown number of events"] if some_lost else []


def _missed(rows: list[Row], lost_events: int) -> list[str]:
    # What was lost explains as much that is missing. Words and order are those of
    # capture/lib/missing.awk.
    missing = sorted((row for row in rows if row.missing_least), key=lambda row: -row.missing_least)
    if sum(row.missing_least for row in missing) <= lost_events:
        return []
    named = [f"{_share(row)} of {_called(row)}" for row in missing[:_MAX_NAMED]]
    more = len(missing) - len(named)
    return [f"misses {', '.join(named)}{f' and {more} more' if more else ''}"]


def _share(row: Row) -> str:
    # Never more than it is: what is not quite everything is not written as everything. In whole
    # numbers, which do not round.
    if 10 * row.missing_least >= row.counted:
        return f"{100 * row.missing_least // row.counted} %"
    if 1_000 * row.missing_least >= row.counted:
        return f"{1_000 * row.missing_least // row.counted / 10:.1f} %"
    return "under 0.1 %"


def _called(row: Row) -> str:
    if row.what == "switches":
        return "switches"
    name = f"interrupt {row.counter}" if row.what == "irq" else row.counter
    return name if row.cpu is None else f"{name} on CPU {row.cpu}"
