"""What the report says of migrations, every figure computed. All return HTML, names escaped."""

import pandas as pd

from ...units import absent, duration, points, share
from ..words import count, filled
from .listing import moves_of
from .verdict import MigrationVerdict, nearest

_MEASURES = {"run": "ran", "wait": "waited for a CPU"}


def moves_text(rows: pd.DataFrame, duration_ns: int) -> str:
    """How many migrations, and why. rows: migrations()."""
    if not len(rows):
        return f"<p>In {duration(duration_ns)} nothing was migrated.</p>"
    causes = rows["cause"].value_counts()
    listed = ", ".join(f"{name} {number:,}" for name, number in causes.items())
    found = moves_of(rows, duration_ns)
    text = filled(
        "<p>{number} in {window}, {rate:} a second; by cause: {listed}. A <i>wake-up</i> places a "
        "task on another CPU than it slept on, <i>balance</i> moves one that waits, a "
        "<i>stopper</i> thread one that runs, most often because it executes a program.",
        number=count(len(rows), "migration"),
        window=duration(duration_ns),
        rate="unknown" if absent(found.per_s) else f"{found.per_s:.3g}",
        listed=listed,
    )
    if found.to_idle or found.to_busy:
        text += f" {found.to_idle:,} went to a CPU that was idle, {found.to_busy:,} to one that was"
        text += f" not; of {found.to_unknown:,} it is not known." if found.to_unknown else " not."
    if not absent(found.until_run_ns):
        text += f" Until the task ran again it took {duration(found.until_run_ns)} in the median."
    return f"{text}</p>"


def verdict_text(verdict: MigrationVerdict, name: str) -> str:
    """The answer for one task. name: what it is called."""
    return filled(
        "<p class='answer'>Do migrations explain anything of what {name} got? <b>{answer}</b>. "
        "{reason}.</p>",
        name=name,
        answer=verdict.explains.capitalize(),
        reason=f"{verdict.reason[:1].upper()}{verdict.reason[1:]}",
    )


def effect_text(rows: pd.DataFrame, name: str) -> str:
    """What the event study found, and what it left out.

    rows: migration_effect(), cause all. name: of whom.
    """
    if not len(rows) or not int(rows["migrations"].max()):
        return ""
    found = rows[rows["effect"].notna().to_numpy()]
    text = ""
    for measure, did in _MEASURES.items():
        own = found[(found["measure"] == measure).to_numpy()]
        if not len(own):
            continue
        row = nearest(own)
        text += _found(row, did, name)
    left = [
        f"with windows of {duration(row['width_ns'])}, {parts}"
        for _, row in rows.drop_duplicates("width_ns").iterrows()
        if (parts := _left_out(row))
    ]
    if left:
        text += f"<p>Not studied: {'; '.join(left)}.</p>"
    return text


def _found(row: "pd.Series[float]", did: str, name: str) -> str:
    way = "more" if row["effect"] > 0 else "less"
    sure = row["effect_low"] > 0 or row["effect_high"] < 0
    return filled(
        "<p>In the {width} after a migration {name} {did} for {after} of the time, in the {width} "
        "before for {before}. Compared with moments without a migration that is "
        "{points} percentage points {way} (95 % interval {low} to {high}){doubt}.</p>",
        width=duration(row["width_ns"]),
        name=name,
        did=did,
        after=share(row["after"]) or "none",
        before=share(row["before"]) or "none",
        points=points(row["effect"], 2),
        way=way,
        low=points(row["effect_low"], 2, sign=True),
        high=points(row["effect_high"], 2, sign=True),
        doubt="" if sure else ", which may be chance",
    )


def _left_out(row: "pd.Series[int]") -> str:
    reasons = {
        "edge": "at an edge of the recording or of the task's life",
        "gap": "at a gap in the record",
        "overlap": "too near another of the task's migrations",
        "unmatched": "without a moment to compare with",
    }
    counts = {name: int(row[f"left_out_{name}"]) for name in reasons}
    return ", ".join(f"{number:,} {reasons[name]}" for name, number in counts.items() if number)
