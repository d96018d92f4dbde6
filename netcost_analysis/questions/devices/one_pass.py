# What questions about devices fold of a timeline's rows: all of it in one pass.

from typing import TYPE_CHECKING

from ..folds import Asked, at_once
from ..inputs import window_of
from .device_flags import per_queue
from .device_lines import entered, raised_by
from .parts import cut_ns, polled

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline


def read_once(timeline: "Timeline") -> None:
    within = {"window": window_of(timeline)}
    folds = (Asked(one, within) for one in (entered, polled, cut_ns))
    at_once(timeline, Asked(raised_by, {}), *folds, Asked(per_queue, {}))
