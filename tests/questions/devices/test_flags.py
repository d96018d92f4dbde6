# What looks wrong: each suspicion is raised by what it is about, names its figures, and is not
# raised by the honest interface beside it.

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.interfaces import empty
from netcost_analysis.display.templates import render
from netcost_analysis.questions.devices.device_flags import (
    QUEUES,
    Facts,
    described,
    device_flags,
    suspicions,
)
from netcost_analysis.questions.devices.device_saturation import tidy
from support.host import SAMPLES
from support.kept import kept

Rows = list[dict[str, Any]]
Expected = dict[str, tuple[str | None, ...]]
# An interface in use. Its costs are 50 ms, which are 5 % of a CPU.
USUAL = {
    "namespace": ".",
    "device": "eth0",
    "up": True,
    "carrier": True,
    "addresses": 1,
    "mac": "02:00:00:00:00:01",
    "is_listed": True,
    "start_ns": 0,
    "end_ns": 1_000_000_000,
    "ns": 50_000_000,
    "cpu_share": 0.05,
    "rx_packets": 10_000,
    "tx_packets": 9_000,
    "all_rx_packets": 10_000,
    "all_tx_packets": 9_000,
}
NO_COST = {"ns": None, "cpu_share": None}
LITTLE = {"ns": 1000, "cpu_share": 1e-6, "rx_packets": 1}
DEAF = {"addresses": 0, "tx_packets": 0}
OTHER = {"device": "eth1", "mac": "b"}
COST = ("eth0", "50.0 ms", "(5.0 %", "10,000 packets", "(10,000 a second)")
MACVLAN = {"namespace": "box", "device": "mv0", "mac": "b", "link_kind": "macvlan"}
VLAN = {"device": "eth0.7", "lower": "eth0"}
ROUTER = {"mac": "00:00:5e:00:01:07", "link_kind": "macvlan"}
ZERO = {"mac": "00:00:00:00:00:00"}
BUSY = {"peak_share": 0.95, "speed_bits_per_s": 10**9, "speed_is_nominal": False}
UNLISTED = {"is_listed": False, "addresses": None, "mac": None}


def facts(*rows: dict[str, Any], **more: Any) -> Facts:
    frame = pd.DataFrame([{**USUAL, **row} for row in rows]).astype(object)
    none = pd.DataFrame()
    return Facts(frame, more.get("saturation", none), more.get("queues", none), listed=True)


# By flag: the device, the severity, and facts of the sentence.
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{}], {}),
        # It costs, and is of no use.
        ([{"up": False}], {"down": ("eth0", "warning", "administratively down", *COST)}),
        ([{"carrier": False}], {"no-carrier": ("eth0", "warning", "before or after", *COST)}),
        ([DEAF], {"no-address": ("eth0", "warning", "not a port", *COST), "no-replies": ("eth0",)}),
        (
            [{**DEAF, "link_local_addresses": 1}],
            {"no-address": ("eth0", "warning", "link-local", *COST), "no-replies": ("eth0",)},
        ),
        ([{"up": False, **NO_COST}], {"down": ("eth0", "warning", "unknown")}),
        ([{"up": False, **LITTLE}], {"down": ("eth0", "note")}),
        ([{"up": False, **NO_COST, "rx_packets": 0}], {}),
        # An interface that sends without an address may forward.
        ([{"addresses": 0}], {"no-address": ("eth0", "note", "It sent 9,000")}),
        # These need no address: what is no interface of IP, a port, what is below another one.
        *(
            ([{**DEAF, "link_kind": kind}], {"no-replies": ("eth0",)})
            for kind in ("bridge", "macvtap", "ifb", "vcan")
        ),
        ([{**DEAF, "link_kind": "nlmon"}], {}),
        ([{**DEAF, "master": "br0"}], {}),
        ([{**DEAF, "has_xdp": True}], {}),
        ([{"up": None, "carrier": None, "addresses": None}], {}),
        ([{"addresses": 0, "ifindex": 2}, {**MACVLAN, "lower_ifindex": 2}], {}),
        (
            [{"addresses": 0, "ifindex": 2}, {**MACVLAN, "lower_ifindex": 3}],
            {"no-address": ("eth0", "note")},
        ),
        # A VLAN has the address of what it is on top of.
        ([{"addresses": 0}, VLAN], {}),
        ([{"addresses": 0}, {**VLAN, "namespace": "other"}], {"no-address": ("eth0", "note")}),
        # It receives what another one receives and sends.
        (
            [{"device": "busy0"}, {**OTHER, "rx_packets": 19_000, "tx_packets": 0}],
            {"no-replies": ("eth1", "clue", "19,000 packets", "none", "busy0", "19,000 in total")},
        ),
        ([{"rx_packets": 99, "tx_packets": 0}], {}),
        ([{"rx_packets": None, "tx_packets": None}], {}),
        (
            [{"otherhost_dropped": 500}],
            {"not-for-us": ("eth0", "warning", "500 packets", "5.0 %", "10,000")},
        ),
        ([{"otherhost_dropped": 5}], {"not-for-us": ("eth0", "note")}),
        ([{"promiscuity": 1}], {"promiscuous": ("eth0", "clue")}),
        ([{"promiscuity": 1, "master": "br0"}], {}),
        # One hardware address: flagged once, of the one that does not answer.
        (
            [{}, {"device": "eth1", "tx_packets": 0}],
            {
                "same-mac": ("eth1", "warning", "eth0 and eth1", "02:00:00:00:00:01"),
                "no-replies": ("eth1",),
            },
        ),
        # Both answer: two networks may well have a host's one address each.
        ([{}, {"device": "eth1"}], {"same-mac": ("eth0", "clue")}),
        ([{"master": "bond0"}, {"device": "eth1", "master": "bond0"}, {"device": "bond0"}], {}),
        ([{}, {"device": "eth1", "namespace": "other"}], {}),
        ([VLAN, {**VLAN, "device": "eth0.8"}], {}),
        ([{**ROUTER, "lower": "eth8"}, {**ROUTER, "device": "v1", "lower": "eth9"}], {}),
        ([ZERO, {"device": "sit0", **ZERO}], {}),
        ([BUSY], {"saturated": ("eth0", "warning", "95.0 %", "1 Gbit/s")}),
        ([{**BUSY, "speed_is_nominal": True}], {}),
        ([{**BUSY, "peak_share": float("nan")}], {}),
        ([UNLISTED], {"unlisted": ("eth0", "note", "--netns")}),
        ([{**UNLISTED, "cpu_share": 1e-5}], {}),
        ([{"device": "lo", "up": False}, {"device": "(no_device)", "is_listed": False}], {}),
    ],
)
def test_a_suspicion_is_raised_by_what_it_is_about(rows: Rows, expected: Expected) -> None:
    assert_flags(facts(*rows), expected)


def assert_flags(known: Facts, expected: Expected) -> None:
    flags = suspicions(known)
    found = {row.flag: (row.device, row.severity, row.why) for row in flags.itertuples()}
    assert len(flags) == len(found)
    assert found.keys() == expected.keys()
    for flag, (device, *severity_and_facts) in expected.items():
        assert found[flag][0] == device
        for severity in severity_and_facts[:1]:
            assert found[flag][1] == severity
        assert [fact for fact in severity_and_facts[1:] if str(fact) not in found[flag][2]] == []


def counter(layer: str, name: str, count: int | None, cpu: int | None = None) -> dict[str, Any]:
    place = {"namespace": ".", "device": "eth0"} if cpu is None else {"cpu": cpu}
    growth = {"counter": name, "count": count, "interval_ns": 1_000_000_000}
    return {"layer": layer, **growth, **place}


# Drops are of the recording's packets, not of a window's.
@pytest.mark.parametrize(
    ("counters", "expected"),
    [
        (
            [counter("interface", "rx_drop", 190), counter("interface", "tx_drop", None)],
            {"drops": ("eth0", "warning", "rx_drop 190", "1.0 %", "19,000 packets")},
        ),
        (
            [counter("driver", "rx0_drops", 7), counter("qdisc", "backlog", 9)],
            {"queue-full": ("eth0", "clue", "rx0_drops 7 (ethtool")},
        ),
        (
            [counter("qdisc", "tbf overlimits", 5000), counter("qdisc", "tbf drops", 0)],
            {"queue-full": ("eth0", "note", "not lost")},
        ),
        (
            [
                *(counter("softnet", "dropped", 3, 1), counter("softnet", "time_squeeze", 4, 0)),
                counter("softnet", "flow_limit_count", 0, 0),
            ],
            {
                "backlog-full": (None, "warning", "CPU 1", "3 packets"),
                "squeezed": (None, "note", "CPU 0", "4 times"),
            },
        ),
    ],
)
def test_losses_and_full_queues(counters: Rows, expected: Expected) -> None:
    own = {"rx_packets": 10, "tx_packets": 9}
    assert_flags(facts(own, OTHER, saturation=tidy(counters)), expected)


@pytest.mark.parametrize(
    ("packets", "queues", "figures"),
    [
        ([9000, 1000], None, ("2 receive queues", "90.0 %", "10,000 packets")),
        ([5000, 5000], None, ()),
        ([5000], 4, ("4 receive queues", "100 %")),
        ([5000], 1, ()),
        ([90, 10], 2, ()),
        # More than it has are those of a namesake.
        ([5000, 10], 1, ()),
        ([3000, 1000, 1000, 1000], 4, ("50.0 %", "6,000 packets", "25.0 %")),
    ],
)
def test_uneven_queues(packets: list[int], queues: int | None, figures: tuple[str, ...]) -> None:
    frame = pd.DataFrame({"device": "eth0", "napi": range(len(packets)), "packets": packets})
    expected = {"uneven-queues": ("eth0", "note", *figures)} if figures else {}
    assert_flags(facts({"rx_queues": queues}, queues=frame), expected)


def test_queues_are_napi_instances_that_received() -> None:
    timeline = kept("nic-stolen-time").timeline()
    polls = timeline.polls
    received = polls[(polls["work"] > 0) & polls["device"].notna() & polls["napi"].notna()]
    queues = QUEUES(timeline).frame.set_index("napi")["packets"]
    assert queues.to_dict() == received.groupby("napi")["work"].sum().to_dict()
    assert len(queues) == 2


def test_of_many_alike_the_costly_come_first() -> None:
    rows = [
        {"device": f"eth{i}", "mac": str(i), "promiscuity": 1, "ns": i * 1_000_000}
        for i in range(30)
    ]
    grave = {"device": "bad0", "mac": "x", "up": False, "ns": 10}
    flags = suspicions(facts(*rows, grave))
    assert flags["device"].tolist()[:4] == ["bad0", "eth29", "eth28", "eth27"]
    assert flags["severity"].tolist() == ["warning"] + ["clue"] * 30
    lines = listed(flags)
    assert [why in line for why, line in zip(flags["why"], lines[:5], strict=False)] == [True] * 5
    assert "26 more: eth25, eth24, " in lines[5]
    # One more than are shown is shown as well.
    assert len(listed(flags[:6])) == len(lines) == 6


def listed(flags: pd.DataFrame) -> list[str]:
    words = render(device_flags.template, {"rows": flags.to_dict("records"), "not_recorded": []})
    return [line for line in words.splitlines() if line.startswith("- ")]


def test_a_cost_without_a_namespace_is_of_the_only_interface_of_its_name() -> None:
    known = pd.DataFrame([{"namespace": ".", "device": "eth0", "up": True}])
    known = known.reindex(columns=empty().columns).astype(object)
    cost = pd.DataFrame([{"namespace": None, "device": "eth0", "ns": 5}])
    rows = described(known, cost.astype({"namespace": object}), pd.DataFrame())
    assert rows[["namespace", "device", "ns", "is_listed"]].values.tolist() == [
        [".", "eth0", 5, True]
    ]


def test_without_a_bundle_only_queues_are_compared() -> None:
    assert suspicions(facts(UNLISTED)._replace(listed=False)).empty
    told = netcost.open_capture(SAMPLES / "nic-stolen-time").bundle
    assert told
    bare = netcost.open_capture(Path(told.trace)).timeline()
    assert set(device_flags(bare).frame["flag"]) <= {"uneven-queues"}
