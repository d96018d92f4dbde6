"""Parser for ``fio --output-format=json``."""

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from .._native import CaptureError
from .sockperf import percentile
from .typed_json import Count, struct_of

# fio prints messages on separate lines.
_BEGIN = re.compile(r"^\{", re.MULTILINE)
_DIRECTIONS = ("read", "write", "trim")


class _Latency(Struct, frozen=True):
    min: float = 0
    max: float = 0
    mean: float = 0
    count: Count = field(default=0, name="N")
    percentile: dict[str, float] = {}


class _Direction(Struct):
    bw_bytes: float
    iops: float
    total_ios: Count
    # lat is submission plus completion, clat completion; by default fio gives percentiles of clat.
    lat_ns: _Latency = _Latency()
    clat_ns: _Latency = _Latency()


class _Job(Struct):
    error: int = 0
    read: _Direction | None = None
    write: _Direction | None = None
    trim: _Direction | None = None


def fio_figures(text: str) -> Iterator[tuple[str, dict[str, float]]]:
    """(direction, figures over all jobs) for each of read, write and trim that did any I/O.

    Latencies are completion latencies, or total latencies if fio gives their percentiles. There are
    no percentiles for several jobs; ``--group_reporting`` gives them. Source: stat.c of fio 3.
    """
    jobs = [job for fields in _document(text) if (job := struct_of(_Job, fields)) is not None]
    failed = next((job.error for job in jobs if job.error), 0)
    if failed:
        raise CaptureError(f"a job ended with error {failed}")
    for name in _DIRECTIONS:
        every = (getattr(job, name) for job in jobs)
        done = [direction for direction in every if direction is not None and direction.total_ios]
        if not done:
            continue
        figures = {
            "bytes_per_s": sum(direction.bw_bytes for direction in done),
            "ios_per_s": sum(direction.iops for direction in done),
        }
        yield name, figures | _latencies(done)


def _latencies(done: list[_Direction]) -> dict[str, float]:
    has_total = all(direction.lat_ns.percentile for direction in done)
    latencies = [direction.lat_ns if has_total else direction.clat_ns for direction in done]
    number = sum(latency.count for latency in latencies)
    if not number:
        return {}
    figures = {
        "latency_mean_ns": sum(latency.mean * latency.count for latency in latencies) / number,
        "latency_min_ns": min(latency.min for latency in latencies),
        "latency_max_ns": max(latency.max for latency in latencies),
    }
    if len(latencies) == 1:
        for share, ns in latencies[0].percentile.items():
            if share[:1].isdigit():
                figures[f"latency_{percentile(share)}_ns"] = ns
    return figures


def _document(text: str) -> list[Any]:
    # The jobs of the last document: --status-interval writes a document each time.
    decoder, read = json.JSONDecoder(), 0
    jobs: list[Any] | None = None
    for brace in _BEGIN.finditer(text):
        if brace.start() < read:
            continue
        try:
            value, read = decoder.raw_decode(text, brace.start())
        except (ValueError, RecursionError):
            raise CaptureError("its JSON is cut off") from None
        if isinstance(value.get("jobs"), list):
            jobs = value["jobs"]
    if jobs is None:
        raise CaptureError("its output is not JSON: run it with --output-format=json")
    return jobs
