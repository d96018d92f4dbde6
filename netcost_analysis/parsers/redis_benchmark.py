"""Parser for redis-benchmark: its report, ``-q`` and ``--csv``."""

import csv
import re
from collections.abc import Iterator

from .._native import CaptureError

_BEGIN = re.compile(r"^====== (.{1,200}) ======$")
_RATE = re.compile(r"^\s*(?:throughput summary: )?([0-9.]{1,20}) requests per second$")
_QUIET = re.compile(
    r"^(\S.{0,199}): ([0-9.]{1,20}) requests per second(?:, p50=([0-9.]{1,20}) msec)?$"
)
_COLUMNS = ("mean", "min", "p50", "p95", "p99", "max")
_LATENCIES = re.compile(r"^ +" + " +".join([r"([0-9]{1,12}\.[0-9]{3})"] * len(_COLUMNS)) + r"$")
_MS = 1e6
# Older versions have only the first two columns, and no heading.
_CSV = re.compile(r'^"[^"]{1,200}"(?:,"[0-9.]{1,20}")+$')
_CSV_BEGUN = re.compile(r'^"(?!test",)')


def redis_figures(text: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Each test's name in lower case, like get or mset_10_keys, and its figures.

    Source: src/redis-benchmark.c of Redis 5 to 7. Reports before Redis 6.2 have no exact latencies,
    so none are taken.
    """
    # Progress is printed with carriage returns.
    lines = [line.rstrip() for line in re.split(r"[\r\n]+", text)]
    found: dict[str, dict[str, float]] = {}
    test = waits_for = ""
    for line in lines:
        if begin := _BEGIN.match(line):
            _require_whole(test, waits_for)
            test, waits_for = begin[1], "its rate"
        elif waits_for == "its rate" and (rate := _RATE.match(line)):
            found[test] = {"requests_per_s": float(rate[1])}
            waits_for = "its latencies" if "summary" in line else ""
        elif waits_for == "its latencies" and (latencies := _LATENCIES.match(line)):
            found[test] |= _named(latencies.groups())
            waits_for = ""
        elif quiet := _QUIET.match(line):
            found[quiet[1]] = {"requests_per_s": float(quiet[2])}
            if quiet[3]:
                found[quiet[1]] |= {"latency_p50_ns": float(quiet[3]) * _MS}
        elif _CSV.match(line):
            name, rate_text, *rest = next(csv.reader([line]))
            found[name] = {"requests_per_s": float(rate_text)}
            if rest:
                found[name] |= _named(rest)
        elif _CSV_BEGUN.match(line):
            raise CaptureError("its output is cut off within a line")
    _require_whole(test, waits_for)
    if not found:
        said = next((line for line in lines if line.startswith("Error")), "")
        raise CaptureError(said or "its output is cut off before the first rate")
    for name, figures in found.items():
        yield re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_"), figures


def _require_whole(test: str, waits_for: str) -> None:
    if waits_for:
        raise CaptureError(f"its output is cut off within {test}, before {waits_for}")


def _named(milliseconds: tuple[str, ...] | list[str]) -> dict[str, float]:
    return {
        f"latency_{name}_ns": float(value) * _MS
        for name, value in zip(_COLUMNS, milliseconds, strict=True)
    }
