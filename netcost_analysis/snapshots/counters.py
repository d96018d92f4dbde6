"""The host's counters over time, each with the times at which its reading began and ended.

A bundle has /proc from before and after the recording and, if netcost-record sampled, in between:
``samples/FILE`` has lines ``@ NUMBER BEGIN_NS END_NS``, each followed by a copy of the file. No
sleep lasts exactly a second, so a rate is a difference over the time between two readings, never
over the requested interval.
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
# The name of a sampled file in the folders before/ and after/, if it differs.
_IN_SNAPSHOT = {"softnet_stat": "net_softnet_stat"}
# The key of a file's rows, and its table in Snapshot.
_KEYS = {
    "net_dev": ("device", "net_dev"),
    "softnet_stat": ("cpu", "softnet_stat"),
    "stat": ("cpu", "stat"),
    "interrupts": ("line", "interrupts"),
    "softirqs": ("action", "softirqs"),
}


class Reading(NamedTuple):
    """One reading of a file, between begin_ns and end_ns (CLOCK_MONOTONIC), and its text."""

    begin_ns: int
    end_ns: int
    text: str


def readings(
    bundle: "Bundle", name: str, folder: str = "samples", sides: bool = True
) -> list[Reading]:
    """Every reading of a file of counters in a bundle, in order of time.

    name: as in samples/ ("net_dev", "softnet_stat", "victim"; "net_dev.NAME" for another network
    namespace). folder: the folder of the samples; a load may write its own to "files". sides:
    include before/ and after/, except files there without a stamp of when they were read.
    """
    file = _IN_SNAPSHOT.get(name, name)
    every = list(_samples(bundle.text(f"{folder}/{name}") or ""))
    if not sides:
        return sorted(every)
    for side, snapshot in (("before", bundle.before), ("after", bundle.after)):
        when, text = snapshot.reads.get(file), bundle.text(f"{side}/{file}")
        if when and text:
            every.append(Reading(*when, text))
    return sorted(every)


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
    # A recorder that was killed while writing leaves half a copy.
    if when and lines and lines[-1].endswith("\n"):
        yield Reading(*when, "".join(lines))


def _known(values: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    # A driver that decrements a counter below 0 makes it wrap to 64 bits. Only that one becomes NA.
    if all(kind in ("int64", "float64") for kind in values.dtypes):
        return values
    return values.map(lambda count: pd.NA if _WRAPPED <= count < _WRAPPED * 2 else count)


def counters(
    bundle: "Bundle", name: str, folder: str = "samples", sides: bool = True
) -> "pd.DataFrame":
    """A file of counters over time, one of _KEYS: a row per reading and key.

    Columns: begin_ns, end_ns (of the reading), at_ns (the middle), the key, then the counters as in
    Snapshot (by CPU number for interrupts and softirqs; NA if one needs the 64th bit). name,
    folder, sides: as for readings().
    """
    import pandas as pd

    # Network namespaces have a net/dev each, and share the rest.
    kind = "net_dev" if name.startswith("net_dev.") else name
    if kind not in _KEYS:
        raise ArgumentError(f"no counters {name!r}; there are {', '.join(_KEYS)}")
    key, table = _KEYS[kind]
    frames = []
    every = readings(bundle, name, folder, sides)
    # An old softnet_stat does not name CPUs; the last stat read before it shows which were online.
    is_old = kind == "softnet_stat" and any(not names_cpus(reading.text) for reading in every)
    stats = readings(bundle, "stat") if is_old else []
    for begin_ns, end_ns, text in every:
        place = bisect(stats, begin_ns, key=lambda reading: reading.begin_ns)
        stat = stats[max(place - 1, 0)].text if stats else ""
        snapshot = Snapshot({"stat": stat, _IN_SNAPSHOT.get(kind, kind): text})
        frame = _known(getattr(snapshot, table)).rename_axis(key).reset_index()
        frame.insert(0, "begin_ns", begin_ns)
        frame.insert(1, "end_ns", end_ns)
        frame.insert(2, "at_ns", (begin_ns + end_ns) // 2)
        frames.append(frame)
    if not frames:
        return pd.DataFrame({"begin_ns": [], "end_ns": [], "at_ns": [], key: []}, dtype="int64")
    counted: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return counted


def deltas(counted: "pd.DataFrame") -> "pd.DataFrame":
    """The growth of counters() between consecutive readings, and the true time between them.

    A row per two consecutive readings of one key: start_ns, end_ns (the middles of the two),
    interval_ns, interval_error_ns (half the duration of both readings, by which the interval may be
    off), the key, and each counter's growth. The growth is NA if a counter went backwards (the
    device or CPU was created anew), if a reading lacks it, or if it needs the 64th bit. Raises
    CaptureError for a counter beyond 64 bits.
    """
    import pandas as pd

    key = str(counted.columns[3])
    values = list(counted.columns[4:])
    if counted.empty:
        columns = ["start_ns", "end_ns", "interval_ns", "interval_error_ns", key, *values]
        return pd.DataFrame({column: pd.Series(dtype="int64") for column in columns})
    rows = counted.sort_values("at_ns", kind="stable", ignore_index=True)
    # Without known CPUs there is one row, whose key is null: keep it.
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
    # The first reading of each key has no predecessor.
    frame = frame[of_key.cumcount() > 0].astype({"interval_error_ns": "int64"})
    return frame.sort_values(["start_ns", key], kind="stable", ignore_index=True)


def _exact(rows: "pd.DataFrame", key: str, values: list[str]) -> "pd.DataFrame":
    try:
        return rows[values].astype("Int64")
    except OverflowError:
        for name, group in rows.groupby(key, sort=False, dropna=False):
            try:
                group[values].astype("Int64")
            except OverflowError:
                raise CaptureError(
                    f"a counter of {name} is larger than any counter can be"
                ) from None
        raise
