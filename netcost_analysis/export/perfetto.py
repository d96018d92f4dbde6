"""A timeline as a trace for Perfetto: its events, and the ledger's owners as tracks.

docs/perfetto.md says what it shows. Native code writes it.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..capture.checksum import file_of
from ..errors import ArgumentError
from ..files import replacing
from ..progress import Amount, progress
from ..timeline.owners import of_tasks, sums_by_thief, within_figures
from ..timeline.task import ALL, Group, Task, label_of, require_task, rows_of
from ..timeline.task_groups import named, recorded_victim
from ..units import round_width

if TYPE_CHECKING:
    import pandas as pd

    from ..timeline.timeline import Timeline

# netcost convert writes a trace to a file with one of these suffixes, which Perfetto uses too.
SUFFIXES = (".perfetto-trace", ".pftrace")
# Name, unit, times in ns and values.
_Counter = tuple[str, str, list[int], list[float]]
# A counter has at most about this many values.
_BINS = 500


@dataclass(frozen=True)
class PerfettoTrace:
    """A trace that was written.

    Attributes
    ----------
    path : str
        Its path.
    bytes, events, slices, slice_bytes : int
        Its size, its events, and the slices of the ledger's tracks with their size.
    counters : tuple of str
        Names of the counters.
    notes : list of str
        What it lacks, and the timeline's notes.
    """

    path: str
    bytes: int
    events: int
    slices: int
    slice_bytes: int
    counters: tuple[str, ...]
    notes: list[str]


def require_free(path: str | Path, overwrite: bool) -> None:
    """Raise ArgumentError for an existing path, unless it is a file to be replaced."""
    place = Path(path)
    if not os.path.lexists(place):
        return
    if place.is_symlink() or not place.is_file():
        raise ArgumentError(f"{place} exists and is not a file: choose another name")
    if not overwrite:
        raise ArgumentError(f"{place} exists: --overwrite (overwrite=True) replaces it")


def to_perfetto(
    timeline: "Timeline",
    path: str | Path,
    victims: Sequence[Task] | None = None,
    *,
    overwrite: bool = False,
) -> PerfettoTrace:
    """Write a trace for Perfetto, all or nothing, like netcost convert.

    It has the recording's events and the owners of each CPU. Memory does not grow with the
    capture. What it shows and how to open it: docs/perfetto.md.

    Parameters
    ----------
    path : str or Path
        A new file.
    victims : sequence of int or str, optional
        Tasks to show counters of, by tid or comm. By default, the victim that the timeline was
        given, or else the bundle's, if it ran.
    overwrite : bool
        Replace an existing file.

    Returns
    -------
    PerfettoTrace
        What was written.

    Raises
    ------
    ValueError
        For an existing path, unless it is a file to be replaced.
    CaptureError
        If CPU time cannot be assigned to owners.
    AbsentError
        For a victim that did not run.
    OSError
        If it cannot be written. Then nothing is.
    """
    require_free(path, overwrite)
    capture = timeline.capture
    chosen = _recorded(timeline) if victims is None else _given(timeline, victims)
    notes = list(timeline.notes)
    shown, why = _counters(timeline, {_name(timeline, victim): victim for victim in chosen})
    if not chosen:
        why = "no counters of a victim: none was given, and the bundle names none that ran"
    file = file_of(capture)
    amount = Amount(capture.event_count, file.stat().st_size if file else 0)
    with replacing(path) as draft, progress("writing the trace", amount) as advance:
        done = capture.native.perfetto(str(draft), shown, progress=advance, **timeline.selection)
        # Another process may have created the file meanwhile.
        require_free(path, overwrite)
    notes += [*done["notes"], *([why] if why else [])]
    return PerfettoTrace(
        path=str(path),
        **{name: done[name] for name in ("bytes", "events", "slices", "slice_bytes")},
        counters=tuple(name for name, *_ in shown),
        notes=notes,
    )


def _name(timeline: "Timeline", victim: Task) -> str:
    # Two groups may have tasks with the same name.
    name = str(label_of(timeline, victim))
    if not isinstance(victim, Group):
        return name
    return str(victim) if name in victim else f"{name} ({victim})"


def _given(timeline: "Timeline", victims: Sequence[Task]) -> list[Task]:
    chosen: list[Task] = []
    for victim in victims:
        if victim == ALL:
            raise ArgumentError("a counter needs one task, or tasks of one name")
        task = named(timeline, victim)
        require_task(timeline, task)
        if task is not None and task not in chosen:
            chosen.append(task)
    return chosen


def _recorded(timeline: "Timeline") -> list[Task]:
    # The victim that the timeline was given, or else the bundle's.
    if timeline.given_victim is not None:
        return _given(timeline, [timeline.given_victim])
    names = [row.comm for row in timeline.owned_by() if row.of_task]
    victim = recorded_victim(timeline, names)
    return [] if victim is None else [victim]


def _counters(
    timeline: "Timeline", victims: Mapping[str, Task]
) -> tuple[list[_Counter], str | None]:
    # Each victim's stolen share and time on CPU, or why there are none. victims: by name. A value
    # holds from the start of its bin. Bins begin at multiples of their width on the clock.
    if not victims or not timeline.duration_ns:
        return [], None
    if timeline.missing["on_cpu"]:
        return [], f"no counters of a victim: {timeline.missing['on_cpu']}"
    width = round_width(timeline.duration_ns, _BINS)
    sums = timeline.sums(width)
    rows = of_tasks(sums_by_thief(sums, "comm"))
    rows = rows.assign(bin_ns=sums["bin_ns"].loc[rows.index])
    counters = []
    for name, victim in victims.items():
        counters += _counters_of(timeline, rows_of(rows, victim), name, width)
    return counters, None


def _counters_of(
    timeline: "Timeline", rows: "pd.DataFrame", name: str, width: int
) -> list[_Counter]:
    import numpy as np

    start, end = (int(timeline.summary[edge]) for edge in ("start_ns", "end_ns"))
    bins = np.arange(start // width * width, end, width)
    what = within_figures(rows)
    on_cpu, stolen, most = (
        rows["ns"]
        .where(what[measure], 0)
        .groupby(rows["bin_ns"])
        .sum()
        .reindex(bins, fill_value=0)
        .to_numpy("int64")
        for measure in ("on_cpu_ns", "stolen_ns", "stolen_max_ns")
    )
    times = np.maximum(bins, start)
    lengths = np.minimum(bins + width, end) - times

    def percent(part: "np.ndarray", total: "np.ndarray") -> list[float]:
        # No time on CPU gives 0 %.
        return (100.0 * part / np.maximum(total, 1)).tolist()  # type: ignore[no-any-return]

    at = times.tolist()
    shares = [(f"{name}: stolen", stolen)]
    if (most != stolen).any():
        shares.append((f"{name}: stolen at most", most))
    return [
        *((label, "% of its time on CPU", at, percent(part, on_cpu)) for label, part in shares),
        (f"{name}: on CPU", "% of a CPU", at, percent(on_cpu, lengths)),
    ]
