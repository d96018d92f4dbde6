# What document 001 found of a packet's work, beside what an experiment over sizes shows.

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...answers.question import question
from ...opening.experiment import Experiment
from ...stats.counts import share_interval
from ...units import absent
from .components_by_size import components_by_size
from .groups import PATH, off_part

if TYPE_CHECKING:
    from ...answers.answer import Answer

YES, NO, PART, OPEN, UNTESTED = "yes", "no", "in part", "cannot be told", "not tested"
DOCUMENT = Path(__file__).with_name("findings.toml")
# What a driver, too, may have done behind it.
_DEVICES = ("device interrupt", "interrupt")
_SMALLEST, _LARGEST = "the smallest size", "the largest size"
# Judged by a link of 10 Gbit/s, where only receiving is told of.
_CORES, _LINK = "cores_per_gbit", 10


class Findings(NamedTuple):
    """Answer of `findings`.

    Attributes
    ----------
    findings : pandas.DataFrame
        A row per finding, protocol and side, one per finding that was not tested: claim,
        document_place, document_figure, protocol, io_side, ours_low, ours_high, ours_unit ("%" or
        "CPUs"), holds ("yes", "no", "in part", "cannot be told", "not tested"),
        holds_without_interrupts (the same of shares of the work without received interrupts), why.
    is_timed : bool
        Whether a timer took the samples, which does not see what interrupts were off in.
    """

    findings: pd.DataFrame
    is_timed: bool


@question(
    check=lambda experiment: components_by_size.check and components_by_size.check(experiment),
    main="findings",
    columns=(
        *("claim", "holds", "protocol", "io_side", "document_figure", "ours_low", "ours_high"),
        *("ours_unit", "holds_without_interrupts", "why", "document_place"),
    ),
    rows=40,
)
def findings(
    experiment: Experiment, event: str | None = None, rules: str | None = None
) -> Findings:
    """Which of document 001's findings hold here, which do not, and which cannot be tested.

    - experiment: Of capture/lab/io-sizes.
    - event, rules: As components() takes them.

    A row per finding, protocol and side.

    Ours are shares of what is on a packet's way, as components_by_size() has them, from the lower
    end of the sampling's 95 % interval to the upper end of what it would be with all interrupts off
    that may belong to it: on the path's own work, or behind a device's interrupt. A finding holds
    where all of that meets the figure, and not where none of it does. Receiving another CPU's
    interrupts, or the timer's, is in the whole: a sender's RPS causes them, and the document's host
    had none; `holds_without_interrupts` leaves them out. The document's figures are of its
    processing time; of its text the abstract, introduction and beginnings of sections are at hand,
    which do not say whether it received or sent, nor by which protocol, so each is judged. Source:
    components_by_size; G. Liao, L. Bhuyan, J. Parallel Distrib. Comput. 72 (2012).
    """
    found = components_by_size(experiment, event=event, rules=rules)
    said = tomllib.loads(DOCUMENT.read_text(encoding="utf-8"))
    made: list[dict[str, Any]] = []
    sides = found.sides.assign(**_ends(found.by_size, found.sides))
    for one in said["tested"]:
        of_document = {"document_place": one["place"], "document_figure": one["figure"]}
        for keys, rows in sides.groupby(["protocol", "io_side"], dropna=False, sort=False):
            if one["column"] == _CORES and keys[1] != "receive":
                continue
            named = dict(zip(("protocol", "io_side"), keys, strict=True))
            made.append({"claim": one["claim"], **of_document, **named, **_judged(one, rows)})
    made += [
        {
            "claim": one["claim"],
            "document_place": one["place"],
            "holds": UNTESTED,
            "why": one["why"],
        }
        for one in said["untested"]
    ]
    return Findings(pd.DataFrame(made), found.is_timed)


def _ends(by_size: pd.DataFrame, sides: pd.DataFrame) -> "dict[str, pd.Series[Any]]":
    # Of each step and side: how many samples its shares are of, and what of interrupts off may be
    # any component's, and what may not.
    keys = ["protocol", "io_bytes", "io_side", "measured_cpu"]
    off = by_size["interrupts_off_in"]
    may = off.notna() & (off.map(off_part).eq(PATH) | off.isin(_DEVICES))
    rows = by_size.assign(open_share=by_size["path_share"].where(may, 0.0))
    by = rows.groupby(keys, dropna=False)[["samples", "open_share"]].sum()
    both = sides[keys].merge(by.reset_index(), on=keys, how="left")
    # Repeats at one size are added up: their shares are of as many runs.
    number = sides.groupby(keys, dropna=False)["packets"].transform("size")
    open_share = both["open_share"].set_axis(sides.index) / number
    return {
        "samples": both["samples"].set_axis(sides.index),
        "open_share": open_share,
        # The rest of interrupts off is receiving interrupts.
        "received_share": (sides["off_share"] - open_share).clip(0, 1),
    }


def _judged(one: dict[str, Any], rows: pd.DataFrame) -> dict[str, Any]:
    sizes = rows["io_bytes"]
    wanted = {_SMALLEST: sizes == sizes.min(), _LARGEST: sizes == sizes.max()}
    rows = rows[wanted.get(one["at"], sizes == sizes)]
    is_share = one["column"] != _CORES
    scale = 100 if is_share else _LINK
    ends, verdicts = _each(one, rows)
    # Of the same work without the interrupts that another CPU sent for it, or a timer.
    others = rows.assign(received_share=0.0, samples=rows["samples"] * (1 - rows["received_share"]))
    for name in {one["column"], one.get("most"), "open_share"} & set(rows.columns):
        others[name] = rows[name] / (1 - rows["received_share"]) if is_share else rows[name]
    holds, why = _together(verdicts, rows["io_bytes"], one["at"])
    return {
        "ours_low": scale * min(low for low, _ in ends),
        "ours_high": scale * max(high for _, high in ends),
        "ours_unit": "%" if is_share else "CPUs",
        "holds": holds,
        "holds_without_interrupts": whole(_each(one, others)[1]) if is_share else None,
        "why": why,
    }


def _each(one: dict[str, Any], rows: pd.DataFrame) -> tuple[list[tuple[float, float]], list[str]]:
    # At each size the ends of ours, and what they say.
    ends, verdicts = [], []
    for row in rows.to_dict("records"):
        value = float(row[one["column"]])
        ends.append((value, value) if one["column"] == _CORES else _interval(value, row))
        verdicts.append(_verdict(ends[-1], _bound(one, row), "least" in one))
    return ends, verdicts


def _interval(share: float, row: dict[Any, Any]) -> tuple[float, float]:
    # Of the sampling; and at the upper end with all that may belong to it.
    counted = row["samples"]
    low, _ = share_interval(share * counted, counted)
    _, high = share_interval(min(share + row["open_share"], 1.0) * counted, counted)
    # Of none a score interval begins at 0, but for its arithmetic.
    return round(float(low), 9), round(float(high), 9)


def _bound(one: dict[str, Any], row: dict[Any, Any]) -> tuple[float, float]:
    # A number, or another share with its own interval.
    bound = one["least"] if "least" in one else one["most"]
    return _interval(row[bound], row) if isinstance(bound, str) else (bound, bound)


def _verdict(ends: tuple[float, float], bound: tuple[float, float], least: bool) -> str:
    (low, high), (lower, upper) = ends, bound
    if np.isnan(low) or np.isnan(lower):
        return OPEN
    if least:
        return YES if low >= upper else NO if high < lower else OPEN
    return YES if high <= lower else NO if low > upper else OPEN


def whole(verdicts: Iterable[str]) -> str:
    # Of all of them: what fails anywhere does not hold, but in part where it does elsewhere.
    kinds = set(verdicts)
    if PART in kinds or {YES, NO} <= kinds:
        return PART
    return next(kind for kind in (NO, OPEN, YES) if kind in kinds)


def _whole_of(verdicts: "pd.Series[Any]") -> str | None:
    known = verdicts.dropna()
    return whole(known) if len(known) else None


def _together(verdicts: list[str], sizes: "pd.Series[Any]", at: str) -> tuple[str, str]:
    # One for all sizes, and at which it is which.
    kinds = dict.fromkeys(verdicts)
    if len(kinds) == 1:
        return verdicts[0], f"at {at}"
    parts = []
    for kind in kinds:
        of = [f"{size:,}" for size, one in zip(sizes, verdicts, strict=True) if one == kind]
        parts.append(f"{kind} at {' and '.join(dict.fromkeys(of))} bytes")
    return whole(verdicts), "; ".join(parts)


@findings.totals
def _totals(answer: "Answer") -> dict[str, pd.DataFrame]:
    # Of each finding that was tested what all protocols and sides come to.
    rows = answer.result.findings
    rows = rows[rows["holds"] != UNTESTED]
    made = []
    for name, of in rows.groupby("claim", sort=False):
        sides: dict[str, list[str]] = {}
        for row in of.to_dict("records"):
            sides.setdefault(row["holds"], []).append(_side(row))
        kinds = list(sides)
        made.append(
            {
                "claim": name,
                **of.iloc[0][["document_place", "document_figure", "ours_unit"]],
                "ours_low": of["ours_low"].min(),
                "ours_high": of["ours_high"].max(),
                "holds": whole(kinds),
                "holds_without_interrupts": _whole_of(of["holds_without_interrupts"]),
                "why": ""
                if len(kinds) == 1
                else "; ".join(f"{kind}: {', '.join(named)}" for kind, named in sides.items()),
            }
        )
    return {"verdicts": pd.DataFrame(made)}


def _side(row: dict[Any, Any]) -> str:
    protocol = row["protocol"]
    side = str(row["io_side"])
    return side if absent(protocol) else f"{protocol.upper()} {side}"


@findings.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    rows = answer.result.findings
    return {
        "verdicts": answer.parts["verdicts"].to_dict("records"),
        "untested": rows[rows["holds"] == UNTESTED].to_dict("records"),
        "is_timed": answer.result.is_timed,
    }
