# What iperf3 says it sent.

from typing import TYPE_CHECKING

from ...parsers.iperf3 import iperf3_sent

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline


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
