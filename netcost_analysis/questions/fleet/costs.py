# The figures of captures that share a host, a kernel, a device or a driver: sums over all of them.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...errors import LackingError
from ...fleet.fleet import Fleet
from ..batches.common import records
from .measured import COLUMNS, SUMS, command_for, measured, ratios

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

FIGURES = [
    *("network_cpu_share", "stolen_of_tasks_share", "ns_per_work", "batch_mean"),
    *("squeezed_share", "lowest_ns_per_work", "highest_ns_per_work"),
]
MAIN = (
    *("captures", "ns_per_work", "stolen_of_tasks_share", "network_cpu_share"),
    *("batch_mean", "highest_ns_per_work", "dearest", "squeezed_share"),
)

# So many rows have their dearest capture named in words.
_SHOWN = 12


def require_answers(fleet: Fleet) -> None:
    # Raises LackingError where no capture could be read.
    if not len(fleet.answers):
        raise LackingError("captures", f"{fleet.path} has no capture that could be read")


def costs(fleet: Fleet, by: str) -> pd.DataFrame:
    # A row per value of by, of KEYS, the dearest packets first.
    name = COLUMNS[by]
    rows = [{name: key, **_together(of)} for key, of in measured(fleet).groupby(name, sort=True)]
    columns = [name, "captures", "hosts", "packets", *FIGURES, "dearest", "command"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.sort_values("ns_per_work", ascending=False, kind="stable", ignore_index=True)


def _together(rows: pd.DataFrame) -> dict[str, Any]:
    # A ratio of sums is of the captures that know both parts of it.
    known = rows[SUMS].sum(min_count=1)
    for above, below in (("stolen_network_ns", "on_cpu_ns"), ("squeezes_low", "with_polls")):
        both = rows[[above, below]].dropna()
        known[[above, below]] = both.sum(min_count=1)
    found = ratios(pd.DataFrame([known])).iloc[0]
    priced = rows[rows["ns_per_work"].notna()]
    shown = (priced.nlargest(1, "ns_per_work") if len(priced) else rows)["path"].iloc[0]
    return {
        "captures": len(rows),
        "hosts": rows["hostname"].nunique(),
        "packets": known["packets"],
        **{one: found[one] for one in FIGURES if one in found},
        "lowest_ns_per_work": priced["ns_per_work"].min(),
        "highest_ns_per_work": priced["ns_per_work"].max(),
        "dearest": shown,
        "command": command_for(str(shown)),
    }


def ends(answer: "Answer", by: str) -> dict[str, pd.DataFrame]:
    # The rows with the highest and the lowest price of a packet, and the highest share stolen:
    # those that are known.
    frame = answer.frame.rename(columns={COLUMNS[by]: "named"})
    priced = frame[frame["ns_per_work"].notna()]
    stolen = frame[frame["stolen_of_tasks_share"].notna()]
    rows = {
        "dearest": priced.head(1),
        "cheapest": priced.tail(1),
        "most stolen": stolen.nlargest(1, "stolen_of_tasks_share"),
    }
    columns = ["end", "named", "ns_per_work", "stolen_of_tasks_share"]
    parts = [of.assign(end=end)[columns] for end, of in rows.items() if len(of)]
    return {"ends": pd.concat([pd.DataFrame(columns=columns), *parts], ignore_index=True)}


def words(answer: "Answer", by: str) -> dict[str, Any]:
    # What costs.md says.
    rows = {row["end"].replace(" ", "_"): row for row in records(answer.tables["ends"])}
    picked = {name: rows.get(name) for name in ("dearest", "cheapest", "most_stolen")}
    named = answer.frame.rename(columns={COLUMNS[by]: "named"})
    shown = {"first_rows": records(named.head(_SHOWN)), "more_rows": len(named[_SHOWN:])}
    return {"by": by, "rows": len(answer.frame), **shown, **picked}


def draw(ax: "Axes", answer: "Answer", by: str) -> None:
    # What a packet costs, a bar for each row; its captures' range as a line.
    from .plots import prices

    prices(ax, answer.frame, COLUMNS[by])


def height(answer: "Answer") -> float:
    return 0.9 + 0.33 * min(len(answer.frame), 20)


def panels(answer: "Answer") -> "list[dict[str, str]]":
    return [{}] if answer.frame["ns_per_work"].notna().any() else []
