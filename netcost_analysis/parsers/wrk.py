"""Parser for wrk and wrk2."""

import re
from collections.abc import Iterator

from .._native import CaptureError
from .sockperf import percentile

_TIME = r"([0-9]{1,12}(?:\.[0-9]{1,6})?)(us|ms|s|m|h)"
_NS = {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}
_SIZE = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
_LATENCY = re.compile(rf"^ +Latency +{_TIME} +{_TIME} +{_TIME} ", re.M)
_PERCENTILE = re.compile(rf"^ +([0-9]{{1,3}}(?:\.[0-9]{{1,6}})?)% +{_TIME} *$", re.M)
_DONE = re.compile(r"^ +([0-9]{1,18}) requests in ", re.M)
_ERRORS = re.compile(
    r"^ +Socket errors: connect ([0-9]{1,18}), read ([0-9]{1,18}), write ([0-9]{1,18}), "
    r"timeout ([0-9]{1,18})",
    re.M,
)
_REFUSED = re.compile(r"^ +Non-2xx or 3xx responses: ([0-9]{1,18})", re.M)
_RATE = re.compile(r"^Requests/sec: +([0-9.]{1,20}) *$", re.M)
_TRANSFER = re.compile(r"^Transfer/sec: +([0-9.]{1,20})([KMGTP]?)B *$", re.M)


def wrk_figures(text: str) -> Iterator[tuple[str, dict[str, float]]]:
    """The figures of its single, unnamed test.

    Percentiles need ``--latency``; wrk2's are the corrected ones. Source: src/wrk.c and src/units.c
    of wrk 4.1, whose KB is 1024 bytes.
    """
    rate, transfer = _RATE.search(text), _TRANSFER.search(text)
    done, latency = _DONE.search(text), _LATENCY.search(text)
    if rate is None or transfer is None or done is None or latency is None:
        raise CaptureError("its output is cut off, or it reached no server")
    figures = {
        "requests_per_s": float(rate[1]),
        "bytes_per_s": float(transfer[1]) * _SIZE[transfer[2]],
        "latency_mean_ns": float(latency[1]) * _NS[latency[2]],
        "latency_max_ns": float(latency[5]) * _NS[latency[6]],
    }
    for name, value, unit in _PERCENTILE.findall(text):
        # wrk2 -U prints uncorrected ones after them.
        figures.setdefault(f"latency_{percentile(name)}_ns", float(value) * _NS[unit])
    failed = sum(int(count) for counts in _ERRORS.findall(text) for count in counts)
    failed += sum(map(int, _REFUSED.findall(text)))
    if int(done[1]):
        figures["failed_share"] = failed / int(done[1])
    yield "", figures
