"""What pidstat wrote: each task's CPU time, context switches, faults, an interval at a time."""

import re
from typing import Any

import pandas as pd

from .sysstat_text import lines_of, number, whole

# Before a thread's name with -t: "|__" or the name of its process.
_THREAD = re.compile(r"^(?:\||\(.*?\))__")
_FIRST = ("UID", "USER", "PID", "TGID")
_WHOLE = {"UID": "uid", "PID": "pid", "TGID": "pid", "TID": "tid", "CPU": "cpu"}
_SIZES = {"VSZ": "vsz_kib", "RSS": "rss_kib", "StkSize": "stack_kib", "StkRef": "stack_ref_kib"}


def parse_pidstat(text: str) -> pd.DataFrame:
    """What pidstat wrote, with ``-h`` or without, of any of ``-u -w -r -d -s -t``.

    Parameters
    ----------
    text : str
        Its output, of any locale and clock. Headings may come again, with other columns, and lines
        that are none of its are passed over.

    Returns
    -------
    pandas.DataFrame
        A row per line in the order printed: when (as printed, empty for averages), pid, tid (Int64,
        NA where it printed none), uid, user where printed, cpu, comm (with its blanks), then its
        columns: ``%usr`` as usr_share, 0 to 1 for one CPU, ``cswch/s`` as cswch_per_s, ``RSS`` as
        rss_kib; NaN in lines of another heading.
    """
    records = [
        record
        for line in lines_of(text, _FIRST, wide=True)
        if (record := _record(line.when, line.words)) is not None
    ]
    frame = pd.DataFrame(records)
    first = ["when", "pid", "tid", "uid", "cpu", "comm"]
    for name in first:
        if name not in frame:
            frame[name] = pd.Series([None] * len(frame), dtype="object")
    frame = frame.astype(dict.fromkeys(("pid", "tid", "uid", "cpu"), "Int64"))
    return frame[[*first, *(name for name in frame if name not in first)]]


def _record(when: str, words: dict[str, str]) -> dict[str, Any] | None:
    record: dict[str, Any] = {"when": when}
    for name, word in words.items():
        if name == "Command":
            record["comm"] = _THREAD.sub("", word)
        elif name == "USER":
            record["user"] = word
        elif name in _WHOLE:
            # A thread's line has "-" for its process.
            if word != "-":
                record[_WHOLE[name]] = whole(word)
                if record[_WHOLE[name]] is None:
                    return None
        else:
            value = number(word)
            if value is None:
                return None
            record[_name(name)] = value / 100 if name[:1] == "%" else value
    return record if "comm" in record else None


def _name(column: str) -> str:
    if column[:1] == "%":
        return f"{column[1:].lower()}_share"
    return _SIZES.get(column) or column.replace("/s", "_per_s")
