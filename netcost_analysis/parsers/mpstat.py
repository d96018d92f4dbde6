"""Parser for mpstat: each CPU's time by kind, per interval."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pandas as pd

from .._native import CaptureError
from .sysstat_text import lines_of, number, whole

KINDS = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle")
# Names in older versions.
_OLDER = {"user": "usr", "system": "sys"}


def parse_mpstat(text: str) -> pd.DataFrame:
    """CPU time in the output of mpstat, text or ``-o JSON``.

    Parameters
    ----------
    text : str
        The output, in any locale and clock format. Other reports (``-I``, ``-N``) and unknown lines
        are skipped.

    Returns
    -------
    pandas.DataFrame
        A row per interval and CPU in the order printed: interval (from 0, NA for the averages at
        the end), when (as printed), cpu (NA for all of them), and the shares (0 to 1) of the ten
        kinds, ``usr_share`` to ``idle_share``; NaN for a kind that the version does not have.

    Raises
    ------
    CaptureError
        For incomplete JSON.
    """
    records = _of_json(text) if text.lstrip()[:1] == "{" else _of_text(text)
    frame = pd.DataFrame(
        records, columns=["interval", "when", "cpu", *(f"{kind}_share" for kind in KINDS)]
    )
    types = {f"{kind}_share": "float64" for kind in KINDS}
    return frame.astype({"interval": "Int64", "cpu": "Int64", **types})


def _of_text(text: str) -> list[list[Any]]:
    records: list[list[Any]] = []
    interval, last = -1, None
    for line in lines_of(text, ("CPU",), wide=False):
        shares = {
            _OLDER.get(name[1:], name[1:]): number(word)
            for name, word in line.words.items()
            if name[:1] == "%"
        }
        cpu = line.words["CPU"]
        if "idle" not in shares or None in shares.values() or not (cpu == "all" or cpu.isdigit()):
            continue
        # An interval begins with "all", or without such lines when the time changes.
        interval += bool(line.when) and (cpu == "all" or line.when != last)
        last = line.when
        records.append(_record(interval if line.when else None, line.when, cpu, shares))
    return records


class _Interval(msgspec.Struct):
    loads: list[dict[str, Any]] = msgspec.field(name="cpu-load", default_factory=list)
    timestamp: str = ""


class _Host(msgspec.Struct):
    statistics: list[_Interval]


class _Sysstat(msgspec.Struct):
    hosts: list[_Host]


class _Output(msgspec.Struct):
    sysstat: _Sysstat


def _of_json(text: str) -> list[list[Any]]:
    try:
        hosts = msgspec.json.decode(text, type=_Output).sysstat.hosts
        intervals = [interval for host in hosts for interval in host.statistics]
        return [
            _record(
                number,
                interval.timestamp,
                str(load["cpu"]),
                {kind: float(load[kind]) for kind in KINDS if kind in load},
            )
            for number, interval in enumerate(intervals)
            for load in interval.loads
        ]
    except (
        msgspec.MsgspecError,
        ArithmeticError,
        ValueError,
        TypeError,
        LookupError,
        RecursionError,
    ):
        raise CaptureError("mpstat's output is not complete JSON: was mpstat killed?") from None


def _record(
    interval: int | None, when: str, cpu: str, shares: Mapping[str, float | None]
) -> list[Any]:
    percent = map(shares.get, KINDS)
    shown = (None if value is None else value / 100 for value in percent)
    return [interval, when, whole(cpu), *shown]
