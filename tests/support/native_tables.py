# The native module's answers as plain Python values, and the promise of conservation as one
# function.

from bisect import bisect_right
from collections import Counter, defaultdict
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from netcost_analysis._native import Capture
from netcost_analysis.timeline.group import Binned

Row = dict[str, Any]
ALL_TABLES = ["segments", "softirqs", "hardirqs", "polls", "slices", "migrations", "coverage"]


# What to_pylist() gives: of a large table five times as fast, for it makes no object of Arrow's.
def rows(table: Any) -> list[Row]:
    read = pa.table(table)
    # Arrow makes the list of names anew whenever it is asked.
    names, columns = read.column_names, [values(one.combine_chunks()) for one in read.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


# Of what a scan says: by CPU from when to when something was lost, and how much.
def gaps(scan: Row) -> list[tuple[int, int, int, int]]:
    return [
        (one["cpu"], one["start_ns"], one["end_ns"], one["lost"]) for one in rows(scan["coverage"])
    ]


def values(column: pa.Array) -> list[Any]:
    if pa.types.is_dictionary(column.type):
        names = column.dictionary.to_pylist()
        return [None if at is None else names[at] for at in values(column.indices)]
    if column.null_count == 0 and pa.types.is_primitive(column.type):
        return list(column.to_numpy(zero_copy_only=False).tolist())
    return list(column.to_pylist())


def events(path: Path, name: str) -> list[Row]:
    return rows(Capture(str(path)).events(name))


# Its tables, sums, displaced and irqs are rows once they are looked at: of most answers few are.
class Answer:
    def __init__(
        self,
        path: Path,
        tables: list[str] | None = None,
        cycles_per_s: int | None = None,
        bin_ns: int | None = None,
        **window: Any,
    ) -> None:
        capture = Capture(str(path), None, cycles_per_s)
        self.scan = capture.scan()
        self._got = capture.timeline(ALL_TABLES if tables is None else tables, **window)
        if bin_ns is not None:
            self._got |= capture.aggregates([Binned(bin_ns)], rows=100, **window)[0]
        self.summary = self._got["summary"]

    @cached_property
    def tables(self) -> dict[str, list[Row]]:
        return {name: getattr(self, name) for name in self._got["tables"]}

    def __getattr__(self, name: str) -> list[Row]:
        table = self._got["tables"].get(name, self._got.get(name))
        if name not in (*ALL_TABLES, "sums", "displaced", "irqs") or table is None:
            raise AttributeError(name)
        found = rows(table)
        setattr(self, name, found)
        return found

    @property
    def window(self) -> tuple[int, int]:
        return self.summary["start_ns"], self.summary["end_ns"]

    def on(self, cpu: int, table: str = "segments") -> list[Row]:
        return [row for row in getattr(self, table) if row["cpu"] == cpu]

    # (start, end, context, comm) of one CPU: what a drawn timeline is compared with.
    def lane(self, cpu: int, origin: int = 0, *columns: str) -> list[tuple[Any, ...]]:
        wanted = columns or ("context",)
        return [
            (row["start_ns"] - origin, row["end_ns"] - origin, *(row[name] for name in wanted))
            for row in joined(self.on(cpu), wanted)
        ]


def joined(segments: list[Row], columns: tuple[str, ...]) -> list[Row]:
    result: list[Row] = []
    for row in segments:
        same = result and all(result[-1][name] == row[name] for name in columns)
        if same:
            result[-1] = {**result[-1], "end_ns": row["end_ns"]}
        else:
            result.append(dict(row))
    return result


SUM_KEY = ("cpu", "tid", "context", "id", "napi", "device", "cost_class", "is_network")


def by(rows_: list[Row], key: tuple[str, ...], value: Any) -> Counter[tuple[Any, ...]]:
    total: Counter[tuple[Any, ...]] = Counter()
    for row in rows_:
        total[tuple(row[name] for name in key)] += value(row)
    return total


def duration(row: Row) -> int:
    return int(row["end_ns"]) - int(row["start_ns"])


def slice_parts(row: Row) -> int:
    by_class = [name for name in row if name.startswith("softirq_") and name.endswith("_ns")]
    by_class.remove("softirq_ns")
    assert sum(row[name] or 0 for name in by_class) == row["softirq_ns"], row
    fixed = ("task_ns", "hardirq_ns", "softirq_ns", "poll_ns", "unknown_ns")
    assert min(row[name] for name in fixed) >= 0, row
    return sum(row[name] for name in fixed)


# What of a stay its CPU's unknown segments hold. They are in order and do not overlap.
def unknown_within(unknown: list[Row], stay: Row) -> int:
    total = 0
    for at in range(bisect_right(unknown, stay["in_ns"], key=itemgetter("end_ns")), len(unknown)):
        row = unknown[at]
        if row["start_ns"] >= stay["out_ns"]:
            break
        total += min(row["end_ns"], stay["out_ns"]) - max(row["start_ns"], stay["in_ns"])
    return total


# Promise 1, for any capture and any window: segments partition [start, end] of every CPU, and
# everything that is made of them adds up to them.
def assert_conserved(answer: Answer) -> None:
    start, end = answer.window
    per_cpu: defaultdict[int, list[Row]] = defaultdict(list)
    for row in answer.segments:
        per_cpu[row["cpu"]].append(row)
    assert sorted(per_cpu) == sorted(answer.summary["cpus"]) or start == end
    for cpu, lane in per_cpu.items():
        now = start
        for row in lane:
            assert row["start_ns"] == now, f"gap or overlap on CPU {cpu} at {now}: {row}"
            assert row["end_ns"] > row["start_ns"], f"empty segment on CPU {cpu}: {row}"
            now = row["end_ns"]
        assert now == end, f"CPU {cpu} ends at {now}, not {end}"
    cpus = len(answer.summary["cpus"])
    assert sum(row["ns"] for row in answer.sums) == cpus * (end - start)
    wanted = by(answer.segments, SUM_KEY, duration)
    assert by(answer.sums, SUM_KEY, lambda row: row["ns"]) == wanted
    # A row an owner, and a row a task.
    owners = Counter(
        tuple(row[name] for name in row if name not in ("ns", "segments")) for row in answer.sums
    )
    assert max(owners.values(), default=1) == 1, owners.most_common(1)
    waited = Counter((row["cpu"], row["tid"], row["comm"]) for row in answer.displaced)
    assert max(waited.values(), default=1) == 1, waited.most_common(1)
    unknown = {
        cpu: [row for row in lane if row["context"] == "unknown"] for cpu, lane in per_cpu.items()
    }
    for row in getattr(answer, "slices", []):
        # A stay may reach beyond the window; what is booked is what lies in it.
        length = max(0, min(row["out_ns"], end) - max(row["in_ns"], start))
        assert slice_parts(row) == length, f"parts make {slice_parts(row)} of {length}: {row}"
        assert unknown_within(unknown.get(row["cpu"], []), row) == row["unknown_ns"], row
    # Polls name their softirq by it.
    numbers = Counter((row["cpu"], row["ordinal"]) for row in getattr(answer, "softirqs", []))
    assert max(numbers.values(), default=1) == 1, numbers.most_common(1)
    for row in (*getattr(answer, "softirqs", []), *getattr(answer, "hardirqs", [])):
        assert (row["self_ns"] or 0) >= 0, row
