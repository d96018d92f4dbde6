# What is known of a recording's completeness: the counts compared, and the line that says what
# follows. Without pandas, which `netcost stolen` does not wait for.

from collections.abc import Iterable
from typing import NamedTuple

from ...units import plural

# Kinds of counts of which one that is higher than the trace's proves a loss. Packets do not: GRO
# merges some before they are counted, and one that passes two devices counts twice.
PROOFS = ("softirq", "irq", "vector", "switches")
_MAX_NAMED = 3


class CounterRow(NamedTuple):
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
    # verdict: one line: "complete", "lost 86,172 events", "misses 48 % of NET_RX on CPU 1", or
    # "unknown: " with the reason. state: complete, incomplete or unknown. reason: why nothing could
    # be compared. lost_events: that the recorder knows it lost, None where nobody counted.
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


class Compared(NamedTuple):
    # rows: most missing first.
    verdict: Verdict
    rows: tuple[CounterRow, ...]


def ranked(verdict: Verdict, rows: Iterable[CounterRow]) -> Compared:
    most = sorted(rows, key=lambda row: (-row.missing_least, -row.missing_most))
    return Compared(verdict, tuple(most))


def unknown(reason: str, lost_events: int) -> Compared:
    """Nothing was compared; what the recorder itself says it lost is known all the same."""
    if lost_events:
        return Compared(judged([], lost_events).verdict._replace(reason=reason), ())
    return Compared(Verdict(f"unknown: {reason}", "unknown", reason, lost_events), ())


def judged(rows: list[CounterRow], lost_events: int, some_lost: bool = False) -> Compared:
    """What rows and losses say. some_lost: whether events were lost that nobody counted."""
    found = "; ".join([*_lost(lost_events, some_lost), *_missed(rows, lost_events)])
    state = "incomplete" if found else "complete"
    return ranked(Verdict(found or "complete", state, None, lost_events), rows)


def _lost(lost_events: int, some_lost: bool) -> list[str]:
    if lost_events:
        return [f"lost {plural(lost_events, 'event')}"]
    return ["lost an unknown number of events"] if some_lost else []


def _missed(rows: list[CounterRow], lost_events: int) -> list[str]:
    # What was lost explains as much that is missing. Words and order are those of
    # capture/lib/missing.awk.
    missing = sorted((row for row in rows if row.missing_least), key=lambda row: -row.missing_least)
    if sum(row.missing_least for row in missing) <= lost_events:
        return []
    named = [f"{_share(row)} of {_called(row)}" for row in missing[:_MAX_NAMED]]
    more = len(missing) - len(named)
    return [f"misses {', '.join(named)}{f' and {more} more' if more else ''}"]


def _share(row: CounterRow) -> str:
    # Rounded down, in whole numbers: what is not quite everything is not written as everything.
    if 10 * row.missing_least >= row.counted:
        return f"{100 * row.missing_least // row.counted} %"
    if 1_000 * row.missing_least >= row.counted:
        return f"{1_000 * row.missing_least // row.counted / 10:.1f} %"
    return "under 0.1 %"


def _called(row: CounterRow) -> str:
    if row.what == "switches":
        return "switches"
    name = f"interrupt {row.counter}" if row.what == "irq" else row.counter
    return name if row.cpu is None else f"{name} on CPU {row.cpu}"
