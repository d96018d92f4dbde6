# Suspicions of losses, full queues and uneven ones: each fires on what it is about.

import re
from typing import Any

import pandas as pd

from netcost_analysis.questions.devices.device_flags import QUEUES
from netcost_analysis.questions.devices.device_saturation import tidy
from support.kept import kept
from support.suspects import raised


def test_drops_are_of_the_recordings_packets_and_not_of_a_windows() -> None:
    saturation = tidy([counter("interface", "rx_drop", 190)])
    (_, why) = raised({"rx_packets": 10, "tx_packets": 9}, saturation=saturation)["eth0", "drops"]
    for fact in ("rx_drop 190", "1.0 %", "19,000 packets"):
        assert fact in why


def test_a_shapers_waits_are_a_note() -> None:
    saturation = tidy([counter("qdisc", "tbf overlimits", 5000), counter("qdisc", "tbf drops", 0)])
    severity, why = raised({}, saturation=saturation)["eth0", "queue-full"]
    assert severity == "note"
    assert "none is lost" in why


def counter(layer: str, name: str, count: int | None, **more: Any) -> dict[str, Any]:
    base = {"layer": layer, "namespace": ".", "device": "eth0", "counter": name, "count": count}
    return base | {"interval_ns": 1_000_000_000} | more


def test_drops_and_full_queues() -> None:
    saturation = tidy(
        [
            counter("interface", "rx_drop", 190),
            counter("interface", "tx_drop", None),
            counter("driver", "rx0_drops", 7),
            counter("qdisc", "backlog", 9),
            counter("softnet", "dropped", 3, device=None, namespace=None, cpu=1),
            counter("softnet", "time_squeeze", 4, device=None, namespace=None, cpu=0),
            counter("softnet", "flow_limit_count", 0, device=None, namespace=None, cpu=0),
        ]
    )
    found = raised({}, {"device": "eth1", "mac": "b"}, saturation=saturation)
    assert {flag for _, flag in found} == {"drops", "queue-full", "backlog-full", "squeezed"}
    assert found["eth0", "drops"][0] == "warning"
    assert found["eth0", "queue-full"][0] == "clue"
    assert "rx0_drops 7 (ethtool" in found["eth0", "queue-full"][1]
    for flag, numbers in {"backlog-full": ["1", "3"], "squeezed": ["0", "4"]}.items():
        assert re.findall(r"\b\d+\b", found[None, flag][1])[:2] == numbers


def test_uneven_queues() -> None:
    for packets, queues, says in (
        ([9000, 1000], None, ("2 receive queues", "90.0 %", "10,000 packets")),
        ([5000, 5000], None, ()),
        ([5000], 4, ("4 receive queues", "100 %")),
        ([5000], 1, ()),
        ([90, 10], 2, ()),
        # More than it has are those of a namesake.
        ([5000, 10], 1, ()),
        ([3000, 1000, 1000, 1000], 4, ("50.0 %", "6,000 packets", "25.0 %")),
    ):
        frame = pd.DataFrame({"device": "eth0", "napi": range(len(packets)), "packets": packets})
        found = raised({"rx_queues": queues}, queues=frame)
        assert bool(found) == bool(says)
        for fact in says:
            assert fact in found["eth0", "uneven-queues"][1]


def test_queues_are_napi_instances_that_received() -> None:
    timeline = kept("nic-stolen-time").timeline()
    polls = timeline.polls
    received = polls[(polls["work"] > 0) & polls["device"].notna() & polls["napi"].notna()]
    packets = received.groupby("napi")["work"].sum()
    found = QUEUES(timeline).frame
    assert set(found["device"]) == {"eth0"}
    assert found.set_index("napi")["packets"].to_dict() == packets.to_dict()
    assert len(found) == 2
