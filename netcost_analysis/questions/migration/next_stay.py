# Where tasks next ran after given moments, batch by batch.

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from ..folds import content_of, fold

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline


@dataclass(frozen=True)
class _Asked:
    moments: pd.DataFrame = field(compare=False)
    content: bytes


@dataclass(frozen=True, eq=False)
class _Followed:
    # found: parts of next_stays(). rest: moments of tasks that did not run since.
    found: list[pd.DataFrame]
    rest: pd.DataFrame


def next_stays(timeline: "Timeline", moments: pd.DataFrame) -> pd.DataFrame:
    # When and on which CPU the task of each row next began to run: in_ns, ran_on (Int64), NA where
    # it did not. moments: time_ns, tid; by time. The index is theirs.
    rows = moments[["time_ns", "tid"]].astype("int64")
    asked = _Asked(rows, content_of(rows.index.to_numpy(), rows.to_numpy()))
    none = pd.DataFrame({"in_ns": [], "ran_on": []}, dtype="Int64")
    found = _followed(timeline, asked=asked).found
    return pd.concat([none, *(part.astype("Int64") for part in found)]).reindex(moments.index)


@fold("slices")
def _followed(before: _Followed | None, slices: pd.DataFrame, asked: _Asked) -> _Followed:
    # A task's stays come in the order in which they end.
    found, rest = ([], asked.moments) if before is None else (before.found, before.rest)
    of = slices["tid"].isin(rest["tid"].unique()) & (slices["tid"] != 0)
    stays = slices[of.fillna(False).to_numpy(dtype=bool)][["tid", "in_ns", "cpu"]].astype("int64")
    if not len(stays):
        return _Followed(found, rest)
    stays = stays.rename(columns={"cpu": "ran_on"}).sort_values("in_ns", kind="stable")
    near = rest[rest["time_ns"] <= stays["in_ns"].iloc[-1]]
    after = pd.merge_asof(
        near.rename_axis("moment").reset_index(),
        stays,
        left_on="time_ns",
        right_on="in_ns",
        by="tid",
        direction="forward",
    ).set_index("moment")
    after = after[after["in_ns"].notna().to_numpy()][["in_ns", "ran_on"]]
    return _Followed([*found, after], rest.drop(index=after.index))
