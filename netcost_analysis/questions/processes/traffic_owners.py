# Softirq time by the process whose traffic it was, as far as the capture tells.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.question import question
from ...capture.requires import unrecorded
from ...timeline.timeline import Timeline
from .evidence import SERVANTS
from .recorded import RECEIVED, WOKEN
from .traffic import traffic

if TYPE_CHECKING:
    from ...answers.answer import Answer

# Of the network's softirq time: above it what would tell more is named.
_MAX_UNKNOWN = 0.05
# From the strongest witness to the weakest.
_WITNESSES = ("raiser", "packet", "socket", "wake-up", "unknown")


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=("softirqs", "polls"),
    columns=(
        "comm",
        "owner_comm",
        "owner_known_by",
        "ns",
        "softirq_share",
        "owner_tid",
        "tid",
    ),
)
def traffic_owners(timeline: Timeline) -> pd.DataFrame:
    """Softirq time by the process whose traffic it was, and by the process it ran in.

    A row per tid, comm (in whose context), owner_tid (Int64), owner_comm (whose traffic),
    owner_known_by and is_network, the network's first, falling by ns. softirqs (Int64): those of
    which all or a part was this owner's; ns; softirq_share (of all rows' ns). owner_known_by:

    - "raiser": the task that the softirq ran in raised it, on its own send or receive path;
    - "packet": its packet was received, or else sent, by this task;
    - "socket": data was announced on a socket whose announcements wake this task;
    - "wake-up": this task was woken;
    - "unknown"; and "no network" for softirqs other than NET_RX and NET_TX.

    Source: softirqs and polls, events of packets, sockets and wake-ups as far as they were
    recorded: raises and wake-ups by every profile but light, packets by anatomy. A softirq's time
    is shared evenly over its packets; ns adds up to that of softirq_time(). Between CPUs whose
    clocks disagree packets are not followed.
    """
    frame = traffic(timeline).by_owner.drop(columns="units").reset_index()
    whole = int(frame["ns"].sum())
    frame["softirq_share"] = frame["ns"] / whole if whole else float("nan")
    order = ["is_network", "ns"]
    return frame.sort_values(order, ascending=False, kind="stable", ignore_index=True)


class Owned(NamedTuple):
    # The network's softirq time by how its owner is known.
    # known_by: a row for each owner_known_by that has any, with its share. owners_mostly_known: of
    # all but 5 %. foreign_ns: ran in the time of a task that it was not for;
    # foreign: the row with most of that, as dict, None where there is none.
    ns: int
    known_by: pd.DataFrame
    owners_mostly_known: bool
    foreign_ns: int
    foreign: dict[str, Any] | None


def owned(owners: pd.DataFrame) -> Owned:
    # Sums over traffic_owners().
    network = owners[(owners["is_network"] == "yes").to_numpy()]
    ns = network.groupby("owner_known_by")["ns"].sum()
    foreign = network[(network["owner_tid"] != network["tid"]).fillna(False).to_numpy(dtype=bool)]
    foreign = foreign[(foreign["tid"] != 0).fillna(False).to_numpy(dtype=bool)]
    # Kernel threads that exist to run softirqs have no time of their own to lose.
    foreign = foreign[~foreign["comm"].astype(str).str.contains(SERVANTS).to_numpy(dtype=bool)]
    foreign = foreign[(foreign["ns"] > 0).to_numpy()]
    whole = int(ns.sum())
    shares = {how: int(ns[how]) / whole for how in _WITNESSES if ns.get(how)}
    return Owned(
        whole,
        pd.DataFrame(list(shares.items()), columns=["owner_known_by", "of_network_share"]),
        shares.get("unknown", 0.0) <= _MAX_UNKNOWN,
        int(foreign["ns"].sum()),
        dict(foreign.iloc[0]) if len(foreign) else None,
    )


@traffic_owners.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    found = owned(answer.frame)._asdict()
    return {"owners_known": found.pop("known_by"), "in_all": found}


@traffic_owners.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    # lacking: events that would tell more, which profile records them.
    lacking = unrecorded(answer.capture, RECEIVED[0], WOKEN[0])
    profile = "anatomy" if RECEIVED[0] in lacking else "migration"
    known_by = answer.tables["owners_known"]
    return {
        **answer.parts["in_all"],
        "known_by": list(
            zip(known_by["owner_known_by"], known_by["of_network_share"], strict=True)
        ),
        "lacking": lacking,
        "profile": profile,
    }
