"""The host's counters over time, each with the two moments between which it was read.

A bundle has /proc as it was before and after, and where netcost-record sampled, in between:
``samples/FILE`` is lines ``@ NUMBER BEGIN_NS END_NS`` with a copy of the file after each. Nobody
sleeps for exactly a second, so a rate is a difference over the time between two readings, never
over the interval that was asked for.
"""

import re
from bisect import bisect
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from .._native import CaptureError
from ..errors import ArgumentError
from ..parsers.host import Snapshot, names_cpus

if TYPE_CHECKING:
    import pandas as pd

    from ..capture.bundle import Bundle

_HEAD = re.compile(r"@ [0-9]+ ([0-9]{1,18}) ([0-9]{1,18})$")
_WRAPPED = 1 << 63
# What a sample's file is called in the folders before/ and after/.
_WHOLE = {"softnet_stat": "net_softnet_stat"}
# How a file's rows are told apart, and the snapshot's table of it.
_KEYS = {
    "net_dev": ("device", "net_dev"),
    "softnet_stat": ("cpu", "softnet_stat"),
    "stat": ("cpu", "stat"),
    "interrupts": ("line", "interrupts"),
    "softirqs": ("action", "softirqs"),
}


class Reading(NamedTuple):
    """One reading of a file: between begin_ns and end_ns (CLOCK_MONOTONIC), and what it said."""

    begin_ns: int
    end_ns: int
    text: str


def readings(
    bundle: "Bundle", name: str, folder: str = "samples", sides: bool = True
) -> list[Reading]:
    """Every reading of a file of counters in a bundle, in the order of time.

    name: as in samples/ ("net_dev", "softnet_stat", "victim"; of another network namespace
    "net_dev.NAME"). folder: where the samples are; a load may leave some of its own in "files".
    sides: whether before/ and after/ are readings, too; a file there of which no stamp says when it
    was read is left out.
    """
    whole = _WHOLE.get(name, name)
    found = list(_samples(bundle.text(f"{folder}/{name}") or ""))
    if not sides:
        return sorted(found)
    for side, snapshot in (("before", bundle.before), ("after", bundle.after)):
        when, text = snapshot.reads.get(whole), bundle.text(f"{side}/{whole}")
        if when and text:
            found.append(Reading(*when, text))
    return sorted(found)


def _samples(text: str) -> Iterator[Reading]:
    when: tuple[int, int] | None = None
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        head = _HEAD.match(line)
        if head is None or int(head[2]) < int(head[1]):
            lines.append(line)
            continue
        if when:
            yield Reading(*when, "".join(lines))
        when, lines = (int(head[1]), int(head[2])), []
    # A recorder that was killed while it wrote leaves half a copy.
    if when and lines and lines[-1].endswith("\n"):
        yield Reading(*when, "".join(lines))


def _known(values: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    # A driver that counted down from 0 shows 64 bits that are none: NA, which the others outlive.
    if all(kind in ("int64", "float64") for kind in values.dtypes):
        return values
    return values.map(lambda one: pd.NA if _WRAPPED <= one < _WRAPPED * 2 else one)


def counters(
    bundle: "Bundle", name: str, folder: str = "samples", sides: bool = True
) -> "pd.DataFrame":
    """A file of counters over time: a row per reading and key, of those that _KEYS names.

    begin_ns, end_ns (when it was read), at_ns (the middle), the key, then the counters as Snapshot
    has them (by CPU number for interrupts and softirqs; NA where one needs the 64th bit). name,
    folder, sides: as readings() takes them.
    """
    import pandas as pd

    # Network namespaces have a net/dev each, and share the rest.
    kind = "net_dev" if name.startswith("net_dev.") else name
    if kind not in _KEYS:
        raise ArgumentError(f"no counters {name!r}; there are {', '.join(_KEYS)}")
    key, table = _KEYS[kind]
    frames = []
    found = readings(bundle, name, folder, sides)
    # What tells which CPUs an old softnet_stat has lines of: the last that was read before it.
    is_old = kind == "softnet_stat" and any(not names_cpus(one.text) for one in found)
    beside = readings(bundle, "stat") if is_old else []
    for begin_ns, end_ns, text in found:
        place = bisect(beside, begin_ns, key=lambda one: one.begin_ns)
        stat = beside[max(place - 1, 0)].text if beside else ""
        snapshot = Snapshot({"stat": stat, _WHOLE.get(kind, kind): text})
        frame = _known(getattr(snapshot, table)).rename_axis(key).reset_index()
        frame.insert(0, "begin_ns", begin_ns)
        frame.insert(1, "end_ns", end_ns)
        frame.insert(2, "at_ns", (begin_ns + end_ns) // 2)
        frames.append(frame)
    if not frames:
        return pd.DataFrame({"begin_ns": [], "end_ns": [], "at_ns": [], key: []}, dtype="int64")
    whole: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return whole


def deltas(counted: "pd.DataFrame") -> "pd.DataFrame":
    """What counters() grew by between each two readings, over the true time between them.

    A row per two neighbouring readings of one key: start_ns, end_ns (the middles of the two),
    interval_ns, interval_error_ns (half of what both readings took: the interval may be off by as
    much), the key, and each counter's growth. A counter that went backwards (a device or CPU made
    anew) is NA there, and so is one that a reading lacks or that needs the 64th bit. Raises
    CaptureError for a counter beyond 64 bits.
    """
    import pandas as pd

    key = str(counted.columns[3])
    values = list(counted.columns[4:])
    if counted.empty:
        columns = ["start_ns", "end_ns", "interval_ns", "interval_error_ns", key, *values]
        return pd.DataFrame({column: pd.Series(dtype="int64") for column in columns})
    rows = counted.sort_values("at_ns", kind="stable", ignore_index=True)
    # Where no CPU is known, all of them have one row.
    exact, of_key = _exact(rows, key, values), rows.groupby(key, sort=False, dropna=False)
    grown = exact - exact.groupby(rows[key], sort=False, dropna=False).shift()
    half = (rows["end_ns"] - rows["begin_ns"]) / 2
    half += half.groupby(rows[key], sort=False, dropna=False).shift(fill_value=0)
    start_ns = of_key["at_ns"].shift(fill_value=0)
    frame = pd.DataFrame(
        {
            "start_ns": start_ns,
            "end_ns": rows["at_ns"],
            "interval_ns": rows["at_ns"] - start_ns,
            "interval_error_ns": half,
            key: rows[key],
        }
    ).join(grown.mask(grown < 0))
    # The first reading of each has none before it.
    frame = frame[of_key.cumcount() > 0].astype({"interval_error_ns": "int64"})
    return frame.sort_values(["start_ns", key], kind="stable", ignore_index=True)


def _exact(rows: "pd.DataFrame", key: str, values: list[str]) -> "pd.DataFrame":
    try:
        return rows[values].astype("Int64")
    except OverflowError:
        for name, own in rows.groupby(key, sort=False, dropna=False):
            try:
                own[values].astype("Int64")
            except OverflowError:
                raise CaptureError(
                    f"a counter of {name} is larger than any counter can be"
                ) from None
        raise
