"""A timeline as a self-contained page, with full detail of its longest episodes and gaps."""

from html import escape
from typing import TYPE_CHECKING

from .._native import CaptureError
from ..arrow import columns
from ..errors import AbsentError, ArgumentError
from ..questions.longest_episodes import LONGEST, longest
from ..units import duration
from ..view.page import MOST_BYTES, page
from ..view.tiles import Tiles

if TYPE_CHECKING:
    from ..timeline.task import Task
    from ..timeline.timeline import Timeline

_EPISODES = 40
_GAPS = 10
# Margin on either side of a place, as a multiple of its length.
_AROUND = 1.0
# Size of a segment in a page, on all levels together.
_SEGMENT_BYTES = 60
# In a report, the timeline is only a part.
_MOST_IN_REPORT = 1_500_000


def view_page(
    timeline: "Timeline", most_bytes: int = MOST_BYTES, victim: "Task | None" = None
) -> str:
    """The timeline as one HTML page that needs nothing else; raises what Tiles.of does.

    victim: whose longest episodes are as fine as they are; None: the timeline's.
    """
    tiles = Tiles.of(timeline)
    header = tiles.header()
    stretches: list[tuple[int, int]] = []
    # A page holds a small timeline whole, and needs no places.
    if sum(timeline.columns("sums")["segments"]) > most_bytes // _SEGMENT_BYTES:
        stretches = [*_episodes(timeline, victim, int(header["begin_ns"])), *_gaps(header["marks"])]
    places = []
    for begin, end in stretches:
        margin = int((end - begin) * _AROUND)
        places.append((max(begin - margin, 0), min(end + margin, header["duration_ns"])))
    return page(tiles, places, most_bytes=most_bytes)


def _episodes(timeline: "Timeline", victim: "Task | None", begin_ns: int) -> list[tuple[int, int]]:
    try:
        found = columns(LONGEST(timeline, longest(timeline, victim, _EPISODES))["episodes"])
    except (AbsentError, CaptureError):
        # The task that the timeline is about did not run, or nothing interrupted it.
        return []
    pairs = zip(found["start_ns"], found["end_ns"], strict=True)
    return [(start - begin_ns, end - begin_ns) for start, end in pairs]


def _gaps(marks: list[dict[str, int]]) -> list[tuple[int, int]]:
    widest = sorted(marks, key=lambda one: one["begin_ns"] - one["end_ns"])[:_GAPS]
    return [(one["begin_ns"], one["end_ns"]) for one in widest]


# Links from rows with a time to the timeline in the frame. Times in ns exceed the precision of
# JavaScript's numbers. The frame is loaded lazily, and sends a message when it is ready.
LINKS = """<script>
(() => {
  const frame = document.currentScript.previousElementSibling;
  const whole = Number(frame.dataset.durationNs);
  let ready = false, wanted = null;
  const go = () => {
    if (ready && wanted) frame.contentWindow.postMessage({ netcostVisit: wanted }, "*");
  };
  window.addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow || !data?.netcostReady) return;
    ready = true;
    go();
  });
  const after = (ns) => Number(BigInt(ns) - BigInt(frame.dataset.beginNs));
  for (const row of document.querySelectorAll("tr[data-place]")) {
    const [begin, end, cpu] = row.dataset.place.split(" ");
    const visit = { begin_ns: after(begin), end_ns: after(end), cpu: cpu ? Number(cpu) : null };
    if (visit.begin_ns < 0 || visit.begin_ns >= whole) continue;
    const link = document.createElement("a");
    link.href = "#timeline";
    link.title = "Show it in the timeline";
    link.append(...row.firstElementChild.childNodes);
    row.firstElementChild.append(link);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      wanted = visit;
      frame.loading = "eager";
      frame.scrollIntoView({ block: "nearest" });
      go();
    });
  }
})();
</script>
"""


def section(timeline: "Timeline") -> str:
    """The last section of a report: the timeline in a frame; of a large one its excerpt.

    The page within runs its own script, and reaches nothing of the page around it.
    """
    shown = timeline.excerpt
    part = ""
    if shown is not timeline:
        # Everything that the page needs, in one pass.
        shown.load("displaced", "slices")
        part = f" {duration(shown.duration_ns)} from the middle of it."
    try:
        document = escape(view_page(shown, _MOST_IN_REPORT, timeline.given_victim))
    except ArgumentError as error:
        return f"<section><h2>Timeline</h2><p>{escape(str(error))}</p></section>\n"
    begin_ns = int(shown.summary["start_ns"])
    return (
        f'<section id="timeline"><h2>Timeline</h2><p>Who had each CPU when.{part} Click it, then '
        "the wheel zooms. Tables above lead to it where their rows say when.</p>"
        '<iframe title="Timeline" sandbox="allow-scripts" loading="lazy" '
        f'data-begin-ns="{begin_ns}" data-duration-ns="{shown.duration_ns}" '
        f'style="width: 100%; height: 640px; border: 1px solid #9aa3ab" srcdoc="{document}">'
        f"</iframe>{LINKS}</section>\n"
    )
