# In whose time the data of packets was freed, block by block of a run.

import numpy as np

from ..._native import CaptureError
from ...capture.requires import unmet
from ...comparison.run import Run
from ...stats.resampling import Floats
from ...timeline.facts import groups
from ...timeline.reading import once
from ..processes.skb_frees import EVENTS, freed
from .measured import ends_of, measured


@once
def client_frees(run: Run) -> tuple[Floats, Floats] | None:
    # What was freed in the client's time, and all; None where that is not known.
    client = ends_of(run).get("client")
    timelines = run.timelines()
    if client is None or any(unmet(one.capture, groups((EVENTS,))) for one in timelines):
        return None
    parts = []
    for timeline, blocks in zip(timelines, measured(run).files, strict=True):
        counts = np.zeros((2, blocks.number), dtype="int64")
        try:
            for frees in freed(timeline):
                block = blocks.of(frees["time_ns"])
                own = block[(frees["tid"] == client).to_numpy()]
                counts += [np.bincount(one, minlength=blocks.number) for one in (own, block)]
        except CaptureError:
            return None
        parts.append(counts)
    above, below = (np.concatenate(part).astype("float64") for part in zip(*parts, strict=True))
    return (above, below) if below.any() else None
