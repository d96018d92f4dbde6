# What is known of interfaces: facts of what ip and sysfs said before and after, and nothing of what
# is none.

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.bundle import Bundle
from netcost_analysis.questions.devices import device_saturation, interfaces
from support.asked import device_cost, device_flags, device_time
from support.device_bundles import addressed, bundle, full_stamps, link, net_dev, opened
from support.host import SAMPLES
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import OPENSSL, raised

WRONG_TYPES = (
    '[1, null, {}, {"ifname": 7}, {"ifname": "eth0", "flags": 5, "promiscuity": "x"}]',
    '[{"ifname": "eth0", "flags": [1, null], "linkinfo": [], "stats64": {"rx": []}}]',
    '[{"ifname": "eth0", "promiscuity": 1e400, "mtu": -4, "address": 12, "addr_info": 3}]',
    '[{"ifname": "eth0", "addr_info": [1, {"local": []}, {"scope": {}}], "mtu": true}]',
    '[{"dev": "eth0", "kind": "fq", "root": true, "drops": "many", "handle": {}}]',
    f'[{{"ifname": "eth0", "promiscuity": {1 << 70}, "mtu": {1 << 64}}}]',
    "[]",
)


@pytest.mark.parametrize("content", WRONG_TYPES)
def test_json_of_wrong_types_is_unknown(tmp_path: Path, content: str) -> None:
    names = ("ip_link.json", "tc_qdisc.json", "settings/ip_link.json", "settings/ip_addr.json")
    files = {f"{side}/{name}": content for side in ("before", "after") for name in names}
    files["before/net_dev"] = net_dev(eth0=(1, 1, 0, 0))
    told = bundle(tmp_path, {**full_stamps(), **files})
    row = interfaces(told).frame.set_index("device").loc["eth0"]
    assert row[["mtu", "promiscuity"]].isna().all()
    assert len(device_saturation(told).frame)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        *(("{", "not JSON"), ("[" * 100_000, "not JSON"), ("[" + "9" * 5000 + "]", "not JSON")),
        *(('{"a": 1}', "not a list"), ("7", "not a list")),
    ],
    ids=["cut", "deep", "large", "object", "number"],
)
def test_json_that_is_none_is_one_line(tmp_path: Path, content: str, says: str) -> None:
    told = bundle(tmp_path, {**full_stamps(), "before/ip_link.json": content})
    with pytest.raises(netcost.CaptureError, match=says) as error:
        interfaces(told)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("names", [7, None, [], [3, {}], {"a": 1}, "blue"])
def test_namespaces_of_the_wrong_type_are_those_of_none(tmp_path: Path, names: object) -> None:
    manifest = {"netcost_bundle": 1, "network_namespaces": names}
    assert bundle(tmp_path, {"manifest.json": manifest}).network_namespaces == {".": ""}


def test_what_ip_says_becomes_facts(tmp_path: Path) -> None:
    stats = {"stats64": {"rx": {"otherhost": 40}}}
    told = bundle(
        tmp_path,
        {
            **full_stamps(),
            "before/ip_link.json": [
                link("eth0", promiscuity=1, stats64={"rx": {"length_errors": 0}}),
                link("eth0.7", link="eth0", linkinfo={"info_kind": "vlan"}),
                link("veth1", link="veth0", linkinfo={"info_kind": "veth"}, master="br0"),
                link("eth9", "BROADCAST"),
            ],
            "after/ip_link.json": [
                link("eth0", "UP", **stats),
                link("eth9", "BROADCAST", xdp={"mode": 1}),
            ],
            "before/settings/ip_addr.json": [
                addressed("eth0", "link", "global"),
                addressed("eth9", "link"),
            ],
            "before/settings/queues": "/sys/class/net/eth0/queues/rx-0/rps_cpus 0\n"
            "/sys/class/net/eth0/queues/rx-1/rps_cpus 2\n/sys/class/net/eth0/threaded 1\n"
            "/sys/class/net/eth0/speed 25000\n/sys/class/net/gone/speed 10\n",
            "before/settings/ethtool/eth0/driver": "driver: ice\nbus-info: 0000:01:00.0\n",
        },
    )
    known = interfaces(told).frame.set_index("device")
    eth0 = known.loc["eth0"]
    assert (eth0["addresses"], eth0["link_local_addresses"]) == (1, 1)
    assert (eth0["rx_queues"], eth0["rps"], eth0["threaded"]) == (2, True, True)
    assert (eth0["speed_bits_per_s"], eth0["speed_is_nominal"]) == (25_000_000_000, False)
    assert (eth0["driver"], eth0["promiscuity"], eth0["otherhost_dropped"]) == ("ice", 1, 40)
    # Carrier went, and xdp came, between before and after.
    assert pd.isna(eth0["carrier"])
    assert pd.isna(known.loc["eth9", "has_xdp"])
    assert (known.loc["eth9", "up"], known.loc["eth9", "addresses"]) == (False, 0)
    assert known.loc["eth0.7", "lower"] == "eth0"
    assert pd.isna(known.loc["veth1", "lower"])
    assert known.loc["veth1", "master"] == "br0"
    assert "gone" not in known.index


@pytest.mark.parametrize(
    ("first", "last", "grown"),
    [
        ({"length_errors": 0}, {"length_errors": 0, "otherhost": 40}, 40),
        ({"otherhost": 30}, {"otherhost": 40}, 10),
        # A counter since boot, of which nobody knows what it was before.
        ({"bytes": 1}, {"length_errors": 0, "otherhost": 40}, None),
        (None, {"otherhost": 40}, None),
        # Gone: the device is a new one.
        ({"otherhost": 40}, {"length_errors": 0}, None),
        ({"otherhost": 40}, {"otherhost": 3}, None),
    ],
)
def test_frames_for_others_have_grown_where_both_ends_are_known(
    tmp_path: Path, first: dict[str, int] | None, last: dict[str, int], grown: int | None
) -> None:
    def told(folder: str, **more: Any) -> Bundle:
        files: dict[str, Any] = {"after/ip_link.json": [link("eth0", stats64={"rx": last}, **more)]}
        if first is not None:
            before = link("eth0", stats64={"rx": first}, ifindex=7)
            files["before/ip_link.json"] = [before]
        return bundle(tmp_path / folder, {**full_stamps(), **files})

    value = interfaces(told("same")).frame["otherhost_dropped"].iloc[0]
    assert (None if pd.isna(value) else value) == grown
    again = interfaces(told("anew", ifindex=8)).frame["otherhost_dropped"].iloc[0]
    assert pd.isna(again) or first is None


def test_what_changed_meanwhile_and_what_is_no_address(tmp_path: Path) -> None:
    def side(changes: int) -> list[Any]:
        return [
            link("docker0", "UP", stats64={"tx": {"carrier_changes": changes}}),
            link("docker1", "UP", stats64={"tx": {"carrier_changes": 4}}),
            link("tunl0", "NOARP", address="0.0.0.0"),  # noqa: S104
            link("eth0"),
        ]

    queues = "/sys/class/net/eth0/speed {}\n"
    local = {"local": "169.254.169.1", "scope": "global", "family": "inet"}
    routed = {"local": "198.51.100.7", "scope": "link", "family": "inet"}
    told = bundle(
        tmp_path,
        {
            "before/ip_link.json": side(1),
            "after/ip_link.json": side(3),
            "before/settings/queues": queues.format(-1),
            "after/settings/queues": queues.format(1000),
            "before/settings/ip_addr.json": [{"ifname": "eth0", "addr_info": [local, routed]}],
        },
    )
    known = interfaces(told).frame.set_index("device")
    # It had a carrier in between.
    assert pd.isna(known.loc["docker0", "carrier"])
    assert known.loc["docker1", "carrier"] == False  # noqa: E712
    assert pd.isna(known.loc["tunl0", "mac"])
    assert pd.isna(known.loc["eth0", "speed_bits_per_s"])
    assert known.loc["eth0", ["addresses", "link_local_addresses"]].tolist() == [1, 1]


def test_ip_beside_a_naive_reading_of_its_file() -> None:
    told = opened(SAMPLES / "quiet-interface.netcost.tar.zst").capture.bundle
    assert told
    listed = json.loads(told.text("before/ip_link.json") or "")
    known = interfaces(told).frame.set_index("device")
    assert set(known.index) == {one["ifname"] for one in listed}
    for one in listed:
        assert known.loc[one["ifname"], "mac"] == one["address"]
        assert known.loc[one["ifname"], "mtu"] == one["mtu"]
        assert bool(known.loc[one["ifname"], "up"]) == ("UP" in one["flags"])


# Devices of several network namespaces that have one name: a poll says the name alone.

VETH = {"linkinfo": {"info_kind": "veth"}}
QUEUE = "/sys/class/net/eth0/queues/rx-{}/rps_cpus 0\n"


# Polls of three instances called eth0, of 100, 200 and 300 ns, and the last of them once more.
def polled(folder: Path, *endings: str, queues: int = 1, **fields: Any) -> netcost.Timeline:
    told: list[h.Happening] = []
    for at, napi, ns in ((1000, 7, 100), (2000, 9, 200), (3000, 8, 300), (4000, 8, 300)):
        told += raised(at, at, at + ns, h.NapiPoll(at + ns, "eth0", 10, napi=napi))
    namespaces = [ending.removeprefix(".") or "." for ending in endings]
    manifest = {"netcost_bundle": 1, "trace": "trace.perf.data", "network_namespaces": namespaces}
    files: dict[str, Any] = {"manifest.json": manifest}
    for ending in endings:
        files[f"before/ip_link{ending}.json"] = [link("eth0", **fields)]
        files[f"before/settings/queues{ending}"] = "".join(map(QUEUE.format, range(queues)))
    return netcost.open_capture(bundle(folder, files, cpu(0, *told, task=OPENSSL)).path).timeline()


def said(timeline: netcost.Timeline) -> list[str]:
    return [note for note in timeline.notes if note.startswith("eth0")]


def test_where_each_has_one_queue_they_are_numbered_as_they_were_polled(tmp_path: Path) -> None:
    timeline = polled(tmp_path, "", ".blue", ".red", **VETH)
    devices = {"eth0 (1)": 100, "eth0 (2)": 200, "eth0 (3)": 600}
    for rows in (device_time(timeline), device_cost(timeline)):
        rows = rows[rows["device"].notna()]
        assert dict(zip(rows["device"], rows["poll_ns"], strict=True)) == devices
    assert timeline.polls["device"].tolist() == [*devices, "eth0 (3)"]
    [batch] = timeline.batches("polls")
    assert batch[0]["device"].tolist() == [*devices, "eth0 (3)"]
    assert said(timeline) == []
    assert "unlisted" not in set(device_flags(timeline)["flag"])


@pytest.mark.parametrize(
    ("endings", "queues", "kind", "is_said"),
    [
        # Which of four instances is whose queue nobody says, nor how many other kinds have.
        (("", ".blue"), 2, VETH, True),
        (("", ".blue"), 1, {}, True),
        # A NIC with two queues may have four instances, and a veth with two has two.
        (("",), 2, {}, False),
        (("",), 1, {}, True),
        (("",), 2, VETH, True),
        (("",), 3, VETH, False),
        (("",), 1, {"linkinfo": {"info_kind": "wireguard"}}, False),
    ],
)
def test_else_it_is_said(
    tmp_path: Path, endings: tuple[str, ...], queues: int, kind: dict[str, Any], is_said: bool
) -> None:
    timeline = polled(tmp_path, *endings, queues=queues, **kind)
    assert set(timeline.polls["device"]) == {"eth0"}
    assert bool(said(timeline)) == is_said


def test_damaged_files_take_away_the_numbers_alone(tmp_path: Path) -> None:
    timeline = polled(tmp_path, "", ".blue", **VETH)
    (tmp_path / "before/ip_link.blue.json").write_text("{")
    again = netcost.open_capture(tmp_path).timeline()
    assert (len(timeline.polls), set(again.polls["device"])) == (4, {"eth0"})
