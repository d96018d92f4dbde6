"""Whether the hidden cost predicts what runs lost from which it was not learnt."""

from collections.abc import Callable, Iterator

import pandas as pd

from .fitting import fit

# What a prediction may be off by: five percentage points of work against the baseline.
AIM_SHARE = 0.05
_SHARES = ("predicted_share", "lost_share", "error_share", "steal_share")
# Which runs the one that is predicted may not be learnt from.
_LEFT_OUT: dict[str, Callable[[pd.DataFrame, pd.Series], "pd.Series[bool]"]] = {
    "rate": lambda table, one: table["condition"] == one["condition"],
    "repeat": lambda table, one: table["repeat"] == one["repeat"],
    "both": lambda table, one: (
        (table["condition"] == one["condition"]) | (table["repeat"] == one["repeat"])
    ),
}


def predictions(table: pd.DataFrame) -> pd.DataFrame:
    """What each run with a load lost, predicted from others.

    table: as fitting.wide returns it. Returns a row per run, way of leaving it out and predictor:
    bundle, condition, repeat, held_out (rate: all runs of its rate; repeat: all of its repeat;
    both), run (load_traced, load), predictor, predicted_share (of wall time lost), lost_share
    (by work), error_share (predicted - lost), steal_share (of that run). Predictors of a traced
    run: ticks and traced, which learn nothing; traced_and_hidden, its own traced loss and
    interrupts times hidden_ns. Of an untraced run: ticks; counted, its own interrupts and packets
    times what the others' traces show of each; counted_and_hidden, with hidden_ns more and the cost
    of the events less.
    """
    rows = []
    # A run at rate 0 loses nothing, and would only make the errors look smaller.
    loaded = table[table["untraced_lost"].notna()]
    for held_out, left_out in _LEFT_OUT.items():
        for name, one in loaded.iterrows():
            learnt = table[~left_out(table, one)]
            if not len(learnt):
                continue
            head = (name, one["condition"], one["repeat"], held_out)
            for run, predictor, predicted in _predicted(one, fit(learnt).iloc[0]):
                before = "" if run == "load_traced" else "untraced_"
                lost, steal = one[f"{before}lost"], one[f"{before}steal"]
                rows.append((*head, run, predictor, predicted, lost, predicted - lost, steal))
    return pd.DataFrame(
        rows,
        columns=[
            *("bundle", "condition", "repeat", "held_out", "run", "predictor"),
            *_SHARES,
        ],
    ).astype(dict.fromkeys(_SHARES, float))


def _predicted(one: pd.Series, learnt: pd.Series) -> Iterator[tuple[str, str, float]]:
    yield "load_traced", "ticks", one["ticks"]
    yield "load_traced", "traced", one["traced"]
    hidden = learnt["hidden_ns"] / 1e9
    yield "load_traced", "traced_and_hidden", one["traced"] + hidden * one["interrupts"]
    yield "load", "ticks", one["untraced_ticks"]
    interrupts, packets = one["untraced_interrupts"], one["untraced_packets"]
    counted = (
        learnt["traced_interrupt_ns"] * interrupts + learnt["traced_packet_ns"] * packets
    ) / 1e9
    yield "load", "counted", counted
    # Both what was traced and what was hidden hold the price of looking, which nobody paid here.
    events = learnt["events_per_interrupt"] * interrupts + learnt["events_per_packet"] * packets
    looking = learnt["looking_ns"] * events / 1e9
    yield "load", "counted_and_hidden", counted + hidden * interrupts - looking


def errors(predicted: pd.DataFrame) -> pd.DataFrame:
    """How far predictions are off, by held_out, run and predictor.

    predicted: as predictions returns it. Returns columns held_out, run, predictor, runs (how many),
    mean_error_share (above 0 where too much is predicted), mean_absolute_error_share,
    largest_error_share, within_5_points (how many) and within_5_points_share.
    """
    keys = ["held_out", "run", "predictor"]
    size = predicted["error_share"].abs()
    grouped = predicted.assign(size=size, within=(size <= AIM_SHARE).where(size.notna())).groupby(
        keys, sort=False
    )
    return grouped.agg(
        runs=("size", "count"),
        mean_error_share=("error_share", "mean"),
        mean_absolute_error_share=("size", "mean"),
        largest_error_share=("size", "max"),
        within_5_points=("within", "sum"),
        within_5_points_share=("within", "mean"),
    ).reset_index()
