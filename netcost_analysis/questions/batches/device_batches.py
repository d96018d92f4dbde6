# How many packets the polls of each device received.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...timeline.timeline import Timeline
from .poll_sizes import (
    COUNTED,
    TIMED,
    budget_of,
    by_work,
    mean_batch,
    poll_sizes,
    times_by_work,
    traps_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

# So many are shown one by one.
_DEVICES = 3
_TYPES: dict[str, Any] = {
    "device": object,
    "polls": "int64",
    "known": "int64",
    "packets": "Int64",
    "batch_mean": "Float64",
    "batch_median": "Float64",
    "empty_polls": "Int64",
    "full_polls": "Int64",
    "empty_share": "float64",
    "almost_full_polls": "Int64",
    "budget": "Int64",
    "almost_full_work": "Int64",
    "without_begin": "int64",
}


@question(
    needs=("napi:napi_poll",),
    inputs=(COUNTED, TIMED),
    main_columns=(
        "device",
        "polls",
        "packets",
        "batch_mean",
        "batch_median",
        "empty_polls",
        "full_polls",
    ),
)
def device_batches(timeline: Timeline) -> pd.DataFrame:
    """How many packets the polls of each device received.

    Parameters
    ----------
    timeline : Timeline
        The window and the CPUs in question.

    Returns
    -------
    pandas.DataFrame
        A row per device, most polls first: device, polls, known (polls whose packets are),
        packets, batch_mean (packets of a poll that received any), batch_median (of all),
        empty_polls, full_polls, empty_share (of known), almost_full_polls (as trap of poll_sizes
        has them), budget (that most polls had), almost_full_work (one less), without_begin (busy
        polling and netpoll: no time is known). NA where unknown.

    Raises
    ------
    MissingEventsError
        Without one of the events it needs.

    Notes
    -----
    Source: poll_sizes.
    """
    rows = [
        {"device": device, **_row(sizes)}
        for device, sizes in poll_sizes(timeline).groupby("device", sort=True)
    ]
    frame = pd.DataFrame(rows, columns=list(_TYPES)).astype(_TYPES)
    shares = frame["empty_polls"] / frame["known"].astype("Float64")
    frame["empty_share"] = shares.astype("float64")
    frame["almost_full_work"] = frame["budget"] - 1
    return frame.sort_values("polls", ascending=False, kind="stable", ignore_index=True)


def _row(sizes: pd.DataFrame) -> dict[str, Any]:
    # sizes: of one device.
    polls, traps = by_work(sizes), traps_of(sizes)
    row = {
        "polls": traps.polls,
        "known": int(polls.sum()),
        "budget": budget_of(sizes),
        "without_begin": traps.without_begin,
    }
    if not row["known"]:
        return row
    return row | {
        "packets": int(sizes["packets"].sum()),
        "batch_mean": mean_batch(polls),
        "batch_median": _median(polls),
        "empty_polls": traps.of("empty"),
        "full_polls": traps.of("full"),
        "almost_full_polls": traps.of("almost full"),
    }


def _median(polls: "pd.Series[int]") -> float:
    # Of packets of a poll, where polls is how many have so many.
    upto, half = polls.cumsum(), polls.sum() / 2
    middle = polls.index[(upto >= half) & (upto - polls <= half)]
    return float(middle[[0, -1]].to_numpy().mean())


@device_batches.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # in_all: of all devices; rest: of those that are not shown one by one.
    frame, rest = answer.frame, answer.frame[_DEVICES:]
    names = ("polls", "known", "packets", "without_begin")
    return {
        part: {name: int(rows[name].sum()) for name in names}
        for part, rows in (("in_all", frame), ("rest", rest))
    }


@device_batches.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    # devices: the first so many rows; rest: of the others, None where there are none.
    others = answer.frame[_DEVICES:]
    return {
        "devices": answer.frame[:_DEVICES].to_dict("records"),
        "rest": {**answer.parts["rest"], "devices": len(others)} if len(others) else None,
        "without_begin": answer.parts["in_all"]["without_begin"],
    }


def _known(answer: "Answer") -> list[dict[str, Any]]:
    return _with_work(answer.frame[:_DEVICES])


def _with_work(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return [{"device": device} for device in rows.loc[rows["known"] > 0, "device"]]


@device_batches.plot(
    title=lambda _, device: f"Packets per poll of {device}",
    height=2.4,
    panels=_known,
    choices=lambda answer: _with_work(answer.frame),
)
def _sizes(ax: "Axes", answer: "Answer", device: str) -> None:
    from ...plots.batches import batches

    sizes = poll_sizes(answer.timeline)
    sizes = sizes[sizes["device"] == device]
    batches(ax, by_work(sizes), budget_of(sizes))
    ax.set_title(device)


@device_batches.plot(
    "cost",
    title=lambda _, device: f"Time per packet of {device}, by packets per poll",
    height=2.4,
    panels=_known,
    choices=lambda answer: _with_work(answer.frame),
)
def _cost(ax: "Axes", answer: "Answer", device: str) -> None:
    from ...plots.batches import cost_by_batch

    polls = TIMED(answer.timeline).lengths
    cost_by_batch(ax, times_by_work(polls, device))
    ax.set_title(device)
