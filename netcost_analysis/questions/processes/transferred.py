# What iperf3 says it sent.

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline


def iperf3_sent(text: str) -> tuple[int | None, int | None]:
    # Bytes and packets that `iperf3 --json` sent in all its intervals; None for other text. The
    # intervals hold the seconds of --omit as well, which its sums leave out; packets are None for
    # TCP. Source: iperf_api.c of iperf 3 (iperf_print_intermediate). Of a run that was interrupted
    # they are what it had sent by then.
    place = text.find("{")
    if place < 0:
        return None, None
    try:
        said, _ = json.JSONDecoder().raw_decode(text[place:])
    except (ValueError, RecursionError):
        return None, None
    intervals = said.get("intervals") if isinstance(said, dict) else None
    if not isinstance(intervals, list):
        return None, None
    sums = [one.get("sum") for one in intervals if isinstance(one, dict)]
    sent = [one for one in sums if isinstance(one, dict) and one.get("sender") is True]
    return _total(sent, "bytes"), _total(sent, "packets")


def _total(sums: list[dict[str, Any]], name: str) -> int | None:
    counts = [one[name] for one in sums if isinstance(one.get(name), int)]
    return sum(counts) if counts else None


def sent_of(timeline: "Timeline") -> tuple[int | None, int | None]:
    # Bytes and packets that the bundle's load sent while it was recorded; None where unknown.
    # netcost-record starts the load after the recording, and ends it before: all of the load is in
    # it. Of a part of the recording, or some of its CPUs, nobody knows.
    bundle = timeline.capture.bundle
    part = timeline.start_s is not None or timeline.end_s is not None
    if (
        bundle is None
        or part
        or not set(timeline.summary["cpus"]) >= set(timeline.capture.info["cpus"])
    ):
        return None, None
    return iperf3_sent(bundle.load_output or "")
