"""What `iperf3 --json` wrote, of either side."""

import json
import math
from contextlib import suppress
from typing import Any, NamedTuple

import pandas as pd

from .._native import CaptureError

_TOTALS = (
    *("seconds", "bytes", "bits_per_second", "retransmits", "packets", "lost_packets"),
    "jitter_ms",
)
# What --bidir calls the direction from the server.
_OTHER = "_bidir_reverse"
# A text of broken documents within each other is given up once so many times its length was read.
_MAX_READINGS = 8
# Of a line that is no JSON.
_SHOWN = 60
_ENDS = ("host_total", "host_user", "host_system", "remote_total", "remote_user", "remote_system")


class Iperf3(NamedTuple):
    """One run of iperf3.

    Attributes
    ----------
    version, protocol : str
        Of iperf3; TCP, UDP or SCTP.
    is_server, is_reverse : bool
        Whether this side was the server; whether the server sent.
    error : str or None
        What it said went wrong, None for nothing.
    intervals : pandas.DataFrame
        A row per interval over all streams: start_s, end_s, bytes, bits_per_s, is_omitted,
        is_sender, and where it counts them retransmits, packets, lost_packets, jitter_ms.
    totals : pandas.DataFrame
        The same from start to end, rows sent and received, and under --bidir sent_reverse and
        received_reverse for what the server sent.
    cpu : dict of str to float
        Shares of one CPU, host_ this side's, remote_ the peer's, of total, user and system; by
        clock(3) and getrusage(2), so by the kernel's accounting.
    """

    version: str
    protocol: str
    is_server: bool
    is_reverse: bool
    error: str | None
    intervals: pd.DataFrame
    totals: pd.DataFrame
    cpu: dict[str, float]


def parse_iperf3(text: str) -> Iperf3:
    """The last run in what iperf3 wrote with ``--json`` or ``--json-stream``.

    Source: iperf_api.c of iperf3 3.1 to 3.18.

    Parameters
    ----------
    text : str
        Its output. Whatever stands before its JSON, as messages of a shell or of iperf3 itself, is
        passed over.

    Returns
    -------
    Iperf3
        The run; one that failed has error set and what it had measured.

    Raises
    ------
    CaptureError
        Where there is none.
    """
    runs = _runs(text)
    if not runs:
        raise CaptureError(_why_none(text))
    return _made(runs[-1])


def _why_none(text: str) -> str:
    at = text.find("{")
    if at < 0:
        return "iperf3 left no JSON there: --json makes it write some"
    try:
        json.loads(text[at:])
    except json.JSONDecodeError as error:
        line = error.doc.splitlines()[error.lineno - 1].strip()[:_SHOWN]
        number = text.count("\n", 0, at) + error.lineno
        return f"what iperf3 left is no JSON: line {number} is {line!r}"
    except (ValueError, RecursionError):
        return "what iperf3 left is no JSON that it writes: a number or a nesting has no end"
    return "there is JSON, but no run of iperf3 in it"


def iperf3_sent(text: str) -> tuple[int | None, int | None]:
    """Bytes and packets that whoever wrote a text sent, in all intervals of all runs there.

    None where none were counted: of other text, and packets of TCP. With the seconds of --omit,
    which iperf3's own totals leave out; of a run that was interrupted what it had sent by then.
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
            # A brace in a message; those of a broken document are looked at line by line.
            read += error.pos - at
            at = text.find("\n{", at)
            at += at >= 0
            continue
        except (ValueError, RecursionError):
            # Deeper, or with longer numbers, than iperf3 writes.
            break
        if isinstance(value, dict) and isinstance(value.get("event"), str):
            if stream is None or value["event"] == "start":
                stream = {}
                runs.append(stream)
            # It takes its place in the document that --json would have written.
            if value["event"] == "interval":
                stream.setdefault("intervals", []).append(value.get("data"))
            else:
                stream[value["event"]] = value.get("data")
        elif isinstance(value, dict) and {"start", "end", "error"} & set(value):
            if stream is not None and stream.get("start") == value.get("start"):
                # --json-stream-full-output says it all once more.
                runs.pop()
            runs.append(value)
            stream = None
        at = text.find("{", end)
    return runs


def _made(run: dict[str, Any]) -> Iperf3:
    try:
        return _read(run)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise CaptureError(f"no run of iperf3: {type(error).__name__} at {error}") from None


def _read(run: dict[str, Any]) -> Iperf3:
    start, end = run.get("start") or {}, run.get("end") or {}
    test, cpu = start.get("test_start") or {}, end.get("cpu_utilization_percent") or {}
    is_reverse = bool(test.get("reverse"))
    is_server = "connecting_to" not in start and "accepted_connection" in start
    # With --bidir each interval has a sum of either direction.
    sums = [
        one[name]
        for one in run.get("intervals") or ()
        for name in ("sum", f"sum{_OTHER}")
        if one.get(name)
    ]
    intervals = pd.DataFrame(
        [
            {"start_s": float(one["start"]), "end_s": float(one["end"])}
            | _counted(one)
            | {
                "is_omitted": bool(one.get("omitted")),
                "is_sender": bool(one.get("sender", is_server == is_reverse)),
            }
            for one in sums
        ]
    )
    # Older versions give a UDP run one sum: the sender's, with what the receiver told of losses.
    ends = {"sent": end.get("sum_sent") or end.get("sum"), "received": end.get("sum_received")}
    ends |= {f"{name}_reverse": end.get(f"sum_{name}{_OTHER}") for name in ("sent", "received")}
    totals = pd.DataFrame.from_dict(
        {name: _counted(one) for name, one in ends.items() if one}, orient="index"
    )
    return Iperf3(
        version=str(start.get("version", "")).removeprefix("iperf "),
        protocol=str(test.get("protocol", "")),
        is_server=is_server,
        is_reverse=is_reverse,
        error=None if run.get("error") is None else str(run["error"]),
        intervals=intervals,
        totals=totals,
        cpu={f"{name}_share": float(cpu[name]) / 100 for name in _ENDS if name in cpu},
    )


def _counted(one: dict[str, Any]) -> dict[str, float]:
    counted = {
        name.replace("_per_second", "_per_s"): float(one[name]) for name in _TOTALS if name in one
    }
    if not all(map(math.isfinite, counted.values())):
        raise ValueError("a count that is no number")
    return counted
