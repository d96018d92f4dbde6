"""The state of CPUs and tasks at given moments, which native finds."""

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ..frames import to_frame
from ..spans import Ints
from ..timeline.aggregates import Aggregate
from ..timeline.timeline import Timeline


@dataclass(frozen=True)
class Moments:
    """Native's aggregates about moments; equal where the same is asked about the same moments.

    asked: owners, passed or next. moments: of, a CPU or a tid, and time_ns. content: tells moments
    apart. through: the name of vectors to look through, None for none.
    """

    asked: str
    moments: pa.Table = field(compare=False)
    content: bytes
    through: str | None = None


# The moments come from other answers.
OWNERS, PASSED = (Aggregate[Moments | None](lambda _: None) for _ in range(2))


def owners_at(
    timeline: Timeline, cpus: Ints, times: Ints, through: str | None = None
) -> tuple[pd.DataFrame, Ints]:
    """All owners of segments with their CPU, and each moment's place among them, -1 for none.

    A moment belongs to the segment that it is in, its start included; in a vector called `through`
    it belongs to what that interrupted.
    """
    tables = OWNERS.take(timeline, asked("owners", cpus, times, through))
    owner = to_frame(tables["moments"])["owner"]
    return to_frame(tables["owners"]), owner.to_numpy("int64", na_value=-1)


def passed_at(timeline: Timeline, tids: Ints, times: Ints) -> pd.DataFrame:
    """How long a task had run by each moment, and softirqs on top of it: own_ns, softirq_ns."""
    return to_frame(PASSED(timeline, asked("passed", tids, times))["moments"])


def asked(what: str, of: Ints, times: Ints, through: str | None = None) -> Moments:
    """One of them: about CPUs or tids at such times."""
    columns: dict[str, Any] = {"of": of, "time_ns": times}
    content = blake2b()
    for name, values in columns.items():
        columns[name] = np.ascontiguousarray(values, dtype="int64")
        content.update(columns[name])
    return Moments(what, pa.table(columns), content.digest(), through)
