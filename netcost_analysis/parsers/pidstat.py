"""Parser for pidstat: each task's CPU time, context switches and faults, per interval."""

import re
from typing import Any

import pandas as pd

from .sysstat_text import lines_of, number, whole

# The prefix of a thread's name with -t: "|__" or the name of its process.
_THREAD = re.compile(r"^(?:\||\(.*?\))__")
_FIRST = ("UID", "USER", "PID", "TGID")
_WHOLE = {"UID": "uid", "PID": "pid", "TGID": "pid", "TID": "tid", "CPU": "cpu"}
_SIZES = {"VSZ": "vsz_kib", "RSS": "rss_kib", "StkSize": "stack_kib", "StkRef": "stack_ref_kib"}


def parse_pidstat(text: str) -> pd.DataFrame:
    """The output of pidstat with any of ``-u -w -r -d -s -t``, with or without ``-h``.

    Parameters
    ----------
    text : str
        The output, in any locale and clock format. Headings may recur with other columns; unknown
        lines are skipped.

    Returns
    -------
    pandas.DataFrame
        A row per line in the order printed: when (as printed, empty for averages), pid, tid (Int64,
        NA if not printed), uid, user if printed, cpu, comm (with its blanks), then the report's
        columns: ``%usr`` as usr_share, 0 to 1 for one CPU, ``cswch/s`` as cswch_per_s, ``RSS`` as
        rss_kib; NaN in lines under another heading.
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
            # A thread's line has "-" in place of its process.
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
