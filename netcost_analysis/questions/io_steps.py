# The recordings of an experiment, with what each transferred and in how long.

from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from .._native import CaptureError
from ..capture.bundle import Bundle
from ..opening.experiment import Experiment
from ..timeline.reading import once


@dataclass(frozen=True, eq=False)
class Step:
    # name: of its recording. io_bytes: the size of each read and write, if any. received_*: from
    # the table, NaN where it is silent. seconds: how long that took; counted_ns: from when until
    # when, None without stamps.
    name: str
    bundle: Bundle
    io_bytes: int | None
    received_bytes: float
    received_packets: float
    seconds: float
    counted_ns: tuple[int, int] | None

    @property
    def bytes_per_s(self) -> float:
        return self.received_bytes / self.seconds if self.seconds else nan

    @property
    def packets_per_s(self) -> float:
        return self.received_packets / self.seconds if self.seconds else nan


def require_steps(experiment: Experiment) -> Bundle:
    # The first of its recordings. Raises CaptureError where there is none.
    for name in experiment.recordings:
        if experiment.has(name):
            return experiment.bundle(name)
    raise CaptureError(f"{experiment.path}: none of its steps has a recording")


@once
def steps_of(experiment: Experiment) -> list[Step]:
    steps: dict[str, Step] = {}
    for row in experiment.steps.to_dict("records"):
        name, untraced = experiment.names(row)
        if name and name not in steps and experiment.has(name):
            steps[name] = _step(name, experiment.bundle(name), row if not untraced else {})
    return list(steps.values())


def _step(name: str, bundle: Bundle, row: Any) -> Step:
    size, received = _number(row, "io_bytes"), _number(row, "received_bytes")
    if isfinite(received):
        # The lab counts these between the readings before and after.
        counted, packets = _between(bundle), _number(row, "received_packets")
        seconds = (counted[1] - counted[0]) / 1e9 if counted else _number(row, "seconds")
        io_bytes = int(size) if isfinite(size) else None
        return Step(name, bundle, io_bytes, received, packets, seconds, counted)
    # Of a sweep, packets of the load's whole run.
    rate = _number(row, "sent_pps")
    seconds = _number(row, "sent") / rate if rate > 0 else nan
    return Step(name, bundle, None, nan, _number(row, "received"), seconds, None)


def _between(bundle: Bundle) -> tuple[int, int] | None:
    before, after = (side.reads.get("net_dev") for side in (bundle.before, bundle.after))
    if before is None or after is None:
        return None
    start, end = sum(before) // 2, sum(after) // 2
    return (start, end) if end > start else None


def _number(row: Any, name: str) -> float:
    try:
        value = float(row.get(name))
    except (TypeError, ValueError):
        return nan
    return value if 0 <= value < 2**63 else nan
