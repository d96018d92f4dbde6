"""Why the three estimates of what the victim got differ, computed; HTML as in story."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..capture.accounting import tick_ms
from ..questions.accounting.estimates import Gap, gap
from ..questions.words import filled
from ..units import absent, duration, points, share

if TYPE_CHECKING:
    from ..capture.bundle import Bundle
    from ..capture.capture import Capture
    from ..timeline.timeline import Timeline


def how_to_record(capture: "Capture") -> str:
    """What this bundle lacks for the three estimates, and how to record it; empty if nothing."""
    bundle = capture.bundle
    lacks = None
    if bundle is None:
        lacks = "This is a bare recording: neither a victim's output nor a baseline came with it."
    elif bundle.victim is None:
        lacks = "No victim was run beside this recording."
    elif not bundle.speed_runs and not bundle.victim.get("wall_s"):
        lacks = "The victim left no result in its output."
    elif bundle.baseline is None or not bundle.baseline.speed_runs:
        lacks = "There is no baseline: what the victim gets done without the load is unknown."
    if lacks is None:
        return ""
    cpu = (bundle.victim or {}).get("cpu") if bundle else None
    return filled(
        "<p class='missing'>{lacks} To have one, record with <code>capture/netcost-record -o DIR "
        "--baseline --victim 'openssl speed -seconds 5 -bytes 1024 -evp sha256' --victim-cpu {cpu}"
        "</code>: what a program that only computes gets done tells what CPU time it got.</p>",
        lacks=lacks,
        cpu=cpu if isinstance(cpu, int) else 0,
    )


def whose_text(bundle: "Bundle", victim: str | None, recorded: str | None) -> str:
    """Whose estimates these are, where a page is about another task; empty where it is not.

    victim: the page's. recorded: the bundle's own, whose output and baseline they need.
    """
    if victim == recorded:
        return ""
    return filled(
        "<p>These are of {recorded} (<code>{command}</code>), which was run beside this recording "
        "and whose work was counted; of {victim} nothing was.</p>",
        recorded=recorded or "the victim",
        command=str((bundle.victim or {}).get("command") or "unknown"),
        victim=victim or "others",
    )


def estimates_text(bundle: "Bundle", timeline: "Timeline", rows: pd.DataFrame) -> str:
    """Why the estimates differ.

    timeline: of the victim's run on its CPU. rows: as victim.estimates returns it.
    """
    got = {name: float(value) for name, value in rows["got_share"].items()}
    windows = _windows(bundle, timeline)
    lost = {name: float(value) for name, value in rows["lost_share"].items()}
    ticks = _ticks(tick_ms(bundle.kernel_config), rows.loc[["ticks"]].iloc[0])
    if absent(got["traced"]) or absent(got["work"]):
        return f"{windows}{ticks}"
    found = gap(bundle, timeline, got["traced"], got["work"])
    return f"{windows}{ticks}{_gap(found, lost['work'], lost['traced'], same_run=not windows)}"


def _windows(bundle: "Bundle", timeline: "Timeline") -> str:
    victim = bundle.victim or {}
    if isinstance(victim.get("start_ns"), int) and isinstance(victim.get("end_ns"), int):
        return ""
    wall = victim.get("wall_s")
    return filled(
        "<p>The bundle does not say when the victim started and ended. Traced is the whole trace, "
        "{trace}{run}: the estimates are of different stretches of one run, and part of what "
        "lies between them is that.</p>",
        trace=duration(timeline.duration_ns),
        run=f" of the victim's {wall:.3g} s" if isinstance(wall, int | float) else "",
    )


def _ticks(tick: float | None, row: "pd.Series[Any]") -> str:
    if absent(row["got_share"]):
        return ""
    text = (
        "<p><b>Ticks</b> is user time by times(2). Unless the kernel measures interrupts "
        "(accounting, above), it samples: the whole tick{each} goes to whatever the timer "
        "happened to interrupt, and what runs between two ticks is not seen."
    )
    off = row["residual_share"]
    if not absent(off):
        side = "more" if off > 0 else "less"
        text += f" Here it claims {points(off)} points {side} than the work that was done."
    return filled(f"{text}</p>", each=f", {tick:.3g} ms," if tick else "")


def _gap(found: Gap, work: float, traced: float, same_run: bool) -> str:
    if found.share <= 0:
        return (
            "<p>The <b>work</b> done is more than the <b>traced</b> time allows by "
            f"{points(found.share)} points: a baseline that was disturbed, or a window that holds "
            "more than the victim's run.</p>"
        )
    text = (
        f"<p><b>Work</b> is what counts: {share(work)} of what the victim does undisturbed was not "
        f"done. <b>Traced</b> accounts for {share(traced)}: then an interrupt or another task had "
        f"the CPU. The gap is {points(found.share)} points"
    )
    if same_run:
        each = (
            ""
            if absent(found.hidden_ns)
            else f", {duration(found.hidden_ns)} for each of the {found.interrupts_per_s:,.0f} "
            "interrupts a second that the kernel counted there"
        )
        text += f" or {duration(found.ns)}{each}"
    what_else = ": hidden cost" if same_run else ". What is not due to that is hidden cost"
    return text + (
        f"{what_else}, which no pair of tracepoints brackets. Entry and exit of an interrupt, "
        "caches that it leaves cold, exits to a hypervisor and the tracing itself lie in it; this "
        "capture cannot tell them apart.</p>"
    )
