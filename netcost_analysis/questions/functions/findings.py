# What Liao and Bhuyan found of a packet's work, beside what an experiment over sizes shows.

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...opening.experiment import Experiment
from ...stats.counts import share_interval
from ...units import absent
from ..samples.rules import PATH, off_part
from .components_by_size import KEYS, check, components_by_size

YES, NO, PART, OPEN, UNTESTED = "yes", "no", "in part", "cannot be told", "not tested"
PAPER = Path(__file__).with_name("findings.toml")
# Interrupts behind which a driver may have worked, too.
_DEVICES = ("device interrupt", "interrupt")
# Judged for a link of 10 Gbit/s; the paper speaks of receiving only.
_CORES, _LINK = "cores_per_gbit", 10

Finding = dict[str, Any]
Ends = tuple[Any, Any]


@question(
    check=check,
    main="findings",
    columns=(
        *("claim", "holds", "protocol", "io_side", "document_figure", "ours_low", "ours_high"),
        *("ours_unit", "holds_without_interrupts", "why", "document_place"),
    ),
    rows=40,
)
def findings(experiment: Experiment, event: str | None = None, rules: str | None = None) -> Answer:
    """Which findings of Liao and Bhuyan (2012) hold here, which do not, and which cannot be tested.

    A row per finding, protocol and side; `verdicts`: the summary of these. Ours are shares of the
    work on a packet's path, as in components_by_size(). Each is a range. It begins at the lower end
    of the sampling's 95 % interval. It ends at the upper end of the share with all interrupts off
    that may belong to it: in the path's own work, or behind a device's interrupt. A finding holds
    if all of the range meets the figure, and does not hold if none of it does.

    The whole includes receiving interrupts of another CPU or of the timer: a sender's RPS causes
    them, and the paper's host had none. `holds_without_interrupts` leaves them out. The paper's
    figures are shares of its processing time. Its abstract, introduction and beginnings of sections
    were read. These say neither whether it received or sent, nor by which protocol, so each is
    judged.

    Source: components_by_size; G. Liao, L. Bhuyan, Analyzing performance and power efficiency of
    network processing over 10 GbE, J. Parallel Distrib. Comput. 72 (2012).
    """
    ours = components_by_size(experiment, event=event, rules=rules)
    paper = tomllib.loads(PAPER.read_text(encoding="utf-8"))
    sides = _with_ends(ours["by_size"], ours["sides"])
    rows, verdicts = [], []
    for finding in paper["tested"]:
        of_paper = {
            "claim": finding["claim"],
            "document_place": finding["place"],
            "document_figure": finding["figure"],
        }
        judged = [
            of_paper | {"protocol": protocol, "io_side": side} | _judged(finding, steps)
            for (protocol, side), steps in sides.groupby(
                ["protocol", "io_side"], dropna=False, sort=False
            )
            if finding["column"] != _CORES or side == "receive"
        ]
        rows += judged
        verdicts.append(of_paper | _verdict(judged))
    for finding in paper["untested"]:
        of_paper = {"claim": finding["claim"], "document_place": finding["place"]}
        rows.append(of_paper | {"holds": UNTESTED, "why": finding["why"]})
    return Answer(
        findings=pd.DataFrame(rows),
        is_timed=ours["is_timed"],
        verdicts=pd.DataFrame(verdicts),
    )


def _with_ends(by_size: pd.DataFrame, sides: pd.DataFrame) -> pd.DataFrame:
    # Adds samples, how many the shares are of, and two parts of interrupts off: open_share may be
    # any component's, received_share is receiving interrupts.
    off = by_size["interrupts_off_in"]
    may = off.notna() & (off.map(off_part).eq(PATH) | off.isin(_DEVICES))
    rows = by_size.assign(open_share=by_size["path_share"].where(may, 0.0))
    by = rows.groupby(KEYS, dropna=False)[["samples", "open_share"]].sum().reset_index()
    sides = sides.merge(by, on=KEYS, how="left")
    # Repeats at one size are added up: their shares are of as many runs.
    sides["open_share"] /= sides.groupby(KEYS, dropna=False)["packets"].transform("size")
    return sides.assign(received_share=(sides["off_share"] - sides["open_share"]).clip(0, 1))


def _judged(finding: Finding, rows: pd.DataFrame) -> dict[str, Any]:
    sizes = rows["io_bytes"]
    if finding["at"] == "the smallest size":
        rows = rows[sizes == sizes.min()]
    elif finding["at"] == "the largest size":
        rows = rows[sizes == sizes.max()]
    is_share = finding["column"] != _CORES
    scale = 100 if is_share else _LINK
    (low, high), verdicts = _each(finding, rows)
    # The same work without the interrupts that another CPU sent for it, or a timer.
    rest = 1 - rows["received_share"]
    names = {finding["column"], finding.get("most"), "open_share"} & set(rows.columns)
    shares = {name: rows[name] / rest for name in names}
    others = rows.assign(samples=rows["samples"] * rest, **shares)
    return {
        "ours_low": scale * float(low.min()),
        "ours_high": scale * float(high.max()),
        "ours_unit": "%" if is_share else "CPUs",
        "holds": _whole(verdicts),
        "holds_without_interrupts": _whole(_each(finding, others)[1]) if is_share else None,
        "why": _at_sizes(verdicts, rows["io_bytes"]) or f"at {finding['at']}",
    }


def _each(finding: Finding, rows: pd.DataFrame) -> tuple[Ends, list[str]]:
    # For each size the range of ours, and the verdict.
    value: pd.Series[float] = rows[str(finding["column"])].astype("float64")
    low, high = (value, value) if finding["column"] == _CORES else _interval(value, rows)
    is_least = "least" in finding
    bound = finding["least" if is_least else "most"]
    # A number, or another share with its own interval.
    lower, upper = _interval(rows[bound], rows) if isinstance(bound, str) else (bound, bound)
    holds = low >= upper if is_least else high <= lower
    fails = high < lower if is_least else low > upper
    return (low, high), list(np.select([holds, fails], [YES, NO], OPEN))


def _interval(share: "pd.Series[float]", rows: pd.DataFrame) -> Ends:
    # The interval of the sampling; at the upper end with all that may belong to the share.
    samples, with_open = rows["samples"], (share + rows["open_share"]).clip(upper=1.0)
    low, _ = share_interval(share * samples, samples)
    _, high = share_interval(with_open * samples, samples)
    # The score interval of no samples begins at 0, but for rounding.
    return low.round(9), high.round(9)


def _whole(verdicts: Iterable[str]) -> str:
    # What fails anywhere does not hold, or holds in part where it holds elsewhere.
    kinds = set(verdicts)
    if PART in kinds or {YES, NO} <= kinds:
        return PART
    return next(kind for kind in (NO, OPEN, YES) if kind in kinds)


def _at_sizes(verdicts: list[str], sizes: "pd.Series[int]") -> str:
    # Which verdict is of which sizes; "" where it is the same at all.
    by: dict[str, dict[str, None]] = {}
    for verdict, size in zip(verdicts, sizes, strict=True):
        by.setdefault(verdict, {})[f"{size:,}"] = None
    parts = [f"{verdict} at {' and '.join(at)} bytes" for verdict, at in by.items()]
    return "; ".join(parts) if len(by) > 1 else ""


def _verdict(judged: list[dict[str, Any]]) -> dict[str, Any]:
    # The verdict of a finding over all protocols and sides.
    sides: dict[str, list[str]] = {}
    for row in judged:
        protocol, side = row["protocol"], row["io_side"]
        text = side if absent(protocol) else f"{protocol.upper()} {side}"
        sides.setdefault(row["holds"], []).append(text)
    others = [row["holds_without_interrupts"] for row in judged]
    why = "; ".join(f"{kind}: {', '.join(texts)}" for kind, texts in sides.items())
    return {
        "ours_unit": judged[0]["ours_unit"],
        "ours_low": np.nanmin([row["ours_low"] for row in judged]),
        "ours_high": np.nanmax([row["ours_high"] for row in judged]),
        "holds": _whole(sides),
        "holds_without_interrupts": None if None in others else _whole(others),
        "why": why if len(sides) > 1 else "",
    }
