"""What the doctor says in words, every figure computed; HTML, names escaped."""

from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...capture.accounting import accounting
from ...capture.experiment import Experiment
from ...units import absent, points, share
from ..words import filled
from .calibrations import first_bundle
from .cpu_kinds import interrupt_shares
from .reasons import STEAL_LIMIT
from .side_by_side import undisturbed

if TYPE_CHECKING:
    from ...capture.bundle import Bundle
    from ...capture.capture import Capture

_NAMES = {
    "times": "its own clock, times(2)",
    "system": "of it system time, charged",
    "task_stat": "top (utime + stime)",
    "schedstat": "the scheduler's run time",
    "cpu_stat": "/proc/stat of its CPU",
    "mpstat": "mpstat of its CPU",
    "traced": "trace: its own segments",
    "traced_and_hidden": "trace and hidden cost",
    "work": "work done against baseline",
}


def answer(capture: "Capture", table: pd.DataFrame) -> str:
    """What the accounts say, and how far they are apart. table: as accounts returns it."""
    victim = (capture.bundle.victim_comm if capture.bundle else None) or "the victim"
    got = {str(name): float(value) for name, value in table["got_share"].dropna().items()}
    system = _system_text(capture, table)
    if not got:
        return filled("<p>This bundle has no account of what {victim} got.</p>", victim=victim)
    parts = [f"{says} {share(got[name])}" for name, says in _SAYS.items() if name in got]
    others = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)
    if "work" not in got:
        text = filled("<p class='answer'>What {victim} got of its CPU: ", victim=victim)
        return (
            text
            + (
                f"{others}.</p>"
                "<p>Which of them is right this bundle cannot tell: it has no baseline. "
                "<code>netcost-record --baseline</code> runs the victim alone first.</p>"
            )
            + system
        )
    text = (
        filled(
            "<p class='answer'>By the work that it did, {victim} got <b>{work}</b> of its CPU",
            victim=victim,
            work=share(got["work"]),
        )
        + (f"; {others}.</p>" if others else ".</p>")
        + system
    )
    far = table["residual_share"].dropna().drop(index="work", errors="ignore")
    if not len(far):
        return text + _baseline_text(capture, got["work"])
    worst = str(far.abs().idxmax())
    off = float(far.astype(float)[worst])
    return (
        text
        + (
            "<p>A program that only computes can be asked what it got done, and blocks are not "
            f"ticks: the others are compared with that. Farthest off is {_NAMES[worst]}, by "
            f"{points(off)} points {'too much' if off > 0 else 'too little'}.</p>"
        )
        + _baseline_text(capture, got["work"])
    )


def _system_text(capture: "Capture", table: pd.DataFrame) -> str:
    # Document 000: where the cost shows in the victim's own clock.
    if "system" not in table.index or absent(table["lost_share"]["system"]):
        return ""
    regime = accounting(capture.bundle.kernel_config) if capture.bundle else None
    text = f"<p>Its system time is {share(table['lost_share']['system']) or '0 %'} of a CPU"
    if regime is None:
        return text + ".</p>"
    if regime.softirq:
        return text + (
            ": there, interrupts on top of it show. A program that only computes asks the kernel "
            "for next to nothing, so nearly all of this was taken from it, though top counts it as "
            "the program's own.</p>"
        )
    return text + (
        ": this kernel keeps interrupts out of it, so that what they took shows in no account of "
        "the program's.</p>"
    )


def _baseline_text(capture: "Capture", work: float) -> str:
    # What all is compared with is wrong where others ran beside the baseline.
    found = None if capture.bundle is None else undisturbed(capture.bundle, work)
    if found is None:
        return ""
    alone, corrected = found
    return (
        f"<p><b>The baseline was disturbed</b>: it had its CPU for {share(alone)} only, so work, "
        "and with it the line that the others are compared with, is too high. Against a baseline "
        f"that had all of its CPU it would be about {share(corrected)}. Record it again where "
        "nothing else runs.</p>"
    )


_SAYS = {
    "task_stat": "top shows",
    "times": "its own clock says",
    "traced": "the trace says",
}


def accounts_html(table: pd.DataFrame) -> str:
    """The accounts as a table with their reasons. table: as accounts returns it."""
    heads = ("account", "got", "against work", "a step", "steal", "can be wrong because")
    rows = []
    for name, row in table.iterrows():
        charged = name == "system" and not absent(row["lost_share"])
        if absent(row["got_share"]) and not charged:
            continue
        cells = (
            _NAMES[str(name)],
            f"lost {share(row['lost_share']) or '0 %'}" if charged else share(row["got_share"]),
            _points(row["residual_share"]) if name != "work" else "",
            "" if absent(row["resolution_share"]) else _small(row["resolution_share"]),
            share(row["steal_share"]),
        )
        numbers = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        rows.append(f"<tr>{numbers}<td style='{_PROSE}'>{escape(str(row['why']))}.</td></tr>")
    known = table["got_share"].fillna(table["lost_share"])
    missing = [_NAMES[str(name)] for name, got in known.items() if absent(got)]
    lacking = filled(
        "<p class='missing'>This bundle has nothing for: {missing}.</p>",
        missing="; ".join(missing),
    )
    head = "".join(f"<th>{one}</th>" for one in heads[:-1])
    head += f"<th style='text-align: left'>{heads[-1]}</th>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>" + (
        lacking if missing else ""
    )


_PROSE = "white-space: normal; text-align: left; min-width: 22rem"


def _points(value: Any) -> str:
    return "" if absent(value) else f"{points(value, sign=True)} points"


def _small(value: Any) -> str:
    return share(value) if value else "<0.1 %"


def steal_text(table: pd.DataFrame) -> str:
    """What a hypervisor took of the CPU meanwhile. table: as accounts returns it."""
    known = table["steal_share"].dropna()
    if not len(known):
        return "<p>Whether a hypervisor took the CPU meanwhile this bundle does not say.</p>"
    most = float(known.max())
    if most <= STEAL_LIMIT:
        return (
            "<p>The kernel counted no steal, the time that a hypervisor ran others for.</p>"
            if most == 0
            else f"<p>Steal, the time that a hypervisor ran others for, was {share(most)} at most: "
            "no more than that of any difference is its.</p>"
        )
    return (
        f"<p><b>Steal was {share(most)}.</b> A hypervisor ran others meanwhile, which a trace lays "
        "at whatever it paused: of this recording believe sums, not the longest times nor high "
        "percentiles.</p>"
    )


def cpu_text(table: pd.DataFrame) -> str:
    """What the kernel's counters call softirq against the trace. table: as cpu_accounts has it."""
    found = interrupt_shares(table)
    if found is None:
        return (
            "<p class='missing'>There is nothing to compare: /proc/stat and the trace are not both "
            "known of one CPU, to which the victim was pinned.</p>"
        )
    counted, traced, beyond = found
    text = (
        f"<p>Interrupts and softirqs together have {share(counted) or '0'} of the CPU by "
        f"/proc/stat, and {share(traced) or '0'} by the trace."
    )
    if beyond:
        text += (
            " Ticks cannot see less than a tick, but they are not blind to what tracepoints "
            "miss: one that is due while an interrupt is entered or left, with interrupts off, is "
            "taken just after, often as the softirq begins, and counts for it."
        )
    return text + "</p>"


def whose(matches: bool, bundle: "Bundle | None", series: Experiment) -> str:
    """Whether the calibration's price may be used for this capture."""
    if matches:
        tools = [one and one.manifest.get("tool") for one in (bundle, first_bundle(series))]
        told = filled(
            " That was recorded with {theirs}, this with {ours}, and what of an event's cost lies "
            "outside every pair is in the price: another recorder may have another.",
            ours=tools[0],
            theirs=tools[1],
        )
        return (
            "<p>This capture is of a host with the calibration's kernel, processor and "
            "hypervisor, so its price of an interrupt is used for the row <i>trace and hidden "
            f"cost</i>.{told if all(tools) and tools[0] != tools[1] else ''}</p>"
        )
    return (
        "<p class='missing'>The hidden cost below is of the host that the calibration was recorded "
        "on. This capture is of another, or does not say of which: it is not applied to it. "
        "<code>capture/lab/hidden-cost</code> measures it there, and <code>netcost report "
        "--experiment DIR</code> takes what it wrote.</p>"
    )
