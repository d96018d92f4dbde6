# What netcost stolen reads of a capture: in one pass, as far as that is known before it.

from typing import TYPE_CHECKING

from ..timeline.lives import everywhere
from .completeness.completeness import of_interrupts_ahead

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline

# Events that may name the owner of a softirq's traffic.
OWNERS = ("net:netif_receive_skb", "sock:sk_data_ready")


def read_for_stolen(timeline: "Timeline", lives: bool) -> None:
    """What losses() takes, and a verdict; lives: lifetimes() and waited_for() too."""
    capture, whole = timeline.capture, everywhere(timeline)
    of_interrupts_ahead(capture)
    events = capture.header.get("events") or ()
    names_owners = any(event["name"] in OWNERS for event in events) and capture.is_small
    packets = ("softirqs", "polls") if names_owners else ()
    # Most captures have some time of which nobody knows whose it was: whose it may have been lives
    # tell. Of a large one what they go by is read when it is known that they are needed.
    timeline.read("displaced", *packets, for_lives=lives or capture.is_small)
    if lives and whole is not timeline:
        whole.read("displaced", *packets, for_lives=True)
