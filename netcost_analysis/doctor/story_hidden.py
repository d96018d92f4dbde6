"""What the doctor says of the hidden cost and its predictions, computed; HTML, names escaped."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..series import Series
from ..story import filled
from ..units import absent, duration, share
from .fitting import fit, wide

if TYPE_CHECKING:
    from .hidden import HiddenCost

# What other tasks may have of a calibration's CPU before it has to be said.
OTHERS_LIMIT = 0.03
_RUNS = {"load_traced": "traced", "load": "untraced"}
_PREDICTORS = {
    "ticks": "its clock (nothing is learnt)",
    "traced": "its trace alone (nothing is learnt)",
    "traced_and_hidden": "its trace and hidden cost",
    "counted": "its counters times the traced price",
    "counted_and_hidden": "its counters times the traced price and hidden cost",
}


def hidden_text(hidden: "HiddenCost", series: Series, same_host: bool = True) -> str:
    """The hidden cost, with its interval and what it holds.

    same_host: whether it was measured on a host like the capture's.
    """
    rows = {str(name): row for name, row in hidden.coefficients.iterrows()}
    row, looking = rows["hidden_ns"], rows["looking_ns"]
    events = float(hidden.coefficients["value"]["events_per_interrupt"])
    low, high = hidden.untraced_hidden_ns
    others = float(hidden.runs["others_share"].max())
    machine = series.bundle(str(series.steps["bundle"].iloc[0])).manifest.get("host") or {}
    # Of another host it is no answer to what this capture asks.
    text = "<p class='answer'>" if same_host else "<p>"
    return filled(
        text + "{where} took <b>{value}</b> beyond what tracepoints enclose "
        "({interval}).</p><p>That is on {machine}, over {runs} recordings at {rates} rates. It "
        "is the slope above: what the work says was lost and the trace does not find, over the "
        "interrupts that the kernel counted. Entry and exit, exits to the hypervisor, caches "
        "left cold, and what of tracing's own cost lies outside the pairs are in it. An event "
        "costs {looking} ({looking_interval}), by runs with tracing and without at the same rate, "
        "and an interrupt makes {events} of them: without tracing the hidden cost is between {low} "
        "and {high}. The trace itself has {traced} for an interrupt and {packet} for a packet.</p>"
        "<p>One price for all is a simplification: {by_rate}. The kernel counted {steal}; "
        "other tasks had {others} of the CPU in a traced run at most.</p>",
        value=duration(row["value"]),
        where="Each interrupt" if same_host else "On the calibration's host each interrupt",
        interval=_interval(row),
        machine=", ".join(
            str(one)
            for one in (machine.get("cpu_model"), machine.get("virtualization"))
            if one and one != "none"
        )
        or "the calibration's host",
        runs=f"{(hidden.runs['run'] == 'load_traced').sum():,}",
        rates=hidden.runs["condition"].nunique(),
        looking=duration(looking["value"]),
        looking_interval=_interval(looking),
        events=f"{events:.1f}",
        steal=_steal(hidden.steal_max_share),
        by_rate=_by_rate(hidden),
        others="an unknown part" if absent(others) else share(others),
        low=duration(low),
        high=duration(high),
        traced=duration(hidden.coefficients["value"]["traced_interrupt_ns"]),
        packet=duration(hidden.coefficients["value"]["traced_packet_ns"]),
    ) + _disturbed(hidden, others)


def _steal(most: float) -> str:
    if absent(most):
        return "steal in none of the runs' bundles"
    return f"a steal of {share(most)} in a run at most" if most else "no steal in any run"


def _by_rate(hidden: "HiddenCost") -> str:
    # How far the price of one rate is from another's, where there is a load at all.
    table = wide(hidden.runs)
    table = table[table["untraced_lost"].notna()]
    found = {
        str(rate): (float(fit(part)["hidden_ns"].iloc[0]), float(part["interrupts"].mean()))
        for rate, part in table.groupby("condition", sort=False)
    }
    known = {rate: one for rate, one in found.items() if not absent(one[0])}
    if len(known) < 2:
        return "there is but one rate"
    low, high = min(known, key=lambda one: known[one][0]), max(known, key=lambda one: known[one][0])
    few = min(known, key=lambda one: known[one][1])
    return (
        f"fitted at each rate alone it goes from {duration(known[low][0])} ({low}) to "
        f"{duration(known[high][0])} ({high}); at {few}, where interrupts are fewest, an error of "
        f"one point in the work is {duration(1e7 / known[few][1])} of it"
    )


def _disturbed(hidden: "HiddenCost", others: float) -> str:
    # The untraced runs may have had as much of others, which nothing tells.
    if not others > OTHERS_LIMIT:
        return ""
    runs = hidden.runs[hidden.runs["others_share"] > OTHERS_LIMIT]
    return (
        f"<p><b>This calibration was disturbed.</b> In {len(runs)} of its traced runs other tasks "
        f"had more than {share(OTHERS_LIMIT)} of the victim's CPU; how much they had of the "
        "untraced ones, the baselines among them, nobody knows. Record it again where nothing "
        "else runs.</p>"
    )


def _interval(row: "pd.Series[Any]") -> str:
    if absent(row["low"]):
        return "too few recordings for an interval"
    return f"95 % interval {duration(row['low'])} to {duration(row['high'])}"


def errors_html(hidden: "HiddenCost", held_out: str) -> str:
    """The errors of the predictions as a table, in points."""
    table = hidden.error_table[hidden.error_table["held_out"] == held_out]
    rows = []
    for row in table.itertuples():
        cells = (
            f"{_RUNS[str(row.run)]}: {_PREDICTORS[str(row.predictor)]}",
            f"{row.runs}",
            f"{100 * float(str(row.mean_error_share)):+.1f}",
            f"{100 * float(str(row.mean_absolute_error_share)):.1f}",
            f"{100 * float(str(row.largest_error_share)):.1f}",
            share(row.within_5_points_share) or "0 %",
        )
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    heads = ("prediction of the loss of a run, from", "runs", "mean error", "mean size of error",
             "largest", "within 5 points")  # fmt: skip
    head = "".join(f"<th>{one}</th>" for one in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def verdict(hidden: "HiddenCost", held_out: str) -> str:
    """Whether the predictions are as near as they are meant to be, with tracing and without."""
    table = hidden.error_table[hidden.error_table["held_out"] == held_out]
    texts = []
    for run, name in (("load_traced", "traced_and_hidden"), ("load", "counted_and_hidden")):
        rows = table[(table["run"] == run) & (table["predictor"] == name)]
        if not len(rows):
            continue
        row = rows.iloc[0]
        within = round(float(row["within_5_points_share"]) * int(row["runs"]))
        texts.append(
            f"of {int(row['runs'])} {_RUNS[run]} runs {within} are predicted within 5 points, "
            f"{100 * float(row['mean_absolute_error_share']):.1f} off on average and "
            f"{100 * float(row['largest_error_share']):.1f} at most"
        )
    if not texts:
        return "<p>There is no run with a load to predict.</p>"
    said = "; ".join(texts)
    return f"<p class='answer'>{said[0].upper()}{said[1:]}.</p>{_farthest(hidden, held_out)}" + (
        _noise(hidden)
    )


def _farthest(hidden: "HiddenCost", held_out: str) -> str:
    # The prediction that failed most, with what could excuse it.
    table = hidden.predicted[
        (hidden.predicted["held_out"] == held_out)
        & hidden.predicted["predictor"].isin(["traced_and_hidden", "counted_and_hidden"])
    ].dropna(subset=["error_share"])
    if not len(table):
        return ""
    row = table.iloc[int(table["error_share"].abs().to_numpy().argmax())]
    return filled(
        "<p>Farthest off is the {run} run of {bundle}: {lost} lost, {said} predicted. The steal "
        "that the kernel counted in it was {steal}.</p>",
        run=_RUNS[str(row["run"])],
        bundle=row["bundle"],
        lost=share(row["lost_share"]),
        said=share(row["predicted_share"]),
        steal="unknown" if absent(row["steal_share"]) else share(row["steal_share"]),
    )


def _noise(hidden: "HiddenCost") -> str:
    # How far the measure itself goes from one run to the next, when nothing happens.
    runs = hidden.runs
    idle = runs[
        (runs["run"] == "idle_traced")
        | ((runs["condition"] == "0") & (runs["run"] == "load_traced"))
    ].dropna(subset=["by_work_share"])
    if len(idle) < 2:
        return ""
    off = 100 * (idle["by_work_share"] - 1).abs()
    return (
        f"<p>The measure has noise of its own: with no load at all, {len(idle)} traced runs differ "
        f"from their baseline by {off.mean():.1f} points on average, {off.max():.1f} at most.</p>"
    )
