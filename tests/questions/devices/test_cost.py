# device_cost: time and packets of one stretch, by hand and beside the counters of recordings.

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.errors import ArgumentError
from support.asked import device_cost, device_flags
from support.device_bundles import bundle, link, net_dev, opened
from support.host import SAMPLES
from support.perfdata import Cpu, cpu
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK, irq, softirq

NICS = sorted((SAMPLES / "nic-guest").glob("*.zst"))


# Each round of 1000 ns: irq 32 for 100 ns, NET_RX for 400 ns with a poll of 10 packets, then 20 ns.
def rounds(*, busy: bool = False) -> Cpu:
    # busy: each also has a busy poll of 20 packets, which has no begin.
    story: list[h.Happening] = []
    for at in range(1_000, 11_000, 1_000):
        story += irq(at, at + 100, h.SoftirqRaise(at + 50, NET_RX), name="eth0-rx-0")
        story += softirq(at + 100, at + 520, h.NapiPoll(at + 500, "eth0", 10))
        story += [h.NapiPoll(at + 700, "eth0", 20)] if busy else []
    return cpu(0, *story, h.Waking(11_000, UDPSINK), task=OPENSSL)


def counted(at: int, received: int, sent: int, took: int = 0, **more: int) -> str:
    devices = {"eth0": (100 * received, received, 60 * sent, sent), "veth0": (10, received, 0, 0)}
    devices |= {name: (100 * packets, packets, 0, 0) for name, packets in more.items()}
    return f"@ 1 {at - took} {at + took}\n{net_dev(**devices)}"


def made(folder: Path, **files: str) -> netcost.Timeline:
    told = bundle(folder, dict(files), rounds())
    return netcost.open_capture(told.path).timeline()


def unknown(timeline: netcost.Timeline) -> Any:
    return timeline.ask.devices.device_cost()["traffic_unknown"]


# Read at 2900 and 5900: three rounds lie in between.
def test_time_and_packets_are_of_one_stretch(tmp_path: Path) -> None:
    timeline = made(tmp_path, **{"samples/net_dev": counted(2900, 5, 0) + counted(5900, 35, 10)})
    rows = device_cost(timeline).set_index("device")
    eth0 = rows.loc["eth0"]
    assert (eth0["start_ns"], eth0["end_ns"], eth0["interval_error_ns"]) == (2900, 5900, 0)
    assert (eth0["hardirq_ns"], eth0["poll_ns"], eth0["ns"]) == (300, 1200, 1500)
    assert (eth0["packets"], eth0["rx_packets"], eth0["tx_packets"]) == (30, 30, 10)
    assert eth0["cpu_share"] == 0.5
    assert eth0["work_share"] == 1
    assert (eth0["ns_per_work"], eth0["ns_per_packet"]) == (50, 37.5)
    assert eth0["ns_per_byte"] == 1500 / (3000 + 600)
    assert eth0["interrupts_per_s"] == 1e6
    # It received and was never polled: nobody knows what that cost.
    veth0 = rows.loc["veth0"]
    assert veth0["rx_packets"] == 30
    assert veth0[["ns", "ns_per_packet", "polls"]].isna().all()
    assert unknown(timeline) is None


def test_only_readings_in_the_window_count(tmp_path: Path) -> None:
    text = counted(2900, 5, 0) + counted(5900, 35, 10) + counted(8900, 65, 10)
    capture = made(tmp_path, **{"samples/net_dev": text}).capture
    rows = device_cost(capture.timeline(start_s=4e-6)).set_index("device")
    assert (rows.loc["eth0", "start_ns"], rows.loc["eth0", "end_ns"]) == (5900, 8900)
    alone = device_cost(capture.timeline(start_s=6e-6)).set_index("device")
    assert pd.isna(alone.loc["eth0", "rx_packets"])
    assert alone.loc["eth0", "ns_per_work"] == 50


@pytest.mark.parametrize(
    ("why", "files", "settings"),
    [
        ("have no times", {}, {}),
        ("not read twice", {"samples/net_dev": counted(2900, 5, 0)}, {}),
        ("clock", {"samples/net_dev": counted(2900, 5, 0) + counted(5900, 35, 1)}, {"clock": None}),
        ("bare recording", None, {}),
    ],
)
def test_without_counters_of_its_time_traffic_is_unknown(
    tmp_path: Path, why: str, files: dict[str, str] | None, settings: dict[str, Any]
) -> None:
    path = Path(bundle(tmp_path, files or {}, rounds(), **settings).path)
    path = path if files is not None else path / "trace.perf.data"
    timeline = netcost.open_capture(path).timeline()
    row = device_cost(timeline).iloc[0]
    assert (row["device"], row["ns"], row["packets"]) == ("eth0", 5000, 100)
    assert row[["rx_packets", "ns_per_packet", "work_share", "utilisation_share"]].isna().all()
    assert row["ns_per_work"] == 50
    assert why in str(unknown(timeline))


# Two namespaces are read one after the other, so few of their readings have a window in common.
@pytest.mark.parametrize(("start", "end", "ns"), [(2950, 6950, 2000), (2900, 5900, 1500)])
def test_namesakes_of_two_namespaces_are_not_given_each_others_time(
    tmp_path: Path, start: int, end: int, ns: int
) -> None:
    manifest = {"network_namespaces": ["blue", "."], "netcost_bundle": 1}
    timeline = made(
        tmp_path,
        **{
            "manifest.json": {**manifest, "trace": "trace.perf.data"},
            "samples/net_dev": counted(2900, 5, 0) + counted(5900, 35, 10),
            "samples/net_dev.host": counted(start, 5, 0, eth1=0) + counted(end, 45, 10, eth1=9),
        },
    )
    rows = device_cost(timeline)
    eth0 = rows[rows["device"] == "eth0"]
    assert len(eth0) == 1
    # Of the longest stretch that was counted.
    assert eth0[["start_ns", "end_ns", "ns"]].iloc[0].tolist() == [start, end, ns]
    assert eth0[["namespace", "rx_packets", "ns_per_packet"]].isna().all(axis=None)
    alone = rows[rows["device"] == "eth1"]
    assert alone[["namespace", "rx_packets"]].values.tolist() == [[".", 9]]
    flags = device_flags(timeline)
    assert "unlisted" not in set(flags["flag"])
    assert "interrupts and polls" not in " ".join(flags["why"])


def test_net_devs_packets_are_of_all_cpus(tmp_path: Path) -> None:
    files = {"samples/net_dev": counted(2900, 5, 0) + counted(5900, 35, 10)}
    capture = made(tmp_path, **files).capture
    row = device_cost(capture.timeline(cpus=[0])).set_index("device").loc["eth0"]
    assert (row["ns"], row["rx_packets"], row["ns_per_work"]) == (1500, 30, 50)
    assert row[["ns_per_packet", "ns_per_byte"]].isna().all()


# 200 of 300 packets have no time, and would make the others cheap.
def test_packets_of_busy_polls_are_not_for_free(tmp_path: Path) -> None:
    files = {"samples/net_dev": counted(1000, 5, 0) + counted(11_000, 305, 10)}
    timeline = netcost.open_capture(bundle(tmp_path, files, rounds(busy=True)).path).timeline()
    row = device_cost(timeline).set_index("device").loc["eth0"]
    assert (row["packets"], row["timed_packets"], row["rx_packets"]) == (300, 100, 300)
    assert row["ns_per_work"] == 50
    assert row[["ns_per_packet", "ns_per_byte"]].isna().all()


@pytest.mark.parametrize("sample", NICS, ids=lambda path: path.name[:14])
def test_a_nics_packets_lie_between_what_was_polled(sample: Path) -> None:
    # Between the two readings, and with them: reading takes a tenth of a second in this guest.
    capture = opened(sample).capture
    told = capture.bundle
    assert told
    begins, ends = zip(*(one.reads["net_dev"] for one in (told.before, told.after)), strict=True)
    grown = told.after.net_dev.loc["eth0"] - told.before.net_dev.loc["eth0"]
    polls = capture.timeline().polls
    polls = polls[polls["device"] == "eth0"]
    least, most = (
        int(polls.loc[polls["end_ns"].between(*window), "work"].sum())
        for window in ((ends[0], begins[1]), (begins[0], ends[1]))
    )
    assert 0 < least <= grown["rx_packets"] <= most
    row = device_cost(capture.timeline()).set_index("device").loc["eth0"]
    rate = row["rx_packets"] / (row["end_ns"] - row["start_ns"])
    assert abs(row["packets"] - row["rx_packets"]) <= rate * row["interval_error_ns"]


# Read at 2900 and 5900: 30 packets in three polls that were seen, 40 counted; so the polls of ten
# were not, and 1500 ns are the price of 30. What lies beside readings that took a third of the
# stretch explains ten.
@pytest.mark.parametrize("took", [0, 500])
def test_packets_whose_polls_were_not_seen_have_no_price(tmp_path: Path, took: int) -> None:
    text = counted(2900, 5, 0, took) + counted(5900, 45, 0, took)
    answer = made(tmp_path, **{"samples/net_dev": text}).ask.devices.device_cost()
    eth0 = answer.frame.set_index("device").loc["eth0"]
    assert (eth0["packets"], eth0["rx_packets"], eth0["work_share"]) == (30, 40, 0.75)
    assert eth0["ns_per_work"] == 50
    assert eth0[["ns_per_packet", "ns_per_byte"]].isna().tolist() == [not took] * 2
    assert not took or eth0["ns_per_packet"] == eth0["ns"] / 40
    counts = answer["against_counters"].iloc[0]
    assert (counts["unpolled_packets"], counts["uncounted_packets"]) == (10, 0)
    assert counts["is_explained"] == bool(took)


# eth0 of the rounds above and an eth1 that carried packets, both of bond0, which counts them too.
@pytest.mark.parametrize("source", ["ip", "sysfs"])
def test_ports_are_one_row_of_their_bond(source: str, tmp_path: Path) -> None:
    def devices(at: int, packets: int) -> str:
        counts = dict.fromkeys(("eth0", "veth0"), (100 * packets, packets, 60 * packets, packets))
        counts["eth1"] = (200 * packets, packets, 0, 0)
        counts["bond0"] = (300 * packets, 2 * packets, 60 * packets, packets)
        return f"@ 1 {at} {at}\n{net_dev(**counts)}"

    files = {"samples/net_dev": devices(2900, 0) + devices(5900, 30)}
    files["before/net_dev"] = net_dev(**dict.fromkeys(("eth0", "eth1", "bond0"), (0, 0, 0, 0)))
    ports = ("eth0", "eth1")
    if source == "ip":
        links: Any = [link(name, master="bond0") for name in ports] + [link("bond0"), link("veth0")]
        files["before/ip_link.json"] = json.dumps(links)
    else:
        lines = [f"/sys/class/net/{name}/master bond0\n" for name in ports]
        files["before/settings/queues"] = "".join(lines)
    timeline = made(tmp_path, **files)
    plain = device_cost(timeline).set_index("device")
    rows = device_cost(timeline, by="master").set_index("device")
    assert set(rows.index) == {"bond0", "veth0"}
    bond = rows.loc["bond0"]
    for name in ("ns", "polls", "interrupts", "packets"):
        assert bond[name] == plain[name]["eth0"]
    assert (bond["rx_packets"], bond["tx_packets"], bond["rx_bytes"]) == (60, 30, 9000)
    assert bond["rx_packet_bytes"] == 150
    # Of eth1's packets no poll was seen: what one costs is not known.
    assert pd.isna(bond["ns_per_packet"])
    assert not pd.isna(plain["ns_per_packet"]["eth0"])
    pd.testing.assert_series_equal(rows.loc["veth0"], plain.loc["veth0"], check_dtype=False)
    answer = timeline.ask.devices.device_cost(by="master")
    assert answer["ports"].values.tolist() == [[".", port, "bond0"] for port in ports]
    assert "its master bond0" in answer.words
    assert "its master bond0" not in timeline.ask.devices.device_cost().words
    with pytest.raises(ArgumentError, match="device, master"):
        device_cost(timeline, by="bond")  # type: ignore[arg-type]
