# How many packets the polls of each device received.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...timeline.timeline import Timeline
from ..example import detail
from ..question import question
from .poll_sizes import polls_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..answer import Answer

# Of so many the page tells one by one.
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
    "almost_full_polls": "Int64",
    "budget": "Int64",
    "without_begin": "int64",
}


@question(
    needs=("napi:napi_poll",),
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

    Returns a row per device, most polls first: device, polls, known (polls whose work is), packets
    (Int64), batch_mean (packets of a poll that received any), batch_median (of all; both NaN where
    unknown), empty_polls, full_polls, almost_full_polls (as trap of poll_sizes has them), budget
    (that most polls had), without_begin (polls that busy polling or netpoll made: no time is
    known). Raises MissingEventsError without napi_poll. Source: polls, of a large capture those of
    a stretch from its middle.
    """
    polls = detail(timeline).polls
    rows = []
    for device, own in polls.groupby(polls["device"].astype(object), dropna=False):
        found = polls_of(own)
        traps = found.traps
        row = {"device": device, "polls": len(own), "known": found.known}
        work = {
            "packets": found.packets,
            "batch_mean": found.batch_mean,
            "batch_median": found.median,
            "empty_polls": traps.of("empty"),
            "full_polls": traps.of("full"),
            "almost_full_polls": traps.of("almost full"),
        }
        unknown = dict.fromkeys(work, None)
        rest = {"budget": found.budget, "without_begin": traps.without_begin}
        rows.append(row | (work if found.known else unknown) | rest)
    columns = list(_TYPES)
    frame = pd.DataFrame(rows, columns=columns).astype(_TYPES)
    return frame.sort_values("polls", ascending=False, kind="stable", ignore_index=True)


@device_batches.figures
def _figures(answer: "Answer[pd.DataFrame]") -> dict[str, Any]:
    # devices: the first so many rows, each with empty_share and almost (one less than the budget);
    # rest: of the others, None where there are none.
    frame = answer.frame
    shown, rest = frame[:_DEVICES], frame[_DEVICES:]
    shares = shown["empty_polls"] / shown["known"].astype("Float64")
    devices = shown.assign(empty_share=shares, almost=shown["budget"] - 1)
    others = {
        "devices": len(rest),
        "polls": int(rest["polls"].sum()),
        "known": int(rest["known"].sum()),
        "packets": int(rest["packets"].sum()),
    }
    return {
        "devices": devices.to_dict("records"),
        "rest": others if len(rest) else None,
        "without_begin": int(frame["without_begin"].sum()),
    }


def _known(answer: "Answer[pd.DataFrame]") -> list[dict[str, Any]]:
    shown = answer.frame[:_DEVICES]
    return [{"device": device} for device in shown.loc[shown["known"] > 0, "device"]]


@device_batches.plot(
    title=lambda _, device: f"Packets per poll of {device}", height=2.4, panels=_known
)
def _sizes(ax: "Axes", answer: "Answer[pd.DataFrame]", device: str) -> None:
    from ...plots.batches import batches

    polls = _polls(answer, device)
    budget = answer.frame.set_index("device")["budget"][device]
    batches(ax, polls, None if pd.isna(budget) else int(budget))
    ax.set_title(device)


@device_batches.plot(
    "cost",
    title=lambda _, device: f"Time per packet of {device}, by packets per poll",
    height=2.4,
    panels=_known,
)
def _cost(ax: "Axes", answer: "Answer[pd.DataFrame]", device: str) -> None:
    from ...plots.batches import cost_per_packet

    cost_per_packet(ax, _polls(answer, device))
    ax.set_title(device)


def _polls(answer: "Answer[pd.DataFrame]", device: str) -> pd.DataFrame:
    polls = detail(answer.timeline).polls
    return polls[polls["device"] == device]
