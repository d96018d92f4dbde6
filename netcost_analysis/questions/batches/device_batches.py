# How many packets the polls of each device received.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.timeline import Timeline
from .poll_sizes import (
    COUNTED,
    TIMED,
    budget_of,
    by_work,
    draw_sizes,
    mean_batch,
    poll_sizes,
    times_by_work,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# So many are shown one by one.
_DEVICES = 3
_COLUMNS = [
    *("device", "polls", "known", "packets", "batch_mean", "batch_median", "empty_polls"),
    *("full_polls", "empty_share", "almost_full_polls", "budget", "almost_full_work"),
    "without_begin",
]
_TRAPS = {"empty_polls": "empty", "full_polls": "full", "almost_full_polls": "almost full"}


@question(
    needs=("napi:napi_poll",),
    inputs=(COUNTED, TIMED),
    columns=(
        *("device", "polls", "packets", "batch_mean", "batch_median"),
        *("empty_polls", "full_polls"),
    ),
)
def device_batches(timeline: Timeline) -> Answer:
    """How many packets the polls of each device received.

    A row per device, most polls first. batch_mean is of polls that received any, batch_median of
    all; full_polls and almost_full_polls are those traps of poll_sizes. NA before Linux 4.8, whose
    napi_poll has no work. `rest`: the devices behind the third. Source: poll_sizes.
    """
    sizes = poll_sizes(timeline).frame.astype({"device": object})
    known, of = sizes[sizes["work"].notna()], sizes.groupby("device", sort=True)
    frame = of[["polls", "without_begin"]].sum()
    frame["known"] = known.groupby("device")["polls"].sum().reindex(frame.index, fill_value=0)
    frame["packets"] = known.groupby("device")["packets"].sum().reindex(frame.index)
    for column, trap in _TRAPS.items():
        frame[column] = known[known["trap"] == trap].groupby("device")["polls"].sum()
        frame[column] = frame[column].fillna(0).astype("Int64").where(frame["known"] > 0)
    frame["budget"] = pd.Series({name: budget_of(rows) for name, rows in of})
    by_device = {device: by_work(rows) for device, rows in known.groupby("device")}
    frame["batch_mean"] = pd.Series({name: mean_batch(one) for name, one in by_device.items()})
    frame["batch_median"] = pd.Series({name: _median(one) for name, one in by_device.items()})
    frame["empty_share"] = frame["empty_polls"] / frame["known"].where(frame["known"] > 0)
    frame["almost_full_work"] = frame["budget"] - 1
    frame = frame.sort_values("polls", ascending=False, kind="stable").reset_index()
    names = ["polls", "known", "packets", "without_begin"]
    others = frame[_DEVICES:]
    return Answer(
        frame[_COLUMNS],
        in_all={name: int(frame[name].sum()) for name in names},
        rest={"devices": len(others), **{name: int(others[name].sum()) for name in names}},
    )


def _median(polls: "pd.Series[int]") -> float:
    # Of packets of a poll, where polls is how many have so many.
    upto, half = polls.cumsum(), polls.sum() / 2
    middle = polls.index[(upto >= half) & (upto - polls <= half)]
    return float(middle[[0, -1]].to_numpy().mean())


def _known(answer: Answer) -> list[dict[str, Any]]:
    return _with_work(answer.frame[:_DEVICES])


def _with_work(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return [{"device": device} for device in rows.loc[rows["known"] > 0, "device"]]


@device_batches.plot(
    title=lambda _, device: f"Packets per poll of {device}",
    height=2.4,
    panels=_known,
    choices=lambda answer: _with_work(answer.frame),
)
def _sizes(ax: "Axes", answer: Answer, device: str) -> None:
    draw_sizes(ax, poll_sizes(answer.timeline).frame, device)


@device_batches.plot(
    "cost",
    title=lambda _, device: f"Time per packet of {device}, by packets per poll",
    height=2.4,
    panels=_known,
    choices=lambda answer: _with_work(answer.frame),
)
def _cost(ax: "Axes", answer: Answer, device: str) -> None:
    from ...plots.batches import cost_by_batch

    polls = TIMED(answer.timeline).lengths
    cost_by_batch(ax, times_by_work(polls, device))
    ax.set_title(device)
