# The native ledger's tables, each against the reference's.

from typing import Any

from support.native_tables import Answer, joined
from support.reference_ledger import Ledger

COLUMNS = ("context", "tid", "id", "napi", "cost_class")


def check_segments(got: Answer, wanted: Ledger) -> None:
    for cpu in wanted.cells:
        mine = [
            (cpu, row["start_ns"], row["end_ns"], *(row[name] for name in COLUMNS))
            for row in joined(got.on(cpu), COLUMNS)
        ]
        assert mine == [row for row in wanted.segments() if row[0] == cpu]


def check_softirqs(got: Answer, wanted: Ledger) -> None:
    columns = ("cpu", "entry_ns", "exit_ns", "vec", "tid", "origin", "cost_class", "self_ns")
    mine = sorted(
        tuple(row[name] for name in (*columns, "polls", "packets")) for row in got.softirqs
    )
    theirs = sorted(
        tuple(getattr(row, name) for name in (*columns, "polls", "packets"))
        for row in wanted.softirqs
    )
    assert mine == theirs


def check_polls(got: Answer, wanted: Ledger) -> None:
    columns = ("cpu", "start_ns", "end_ns", "napi", "device", "work", "budget", "tid", "self_ns")

    def key(row: Any) -> Any:
        return tuple(str(one) for one in row)

    mine = sorted((tuple(row[name] for name in columns) for row in got.polls), key=key)
    theirs = sorted(
        (tuple(getattr(row, name) for name in columns) for row in wanted.polls), key=key
    )
    assert mine == theirs


# Idle is no victim: its stays are not compared, nor those that took no time.
def check_slices(got: Answer, wanted: Ledger) -> None:
    mine = sorted(
        (
            *(row["cpu"], row["tid"], row["in_ns"], row["out_ns"]),
            sorted((name, row[name]) for name in row if is_part(name) and row[name]),
        )
        for row in got.slices
        if row["tid"] and row["out_ns"] > row["in_ns"]
    )
    theirs = sorted(
        (row.cpu, row.tid, row.in_ns, row.out_ns, sorted(row.parts.items()))
        for row in wanted.slices
        if row.tid and row.out_ns > row.in_ns
    )
    assert mine == theirs


def is_part(name: str) -> bool:
    if name in ("task_ns", "hardirq_ns", "poll_ns", "unknown_ns"):
        return True
    return name.startswith("softirq_") and name != "softirq_ns"
