"""What the doctor says of the hidden cost and its predictions, computed; HTML, names escaped."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...capture.experiment import Experiment
from ...units import absent, duration, points, share
from ..words import filled
from .hidden import OTHERS_LIMIT

if TYPE_CHECKING:
    from .hidden import HiddenCost

_RUNS = {"load_traced": "traced", "load": "untraced"}
_PREDICTORS = {
    "ticks": "its clock (nothing is learnt)",
    "traced": "its trace alone (nothing is learnt)",
    "traced_and_hidden": "its trace and hidden cost",
    "counted": "its counters times the traced price",
    "counted_and_hidden": "its counters times the traced price and hidden cost",
}


def hidden_text(hidden: "HiddenCost", series: Experiment, same_host: bool = True) -> str:
    """The hidden cost, with its interval and what it holds.

    same_host: whether it was measured on a host like the capture's.
    """
    rows = {str(name): row for name, row in hidden.coefficients.iterrows()}
    row, looking = rows["hidden_ns"], rows["looking_ns"]
    events = float(hidden.coefficients["value"]["events_per_interrupt"])
    low, high = hidden.untraced_hidden_ns
    others = hidden.others_max_share
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
        runs=f"{len(hidden.runs[hidden.runs['run'] == 'load_traced']):,}",
        rates=hidden.runs["condition"].nunique(),
        looking=duration(looking["value"]),
        looking_interval=_interval(looking),
        events=f"{events:.1f}",
        steal=_steal(hidden.steal_max_share),
        by_rate=_by_rate(hidden.by_rate),
        others="an unknown part" if absent(others) else share(others),
        low=duration(low),
        high=duration(high),
        traced=duration(hidden.coefficients["value"]["traced_interrupt_ns"]),
        packet=duration(hidden.coefficients["value"]["traced_packet_ns"]),
    ) + _disturbed(hidden)


def _steal(most: float) -> str:
    if absent(most):
        return "steal in none of the runs' bundles"
    return f"a steal of {share(most)} in a run at most" if most else "no steal in any run"


def _by_rate(table: pd.DataFrame) -> str:
    # How far the price of one rate is from another's.
    if len(table) < 2:
        return "there is but one rate"
    rows = table.sort_values("hidden_ns", kind="stable")
    low, high = rows.iloc[0], rows.iloc[-1]
    few = table.iloc[int(table["cpu_interrupts_per_s"].argmin())]
    return (
        f"fitted at each rate alone it goes from {duration(low['hidden_ns'])} ({low['condition']}) "
        f"to {duration(high['hidden_ns'])} ({high['condition']}); at {few['condition']}, where "
        f"interrupts are fewest, an error of one point in the work is {duration(few['point_ns'])} "
        "of it"
    )


def _disturbed(hidden: "HiddenCost") -> str:
    # The untraced runs may have had as much of others, which nothing tells.
    if not hidden.disturbed:
        return ""
    return (
        f"<p><b>This calibration was disturbed.</b> In {hidden.disturbed} of its traced runs other "
        f"tasks had more than {share(OTHERS_LIMIT)} of the victim's CPU; how much they had of the "
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
            points(row.mean_error_share, sign=True),
            points(row.mean_absolute_error_share),
            points(row.largest_error_share),
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
        texts.append(
            f"of {int(row['runs'])} {_RUNS[run]} runs {int(row['within_5_points'])} are "
            f"predicted within 5 points, {points(row['mean_absolute_error_share'])} off on average "
            f"and {points(row['largest_error_share'])} at most"
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
    runs, mean, most = hidden.noise
    if runs < 2:
        return ""
    return (
        f"<p>The measure has noise of its own: with no load at all, {runs} traced runs differ "
        f"from their baseline by {points(mean)} points on average, {points(most)} at most.</p>"
    )
