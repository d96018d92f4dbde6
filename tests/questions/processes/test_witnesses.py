# What is kept of packets' events while softirqs go by: what is near, and packets on their way.

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture import capture as captures
from netcost_analysis.questions.processes import recorded
from netcost_analysis.questions.processes import traffic as of_traffic
from netcost_analysis.questions.processes.packets import Packets
from netcost_analysis.questions.processes.traffic import traffic
from netcost_analysis.questions.processes.witnesses import Witnesses
from netcost_analysis.timeline import reading
from support.host import SAMPLES
from support.kept import kept

# With the events of each packet, between a client and a server.
SAMPLE = "local-migrations.netcost.tar.zst"


class Kept:
    # The most rows at a time that wait: events, packets on their way, parts of softirqs.
    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.most = {"events": 0, "packets": 0, "units": 0}
        read_on, add, settle = Witnesses.read_on, Packets.add, of_traffic._Summed._settle

        def events(of: Witnesses) -> bool:
            goes_on = read_on(of)
            self.see("events", sum(map(len, of._waiting)))
            return goes_on

        def packets(of: Packets, *frames: pd.DataFrame) -> pd.DataFrame:
            told = add(of, *frames)
            self.see("packets", len(of._open.what))
            return told

        def units(of: Any, *given: Any) -> None:
            settle(of, *given)
            self.see("units", len(of._waiting.units))

        patches: list[tuple[type, str, Callable[..., Any]]] = [
            (Witnesses, "read_on", events),
            (Packets, "add", packets),
            (of_traffic._Summed, "_settle", units),
        ]
        for owner, name, function in patches:
            patch.setattr(owner, name, function)

    def see(self, what: str, many: int) -> None:
        self.most[what] = max(self.most[what], many)


def test_pieces_say_the_same_and_keep_little() -> None:
    capture = netcost.open_capture(SAMPLES / SAMPLE)
    whole = traffic(kept(SAMPLE).timeline())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_MOST_SEGMENTS", 1)
        patch.setattr(reading, "_ROWS", 8_000)
        patch.setattr(of_traffic, "_AT_ONCE", 1_000)
        patch.setattr(captures, "EVENTS_AT_ONCE", 2_000)
        patch.setattr(recorded, "_SMALL", 0)
        seen = Kept(patch)
        found = traffic(capture.timeline())
    for one, other in zip(found, whole, strict=True):
        pd.testing.assert_frame_equal(one, other)
    received = capture.info["events"]["net:netif_receive_skb"]
    assert all(seen.most.values())
    assert seen.most["packets"] < received / 20, seen.most
    assert seen.most["units"] < received / 10, seen.most
    assert seen.most["events"] < received / 2, seen.most
