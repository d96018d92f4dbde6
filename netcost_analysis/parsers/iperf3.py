"""What `iperf3 --json` wrote, of either side."""

import json
from typing import Any, NamedTuple

import pandas as pd

from .._native import CaptureError

_TOTALS = {
    "seconds": "seconds",
    "bytes": "bytes",
    "bits_per_second": "bits_per_s",
    "retransmits": "retransmits",
    "packets": "packets",
    "lost_packets": "lost_packets",
    "jitter_ms": "jitter_ms",
}
# What --bidir calls the direction from the server.
_OTHER = "_bidir_reverse"
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

    Notes
    -----
    Source: iperf_api.c of iperf3 3.1 to 3.18.
    """
    run = _run(text)
    if run is None:
        raise CaptureError("iperf3 left no JSON there")
    try:
        return _made(run)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise CaptureError(f"no run of iperf3: {type(error).__name__} at {error}") from None


def _run(text: str) -> dict[str, Any] | None:
    decoder = json.JSONDecoder()
    run: dict[str, Any] | None = None
    stream: dict[str, Any] = {}
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            # A brace in a message; those of a broken document are looked at line by line.
            at = text.find("\n{", at)
            at += at >= 0
            continue
        if isinstance(value, dict) and isinstance(value.get("event"), str):
            _add(stream, value)
            run = stream
        elif isinstance(value, dict) and {"start", "end", "error"} & set(value):
            run = value
        at = text.find("{", end)
    return run


def _add(stream: dict[str, Any], value: dict[str, Any]) -> None:
    # An event of --json-stream takes its place in the document that --json would have written.
    kind, data = value["event"], value.get("data")
    if kind == "start":
        stream.clear()
    if kind == "interval":
        stream.setdefault("intervals", []).append(data)
    else:
        stream[kind] = data


def _made(run: dict[str, Any]) -> Iperf3:
    start, end = run.get("start") or {}, run.get("end") or {}
    test = start.get("test_start") or {}
    cpu = end.get("cpu_utilization_percent") or {}
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
            | {"is_omitted": bool(one.get("omitted")), "is_sender": bool(one.get("sender", True))}
            for one in sums
        ]
    )
    # Before 3.? a UDP run had one sum: the sender's, with what the receiver told of losses.
    ends = {"sent": end.get("sum_sent") or end.get("sum"), "received": end.get("sum_received")}
    ends |= {f"{name}_reverse": end.get(f"sum_{name}{_OTHER}") for name in ("sent", "received")}
    totals = pd.DataFrame.from_dict(
        {name: _counted(one) for name, one in ends.items() if one}, orient="index"
    )
    return Iperf3(
        version=str(start.get("version", "")).removeprefix("iperf "),
        protocol=str(test.get("protocol", "")),
        is_server="connecting_to" not in start and "accepted_connection" in start,
        is_reverse=bool(test.get("reverse")),
        error=None if run.get("error") is None else str(run["error"]),
        intervals=intervals,
        totals=totals,
        cpu={f"{name}_share": float(cpu[name]) / 100 for name in _ENDS if name in cpu},
    )


def _counted(one: dict[str, Any]) -> dict[str, float]:
    return {ours: float(one[theirs]) for theirs, ours in _TOTALS.items() if theirs in one}
