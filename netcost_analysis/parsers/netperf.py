"""Parser for netperf: classic tables, and an omni test's key=value, JSON, CSV and columns."""

import itertools
import json
import re
from typing import NamedTuple

from .._native import CaptureError

_BANNER = re.compile(
    r"(?P<test>(?:TCP|UDP|SCTP|DCCP)[ _](?:STREAM|MAERTS|SENDFILE|REQUEST/RESPONSE|RR|CRR"
    r"|Connect/Request/Response))(?: TEST)?",
    re.IGNORECASE,
)
_OMNI = re.compile(r"^OMNI .{1,40} TEST ", re.MULTILINE)
_SHORT = {"REQUEST/RESPONSE": "RR", "CONNECT/REQUEST/RESPONSE": "CRR"}
_NUMBERS = re.compile(r"[\s0-9.+-]*[0-9][\s0-9.+-]*$")
_KEY = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)$")
_MISSED = re.compile(r"^!!! [Dd]esired confidence was not achieved", re.MULTILINE)
_WIDTH = re.compile(
    r"^!!!(?: Confidence intervals:)?\s*([A-Za-z][\w ]*?)\s*:\s*([0-9.]+)\s*%", re.M
)


class Netperf(NamedTuple):
    """One result of netperf.

    Attributes
    ----------
    test, units : str
        TCP_STREAM, UDP_RR, ... or omni; 10^6bits/s, MBytes/s or transactions/s.
    throughput : float
        The throughput, in units.
    elapsed_s, received : float or None
        How long it ran, if printed; for UDP_STREAM what the receiver got.
    values : dict of str to str
        All named values, as text.
    confidence : dict of str to float
        The width of each confidence interval as a share of its mean, if netperf warned.
    is_confident : bool
        Whether it reached the requested confidence (true if none was requested).
    """

    test: str
    throughput: float
    units: str
    elapsed_s: float | None
    received: float | None
    values: dict[str, str]
    confidence: dict[str, float]
    is_confident: bool


def parse_netperf(text: str) -> Netperf:
    """The result in netperf's output: a classic test's table, or omni's ``-k``, ``-o``, ``-O``.

    Source: nettest_bsd.c, nettest_omni.c of netperf 2.7.

    Parameters
    ----------
    text : str
        The output.

    Returns
    -------
    Netperf
        The result.

    Raises
    ------
    CaptureError
        If there is no result.
    """
    values = _named(text) or _headed(text)
    widths = {name.lower(): float(width) / 100 for name, width in _WIDTH.findall(text)}
    banner = _BANNER.search(text)
    test = _short(banner["test"]) if banner else "omni"
    try:
        if "THROUGHPUT" in values:
            throughput, received = float(values["THROUGHPUT"]), None
            elapsed_s = float(values["ELAPSED_TIME"]) if values.get("ELAPSED_TIME") else None
            units = values.get("THROUGHPUT_UNITS", "10^6bits/s")
            # The unit of the classic tables.
            units = "transactions/s" if units == "Trans/s" else units
        else:
            throughput, elapsed_s, received, values = _table(text, test)
            named = re.search(r"10\^[0-9]+bits/s|[KMG]?Bytes/s", text)
            units = named[0] if named else "10^6bits/s"
            units = "transactions/s" if test.endswith("RR") else units
    except (ValueError, IndexError):
        raise CaptureError("netperf wrote no result") from None
    return Netperf(
        test=values.get("PROTOCOL_TEST", test),
        throughput=throughput,
        units=units,
        elapsed_s=elapsed_s,
        received=received,
        values=values,
        confidence=widths,
        is_confident=not _MISSED.search(text),
    )


def _short(name: str) -> str:
    protocol, kind = re.split("[ _]", name.upper(), maxsplit=1)
    return f"{protocol}_{_SHORT.get(kind, kind)}"


def _named(text: str) -> dict[str, str]:
    start = text.find("{")
    if start >= 0:
        try:
            value, _ = json.JSONDecoder().raw_decode(text, start)
            if isinstance(value, dict) and "THROUGHPUT" in value:
                return {str(name): str(text) for name, text in value.items()}
        except (ValueError, RecursionError):
            pass
    pairs = (_KEY.match(line.strip()) for line in text.splitlines())
    return {pair[1]: pair[2].strip() for pair in pairs if pair}


# Column headings of -o and -O, joined if they take several lines.
_HEADS = {
    "throughput": "THROUGHPUT",
    "throughput units": "THROUGHPUT_UNITS",
    "elapsed time (sec)": "ELAPSED_TIME",
    "transaction rate tran/s": "TRANSACTION_RATE",
    **{
        f"{word} latency microseconds": f"{name}_LATENCY"
        for word, name in (("minimum", "MIN"), ("maximum", "MAX"), ("mean", "MEAN"))
    },
    **{f"{n}th percentile latency microseconds": f"P{n}_LATENCY" for n in (50, 90, 99)},
}


def _headed(text: str) -> dict[str, str]:
    # The values by column heading; empty if there is no throughput column.
    banner = _BANNER.search(text) or _OMNI.search(text)
    lines = text[banner.end() if banner else 0 :].splitlines()[1 if banner else 0 :]
    heads, row = lines[:-1], lines[-1] if lines else ""
    if not heads:
        return {}
    if "," in row:
        names, values = heads[-1].split(","), row.split(",")
    else:
        starts = [word.start() for word in re.finditer(r"\S+", row)]
        spans = [*itertools.pairwise([*starts, None])]
        values = row.split()
        names = [" ".join(" ".join(head[a:b].split()) for head in heads) for a, b in spans]
    named = zip(names, values, strict=False)
    known = {_HEADS.get(name.strip().lower(), ""): value.strip() for name, value in named}
    known.pop("", None)
    return known if "THROUGHPUT" in known else {}


# The columns of each table.
_STREAM = ("receive_socket_bytes", "send_socket_bytes", "message_bytes", "elapsed_s", "throughput")
_CPU = ("local_cpu", "remote_cpu", "local_demand", "remote_demand")
_UDP = ("socket_bytes", "message_bytes", "elapsed_s", "messages", "errors", "throughput")
_RR = (
    *("send_socket_bytes", "receive_socket_bytes", "request_bytes", "response_bytes"),
    *("elapsed_s", "throughput"),
)


def _table(text: str, test: str) -> tuple[float, float, float | None, dict[str, str]]:
    rows = [line.split() for line in text.splitlines() if _NUMBERS.match(line)]
    columns: tuple[str, ...] = _STREAM
    # Without a banner (-P 0) a line of six numbers may belong to UDP_STREAM or to an _RR test.
    if test == "omni" and len(rows[0]) not in (len(_STREAM), len(_STREAM) + len(_CPU)):
        raise IndexError
    if test == "UDP_STREAM":
        columns = _UDP
    elif test.endswith("RR"):
        columns = _RR
    if len(rows[0]) < len(columns):
        raise IndexError
    values = dict(zip((*columns, *_CPU), rows[0], strict=False))
    # The second line is the receiver's: socket, time and what arrived, without errors.
    received = None
    if test == "UDP_STREAM" and len(rows) > 1 and len(rows[1]) >= 4:
        received = float(rows[1][3])
    return float(values["throughput"]), float(values["elapsed_s"]), received, values
