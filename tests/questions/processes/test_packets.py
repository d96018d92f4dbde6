# Packets followed by their addresses: against a search through all events, however these are cut.

from itertools import pairwise
from typing import NamedTuple

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis.questions.processes.packet_ends import ENDS, Packets
from support.examples import examples

KINDS = ("queued", "received", "taken", "freed")


class Event(NamedTuple):
    time_ns: int
    what: int
    tid: int
    kind: str
    in_softirq: bool


def frames(events: list[Event]) -> dict[str, pd.DataFrame]:
    # By kind, as the events of a capture come.
    every = pd.DataFrame(events, columns=Event._fields)
    every["comm"] = ("task " + every["tid"].astype(str)).astype(object)
    every["in_hardirq"] = False
    types = dict.fromkeys(("time_ns", "what", "tid"), "int64")
    every = every.astype({**types, "in_softirq": "boolean", "in_hardirq": "boolean"})
    return {kind: every[(every["kind"] == kind).to_numpy(dtype=bool)] for kind in KINDS}


def searched(events: list[Event]) -> list[tuple[int, int, int, int]]:
    # What, when, sender and receiver of each receipt, 0 for nobody.
    found = []
    order = sorted(events, key=lambda event: (event.time_ns, KINDS.index(event.kind)))
    for place, event in enumerate(order):
        if event.kind != "received":
            continue
        before = [one for one in order[:place] if one.what == event.what][-1:]
        after = [one for one in order[place + 1 :] if one.what == event.what][:1]
        sender = [one.tid for one in before if one.kind == "queued" and not one.in_softirq]
        receiver = [one.tid for one in after if one.kind == "taken" and not one.in_softirq]
        found.append((event.what, event.time_ns, *(sender or [0]), *(receiver or [0])))
    return found


EVENTS = st.lists(
    st.builds(
        Event,
        st.integers(0, 60),
        st.integers(1, 4),
        st.integers(1, 3),
        st.sampled_from(KINDS),
        st.booleans(),
    ),
    max_size=40,
    # One event at an address at a time.
    unique_by=lambda event: (event.time_ns, event.what),
)


@examples(25)
@given(EVENTS, st.lists(st.integers(0, 60), max_size=5))
def test_cuts_make_no_difference(events: list[Event], cuts: list[int]) -> None:
    packets, told = Packets(), []
    edges = [-1, *sorted(cuts), 60]
    for since, until in pairwise(edges):
        told.append(packets.add(**frames([one for one in events if since < one.time_ns <= until])))
    told.append(packets.rest())
    every = pd.concat(told)
    known = every[["what", "start_ns", "sender_tid", "receiver_tid"]].fillna(0)
    assert sorted(map(tuple, known.astype(int).to_numpy().tolist())) == sorted(searched(events))
    for side in ("sender", "receiver"):
        is_known = every[f"{side}_tid"].notna()
        named = every[is_known]
        assert (named[f"{side}_comm"] == "task " + named[f"{side}_tid"].astype(str)).all()
        assert every.loc[~is_known, f"{side}_comm"].isna().all()


def test_what_is_received_twice_at_one_time_is_one_receipt() -> None:
    twice = [Event(10, 1, 0, "received", True)] * 2
    packets = Packets()
    told = packets.add(**frames([Event(5, 1, 7, "queued", False), *twice]))
    assert told[["start_ns", "sender_tid"]].to_numpy().tolist() == [[10, 7]]
    assert not len(packets.rest())


def test_packets_that_have_arrived_take_no_memory() -> None:
    packets = Packets()
    for time_ns in range(0, 60, 3):
        way = [
            Event(time_ns, time_ns, 1, "queued", False),
            Event(time_ns + 1, time_ns, 0, "received", True),
            Event(time_ns + 2, time_ns, 2, "taken", False),
        ]
        told = packets.add(**frames(way))
        assert told[[*ENDS]].to_numpy().tolist() == [[1, "task 1", 2, "task 2"]]
    assert len(packets.on_their_way) == 0
