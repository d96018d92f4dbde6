# What looks wrong: each suspicion fires on what it is about, says its figures, and not on the
# honest interface beside it.

from pathlib import Path
from typing import Any

import pandas as pd

import netcost_analysis as netcost
from netcost_analysis.capture.links import empty
from netcost_analysis.display.templates import render
from netcost_analysis.questions.devices.device_flags import described, device_flags, suspicions
from support.device_bundles import opened
from support.host import SAMPLES
from support.suspects import facts, raised


def test_an_interface_in_use_is_not_suspected() -> None:
    assert raised({}) == {}
    assert list(suspicions(facts({})).columns) == [
        "namespace", "device", "flag", "severity", "why"
    ]  # fmt: skip


def test_it_costs_and_is_of_no_use() -> None:
    deaf = {"addresses": 0, "tx_packets": 0}
    for state, flag, says in (
        ({"up": False}, "down", "administratively down"),
        ({"carrier": False}, "no-carrier", "neither before"),
        (deaf, "no-address", "is no port"),
        ({**deaf, "link_local_addresses": 1}, "no-address", "link-local"),
    ):
        severity, why = raised(state)["eth0", flag]
        assert severity == "warning"
        for fact in ("eth0", says, "50.0 ms", "(5.0 %", "10,000 packets", "(10,000 a second)"):
            assert fact in why


def test_what_costs_little_is_a_note_and_what_costs_nothing_no_flag() -> None:
    little = {"up": False, "ns": 1000, "cpu_share": 1e-6, "rx_packets": 1}
    assert raised(little)["eth0", "down"][0] == "note"
    assert raised({"up": False, "ns": None, "cpu_share": None, "rx_packets": 0}) == {}
    unseen = raised({"up": False, "ns": None, "cpu_share": None})["eth0", "down"]
    assert unseen[0] == "warning"
    assert "not known" in unseen[1]


def test_who_sends_without_an_address_may_forward() -> None:
    severity, why = raised({"addresses": 0})["eth0", "no-address"]
    assert severity == "note"
    assert "It sent 9,000" in why


def test_no_address_is_no_fault_of_these() -> None:
    # What is no interface of IP needs none either.
    kinds = [{"link_kind": kind} for kind in ("bridge", "macvtap", "ifb", "vcan", "nlmon")]
    states: list[dict[str, Any]] = [
        *kinds,
        {"master": "br0"},
        {"has_xdp": True},
        {"addresses": None},
        {"up": None, "carrier": None, "addresses": None},
    ]
    for state in states:
        found = raised({"addresses": 0, "tx_packets": 0, **state})
        assert ("eth0", "no-address") not in found, state


def test_the_device_below_another_namespaces_macvlan_needs_no_address() -> None:
    below = {"addresses": 0, "tx_packets": 0, "ifindex": 2}
    inside = {"namespace": "box", "device": "mv0", "mac": "b", "link_kind": "macvlan"}
    assert ("eth0", "no-address") not in raised(below, {**inside, "lower_ifindex": 2})
    assert ("eth0", "no-address") in raised(below, {**inside, "lower_ifindex": 3})


def test_of_many_alike_the_costly_come_first() -> None:
    rows = [
        {"device": f"eth{i}", "mac": str(i), "promiscuity": 1, "ns": i * 1_000_000}
        for i in range(30)
    ]
    grave = {"device": "bad0", "mac": "x", "up": False, "ns": 10}
    flags = suspicions(facts(*rows, grave))
    assert flags["device"].tolist()[:4] == ["bad0", "eth29", "eth28", "eth27"]
    assert flags["severity"].tolist() == ["warning"] + ["clue"] * 30
    first, *alike, rest = listed(flags)
    assert flags["why"][0] in first
    assert [why in line for why, line in zip(flags["why"][1:5], alike, strict=True)] == [True] * 4
    assert "26 more: eth25, eth24, " in rest
    # One more than are told is told as well.
    assert len(listed(flags[:6])) == 6


def listed(flags: pd.DataFrame) -> list[str]:
    words = render(device_flags.template, {"rows": flags.to_dict("records"), "not_recorded": []})
    return [line for line in words.splitlines() if line.startswith("- ")]


def test_the_device_below_a_vlan_needs_no_address() -> None:
    below = {"addresses": 0, "tx_packets": 0}
    above = {"device": "eth0.7", "lower": "eth0", "mac": "02:00:00:00:00:01"}
    found = raised(below, above)
    assert ("eth0", "no-address") not in found
    # A VLAN has the address of what it is on top of.
    assert not any(flag == "same-mac" for _, flag in found)
    assert ("eth0", "no-address") in raised(below, {**above, "namespace": "other"})


def test_who_receives_and_does_not_send_sees_what_another_has() -> None:
    found = raised(
        {"device": "busy0", "mac": "a"},
        {"device": "quiet0", "mac": "b", "rx_packets": 19_000, "tx_packets": 0},
    )
    severity, why = found["quiet0", "no-replies"]
    assert severity == "clue"
    for fact in ("19,000 packets", "sent none", "busy0", "19,000 in all"):
        assert fact in why
    assert ("busy0", "no-replies") not in found
    assert raised({"rx_packets": 99, "tx_packets": 0}) == {}
    assert raised({"rx_packets": None, "tx_packets": None}) == {}


def test_frames_for_others() -> None:
    severity, why = raised({"otherhost_dropped": 500})["eth0", "not-for-us"]
    assert severity == "warning"
    for fact in ("500 packets", "5.0 %", "10,000"):
        assert fact in why
    assert raised({"otherhost_dropped": 5})["eth0", "not-for-us"][0] == "note"


def test_promiscuous_unless_a_bridge_makes_it() -> None:
    assert raised({"promiscuity": 1})["eth0", "promiscuous"][0] == "clue"
    assert raised({"promiscuity": 1, "master": "br0"}) == {}
    assert raised({"promiscuity": 0}) == {}


def test_two_of_one_hardware_address() -> None:
    # Said once, and of the one that hears what it does not answer.
    deaf = raised({}, {"device": "eth1", "tx_packets": 0})
    severity, why = deaf["eth1", "same-mac"]
    assert severity == "warning"
    assert why.startswith("eth0 and eth1")
    assert "02:00:00:00:00:01" in why
    assert [flag for _, flag in deaf] == ["same-mac", "no-replies"]
    # Both take part: two networks may well have a host's one address each.
    assert {key: one[0] for key, one in raised({}, {"device": "eth1"}).items()} == {
        ("eth0", "same-mac"): "clue"
    }
    # A bond and its ports, two namespaces, no address at all.
    assert raised({"master": "bond0"}, {"device": "eth1", "master": "bond0"},
                  {"device": "bond0"}) == {}  # fmt: skip
    assert raised({}, {"device": "eth1", "namespace": "other"}) == {}
    # VLANs keep what their device had; a virtual router has one in each network.
    vlans = [{"device": f"eth0.{i}", "lower": "eth0"} for i in (7, 8)]
    assert raised(*vlans) == {}
    router = {"mac": "00:00:5e:00:01:07", "link_kind": "macvlan"}
    assert raised({**router, "lower": "eth8"}, {**router, "device": "v1", "lower": "eth9"}) == {}
    zero = {"mac": "00:00:00:00:00:00"}
    assert raised(zero, {"device": "sit0", **zero}) == {}


def test_utilisation_of_a_link_and_of_a_nominal_one() -> None:
    busy = {"peak_share": 0.95, "speed_bits_per_s": 10**9, "speed_is_nominal": False}
    (_, why) = raised(busy)["eth0", "saturated"]
    assert "95.0 %" in why
    assert "1 Gbit/s" in why
    assert raised({**busy, "speed_is_nominal": True}) == {}
    assert raised({**busy, "peak_share": float("nan")}) == {}


def test_a_device_of_another_namespace_is_named() -> None:
    row = {"is_listed": False, "addresses": None, "mac": None}
    assert "--netns names more" in raised(row)["eth0", "unlisted"][1]
    assert raised({**row, "cpu_share": 1e-5}) == {}
    bare = facts(row)._replace(listed=False)
    assert suspicions(bare).empty


def test_lo_and_the_backlog_are_never_suspected() -> None:
    assert (
        raised({"device": "lo", "up": False}, {"device": "(no_device)", "is_listed": False}) == {}
    )


def test_a_cost_without_a_namespace_is_of_the_only_interface_of_its_name() -> None:
    known = pd.DataFrame([{"namespace": ".", "device": "eth0", "up": True}])
    known = known.reindex(columns=empty().columns).astype(object)
    cost = pd.DataFrame([{"namespace": None, "device": "eth0", "ns": 5}]).astype(
        {"namespace": object}
    )
    rows = described(known, cost, pd.DataFrame())
    assert rows[["namespace", "device", "ns", "is_listed"]].values.tolist() == [
        [".", "eth0", 5, True]
    ]


def test_document_004s_interface_is_found() -> None:
    timeline = opened(SAMPLES / "quiet-interface.netcost.tar.zst")
    flags = device_flags(timeline).frame
    first = flags.iloc[0]
    flagged = first["device"], first["flag"], first["severity"]
    assert flagged == ("quiet0", "no-address", "warning")
    assert (flags["flag"] == "same-mac").sum() == 1
    assert not (flags["device"] == "busy0").any()
    assert set(flags.loc[flags["device"] == "quiet0", "flag"]) == {
        "no-address", "same-mac", "no-replies"
    }  # fmt: skip
    assert "571,102 in all" in flags.loc[flags["flag"] == "no-replies", "why"].iloc[0]
    assert "lo" not in set(flags["device"])


def test_without_a_bundle_only_queues_are_compared() -> None:
    told = netcost.open_capture(SAMPLES / "nic-stolen-time").bundle
    assert told
    bare = netcost.open_capture(Path(told.trace)).timeline()
    assert set(device_flags(bare).frame["flag"]) <= {"uneven-queues"}
