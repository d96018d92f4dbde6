"""Parser for sockperf: ping-pong, under-load, playback and throughput."""

import re
from collections.abc import Iterator

from .._native import CaptureError

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
_SERVER = re.compile(r"^sockperf: =+ Printing statistics for Server No: ([0-9]{1,6})", re.M)
_VALID = re.compile(
    r"\[Valid Duration\] RunTime=([0-9.]{1,20}) sec; SentMessages=([0-9]{1,18}); "
    r"ReceivedMessages=[0-9]{1,18}"
)
_DROPPED = re.compile(r"# dropped messages = ([0-9]{1,18});")
_AVERAGE = re.compile(r"====> avg-(lat|latency|rtt)= *([0-9.]{1,20}) ")
_OBSERVED = re.compile(
    r"---> (?:percentile ([0-9.]{1,12})|<(MAX|MIN)> observation) *= *([0-9]{1,15}\.[0-9]{3})"
)
_RATE = re.compile(r"Summary: Message Rate is ([0-9]{1,18}) \[msg/sec\]")
_BANDWIDTH = re.compile(r"Summary: BandWidth is ([0-9.]{1,20}) ([MG])Bps \(")
_BYTES = {"M": 1 << 20, "G": 1 << 30}
# sockperf's own reason for having no result.
_WHY = re.compile(
    r"^sockperf: (?:ERROR: )?(No messages were received.*|No valid observations.*)", re.M
)


def sockperf_figures(text: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Each server's name, empty if there is only one, and its figures.

    Latency is half a round trip, unless sockperf ran with ``--full-rtt``. Messages are those sent
    in sockperf's valid duration, without its warm-up. Source: src/client.cpp of sockperf 3.7.
    """
    text = _COLOUR.sub("", text)
    if rate := _RATE.search(text):
        width = _BANDWIDTH.search(text)
        if width is None:
            raise CaptureError("its output is cut off before the bandwidth")
        yield (
            "",
            {
                "messages_per_s": float(rate[1]),
                "bytes_per_s": float(width[1]) * _BYTES[width[2]],
            },
        )
        return
    begins = [*_SERVER.finditer(text)]
    if not begins:
        why = _WHY.search(text)
        raise CaptureError(why[1] if why else "its output is cut off before the statistics")
    ends = [begin.start() for begin in begins[1:]] + [len(text)]
    for begin, end in zip(begins, ends, strict=True):
        name = f"server_{begin[1]}" if len(begins) > 1 else ""
        yield name, _of_server(text[begin.end() : end])


def _of_server(text: str) -> dict[str, float]:
    valid, average = _VALID.search(text), _AVERAGE.search(text)
    observed = {match[1] or match[2]: float(match[3]) for match in _OBSERVED.finditer(text)}
    if valid is None or average is None or "MIN" not in observed:
        raise CaptureError("its output is cut off within the statistics")
    kind = "round_trip" if average[1] == "rtt" else "latency"
    figures = {"messages_per_s": int(valid[2]) / float(valid[1])}
    figures[f"{kind}_mean_ns"] = float(average[2]) * 1e3
    for name, us in observed.items():
        figures[f"{kind}_{percentile(name)}_ns"] = us * 1e3
    if (dropped := _DROPPED.search(text)) and int(valid[2]):
        figures["lost_share"] = int(dropped[1]) / int(valid[2])
    return figures


def percentile(name: str) -> str:
    """The name of a percentile in figures: p99_9 for 99.900; max and min stay."""
    if not name[:1].isdigit():
        return name.lower()
    return "p" + f"{float(name):.6f}".rstrip("0").rstrip(".").replace(".", "_")
