"""What a page says of the stretch that single interrupts and batches are of; HTML as in words."""

from typing import TYPE_CHECKING

from ..questions.words import filled
from ..units import duration

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline


def detail_text(timeline: "Timeline", detail: "Timeline") -> str:
    """Which stretch single interrupts and batches are of, where it is not all; else empty."""
    if detail is timeline:
        return ""
    return filled(
        "<p class='missing'>This is a large capture. Single interrupts and batches, below, are of "
        "{width} from its middle, {start} after its start; every sum is of all of it.</p>",
        width=duration(detail.duration_ns),
        start=duration(detail.offset_ns),
    )
