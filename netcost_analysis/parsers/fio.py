"""What ``fio --output-format=json`` wrote."""

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from .._native import CaptureError
from .sockperf import percentile
from .typed_json import Count, struct_of

# Messages stand in lines of their own.
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
    # Of submission and completion; percentiles are of the second unless fio is asked otherwise.
    lat_ns: _Latency = _Latency()
    clat_ns: _Latency = _Latency()


class _Job(Struct):
    error: int = 0
    read: _Direction | None = None
    write: _Direction | None = None
    trim: _Direction | None = None


def fio_figures(text: str) -> Iterator[tuple[str, dict[str, float]]]:
    """read, write and trim, as far as there were any, and the figures of each over all jobs.

    Latencies are of completion, or of all of an I/O where fio gives percentiles of that. Of several
    jobs there is no percentile, which ``--group_reporting`` gives. Source: stat.c of fio 3.
    """
    jobs = [job for one in _document(text) if (job := struct_of(_Job, one)) is not None]
    failed = next((job.error for job in jobs if job.error), 0)
    if failed:
        raise CaptureError(f"a job ended with error {failed}")
    for name in _DIRECTIONS:
        done = [one for job in jobs if (one := getattr(job, name)) is not None and one.total_ios]
        if not done:
            continue
        figures = {
            "bytes_per_s": sum(one.bw_bytes for one in done),
            "ios_per_s": sum(one.iops for one in done),
        }
        yield name, figures | _latencies(done)


def _latencies(done: list[_Direction]) -> dict[str, float]:
    whole = all(one.lat_ns.percentile for one in done)
    of = [one.lat_ns if whole else one.clat_ns for one in done]
    number = sum(one.count for one in of)
    if not number:
        return {}
    figures = {
        "latency_mean_ns": sum(one.mean * one.count for one in of) / number,
        "latency_min_ns": min(one.min for one in of),
        "latency_max_ns": max(one.max for one in of),
    }
    if len(of) == 1:
        for share, ns in of[0].percentile.items():
            if share[:1].isdigit():
                figures[f"latency_{percentile(share)}_ns"] = ns
    return figures


def _document(text: str) -> list[Any]:
    # The jobs of the last document: --status-interval writes one each time.
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
        raise CaptureError("there is no JSON: --output-format=json makes it write some")
    return jobs
