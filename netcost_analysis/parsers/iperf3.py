"""Parser for `iperf3 --json`, client or server."""

import json
import math
from contextlib import suppress
from typing import Any, NamedTuple

import pandas as pd
from msgspec import UNSET, Struct, UnsetType, ValidationError, convert

from .._native import CaptureError

_TOTALS = (
    *("seconds", "bytes", "bits_per_second", "retransmits", "packets", "lost_packets"),
    "jitter_ms",
)
# Give up on nested broken documents after reading this many times the length of the text.
_MAX_READINGS = 8
# The most characters of a broken line in an error.
_SHOWN = 60
_ENDS = ("host_total", "host_user", "host_system", "remote_total", "remote_user", "remote_system")


class Iperf3(NamedTuple):
    """One run of iperf3.

    Attributes
    ----------
    version, protocol : str
        The version of iperf3; TCP, UDP or SCTP.
    is_server, is_reverse : bool
        Whether this side was the server; whether the server sent.
    error : str or None
        The error that iperf3 reported, None if there was none.
    intervals : pandas.DataFrame
        A row per interval over all streams: start_s, end_s, bytes, bits_per_s, is_omitted,
        is_sender, and if counted retransmits, packets, lost_packets, jitter_ms.
    totals : pandas.DataFrame
        The same over the whole run. Rows sent and received, and under --bidir sent_reverse and
        received_reverse for what the server sent.
    cpu : dict of str to float
        Shares of one CPU, total, user and system, host_ for this side and remote_ for the peer. By
        clock(3) and getrusage(2), that is by the kernel's accounting.
    """

    version: str
    protocol: str
    is_server: bool
    is_reverse: bool
    error: str | None
    intervals: pd.DataFrame
    totals: pd.DataFrame
    cpu: dict[str, float]


class _Sum(Struct):
    start: float | None = None
    end: float | None = None
    seconds: float | None = None
    bytes: float | None = None
    bits_per_second: float | None = None
    retransmits: float | None = None
    packets: float | None = None
    lost_packets: float | None = None
    jitter_ms: float | None = None
    omitted: bool = False
    sender: bool | None = None


class _Interval(Struct):
    # With --bidir there is a sum for each direction.
    sum: _Sum | None = None
    sum_bidir_reverse: _Sum | None = None


class _Test(Struct):
    protocol: str = ""
    reverse: int | bool = 0


class _Start(Struct):
    version: str = ""
    test_start: _Test | None = None
    connecting_to: Any | UnsetType = UNSET
    accepted_connection: Any | UnsetType = UNSET


class _End(Struct):
    # Older versions give a UDP run one sum: the sender's, with the losses the receiver reported.
    sum: _Sum | None = None
    sum_sent: _Sum | None = None
    sum_received: _Sum | None = None
    sum_sent_bidir_reverse: _Sum | None = None
    sum_received_bidir_reverse: _Sum | None = None
    cpu_utilization_percent: dict[str, float] | None = None


class _Run(Struct):
    start: _Start | None = None
    intervals: list[_Interval] | None = None
    end: _End | None = None
    error: Any = None


def parse_iperf3(text: str) -> Iperf3:
    """The last run in the output of iperf3 with ``--json`` or ``--json-stream``.

    Source: iperf_api.c of iperf3 3.1 to 3.18.

    Parameters
    ----------
    text : str
        The output. Anything before the JSON, like messages of a shell or iperf3, is skipped.

    Returns
    -------
    Iperf3
        The run. A failed one has error set, and what it measured until then.

    Raises
    ------
    CaptureError
        If there is no run.
    """
    runs = _runs(text)
    if not runs:
        raise CaptureError(_why_none(text))
    return _made(runs[-1])


def _why_none(text: str) -> str:
    at = text.find("{")
    if at < 0:
        return "iperf3 wrote no JSON: run it with --json"
    try:
        json.loads(text[at:])
    except json.JSONDecodeError as error:
        number = text.count("\n", 0, at) + error.lineno
        if not error.doc[error.pos :].strip():
            return f"the JSON of iperf3 is cut off in line {number}"
        line = error.doc.split("\n")[error.lineno - 1].strip()[:_SHOWN]
        return f"the output of iperf3 is not JSON: line {number} is {line!r}"
    except (ValueError, RecursionError):
        return "the JSON of iperf3 is damaged: a number or a bracket has no end"
    return "the JSON holds no run of iperf3"


def iperf3_sent(text: str) -> tuple[int | None, int | None]:
    """The bytes and packets that this side sent, over all intervals of all runs in a text.

    None if not counted: in other text, and packets for TCP. Includes the seconds of --omit, which
    iperf3's own totals leave out, and what an interrupted run had sent by then.
    """
    sent = []
    for run in _runs(text):
        with suppress(CaptureError):
            intervals = _made(run).intervals
            sent.append(intervals[intervals["is_sender"]] if len(intervals) else intervals)
    return _total(sent, "bytes"), _total(sent, "packets")


def _total(parts: list[pd.DataFrame], name: str) -> int | None:
    counts = [count for part in parts if name in part for count in part[name].dropna()]
    return int(sum(counts)) if counts else None


def _runs(text: str) -> list[dict[str, Any]]:
    decoder = json.JSONDecoder()
    runs: list[dict[str, Any]] = []
    stream: dict[str, Any] | None = None
    at, read = text.find("{"), 0
    while at >= 0 and read <= _MAX_READINGS * len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            # Either a brace in a message or a broken document: go on at the next line that begins
            # with a brace.
            read += error.pos - at
            at = text.find("\n{", at)
            at += at >= 0
            continue
        except (ValueError, RecursionError):
            # iperf3 writes neither such deep nesting nor such long numbers.
            break
        if isinstance(value, dict) and isinstance(value.get("event"), str):
            if stream is None or value["event"] == "start":
                stream = {}
                runs.append(stream)
            # Collect the events into the document that --json would have written.
            if value["event"] == "interval":
                stream.setdefault("intervals", []).append(value.get("data"))
            else:
                stream[value["event"]] = value.get("data")
        elif isinstance(value, dict) and {"start", "end", "error"} & set(value):
            if stream is not None and stream.get("start") == value.get("start"):
                # --json-stream-full-output repeats the whole document.
                runs.pop()
            runs.append(value)
            stream = None
        at = text.find("{", end)
    return runs


def _made(run: dict[str, Any]) -> Iperf3:
    try:
        return _of_run(convert(run, _Run))
    except (ValidationError, ValueError, OverflowError) as error:
        raise CaptureError(f"not a run of iperf3: {error}") from None


def _of_run(run: _Run) -> Iperf3:
    start, end = run.start or _Start(), run.end or _End()
    test, cpu = start.test_start or _Test(), end.cpu_utilization_percent or {}
    is_server = start.connecting_to is UNSET and start.accepted_connection is not UNSET
    is_reverse = bool(test.reverse)
    sums = [
        total
        for interval in run.intervals or ()
        for total in (interval.sum, interval.sum_bidir_reverse)
        if total and total.start is not None and total.end is not None
    ]
    intervals = pd.DataFrame(
        [
            {"start_s": total.start, "end_s": total.end}
            | _counted(total)
            | {
                "is_omitted": total.omitted,
                "is_sender": is_server == is_reverse if total.sender is None else total.sender,
            }
            for total in sums
        ]
    )
    ends = {
        "sent": _given(end.sum_sent) or _given(end.sum),
        "received": _given(end.sum_received),
        "sent_reverse": _given(end.sum_sent_bidir_reverse),
        "received_reverse": _given(end.sum_received_bidir_reverse),
    }
    return Iperf3(
        version=start.version.removeprefix("iperf "),
        protocol=test.protocol,
        is_server=is_server,
        is_reverse=is_reverse,
        error=None if run.error is None else str(run.error),
        intervals=intervals,
        totals=pd.DataFrame.from_dict(
            {name: _counted(total) for name, total in ends.items() if total}, orient="index"
        ),
        cpu={f"{name}_share": cpu[name] / 100 for name in _ENDS if name in cpu},
    )


def _given(total: _Sum | None) -> _Sum | None:
    # Treats an empty sum as absent.
    return total if total is not None and _counted(total) else None


def _counted(total: _Sum) -> dict[str, float]:
    values = {name: getattr(total, name) for name in _TOTALS}
    counted = {
        name.replace("_per_second", "_per_s"): value
        for name, value in values.items()
        if value is not None
    }
    if not all(map(math.isfinite, counted.values())):
        raise ValueError("a count that is not a number")
    return counted
