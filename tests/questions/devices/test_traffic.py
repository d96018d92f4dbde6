# What interfaces carried and where packets found no room: by hand, beside naive readings of the
# same files, and on hostile ones.

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.bundle import Bundle
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.devices import (
    assumed_rates,
    device_saturation,
    device_totals,
    device_traffic,
    interfaces,
)
from support.device_bundles import STAMP, S, addressed, bundle, full_stamps, net_dev, opened
from support.host import ROOT
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import UDPSINK

SAMPLE = ROOT / "sample-data" / "quiet-interface.netcost.tar.zst"
QUEUES = "/sys/class/net/eth0/speed 1000\n/sys/class/net/eth1/speed -1\n"


def samples(*readings: "tuple[int, str]") -> str:
    # Each reading takes 20 ms, half of it before `at`.
    return "".join(
        f"@ {i} {at - S // 100} {at + S // 100}\n{text}" for i, (at, text) in enumerate(readings)
    )


# eth0 receives 1000 packets of 1250 bytes in 0.5 s, then as many in 2 s: 20 and 5 Mbit/s.
def uneven(folder: Path, **more: Any) -> Bundle:
    counts = [(0, 0), (1_250_000, 1000), (2_500_000, 2000)]
    readings = [
        (at, net_dev(eth0=(*count, 600 * i, 10 * i), eth1=(0, 0, 0, 0)))
        for i, (at, count) in enumerate(zip((S, 3 * S // 2, 7 * S // 2), counts, strict=True))
    ]
    files = {"samples/net_dev": samples(*readings), "before/settings/queues": QUEUES}
    return bundle(folder, {**files, **more})


def test_rates_are_over_the_true_interval(tmp_path: Path) -> None:
    told = uneven(tmp_path)
    rows = device_traffic(told).frame.set_index("device")
    expected = {
        "interval_ns": [S // 2, 2 * S],
        "interval_error_ns": [S // 50, S // 50],
        "rx_bytes_per_s": [2_500_000, 625_000],
        "rx_packets_per_s": [2000, 500],
        "rx_packet_bytes": [1250, 1250],
        "tx_packet_bytes": [60, 60],
        # The busier direction, over 1 Gbit/s.
        "utilisation_share": [0.02, 0.005],
    }
    found = rows.loc["eth0", list(expected)].to_numpy(dtype=float)
    np.testing.assert_allclose(found, np.transpose(list(expected.values())))
    unknown = ["speed_bits_per_s", "utilisation_share", "rx_packet_bytes"]
    assert rows.loc["eth1", unknown].isna().all(axis=None)
    # In all, from the first reading to the last.
    row = device_totals(told).frame.set_index("device").loc["eth0"]
    assert (row["start_ns"], row["end_ns"], row["interval_ns"]) == (S, 7 * S // 2, 5 * S // 2)
    assert row["interval_error_ns"] == 2 * (S // 50)
    assert (row["rx_packets"], row["tx_packets"]) == (2000, 20)
    assert (row["rx_bytes_per_s"], row["rx_mbit_per_s"]) == (1_000_000, 8)
    # A tool that assumes its interval is wrong by as much.
    frame = assumed_rates(told, interval_s=1).frame.set_index("device").loc["eth0"]
    assert frame["overstated_share"].tolist() == [-0.5, 1.0]
    assert frame["assumed_rx_bytes_per_s"].tolist() == [1_250_000, 1_250_000]
    assert frame["assumed_utilisation_share"].tolist() == pytest.approx([0.01, 0.01])
    with pytest.raises(ArgumentError, match="0 s"):
        assumed_rates(told, interval_s=0)


def test_a_counter_that_went_backwards_is_unknown_in_all(tmp_path: Path) -> None:
    counts = ((10, 10, 0, 0), (5, 5, 1, 1), (50, 50, 2, 2))
    readings = [(at * S, net_dev(eth0=count)) for at, count in enumerate(counts, 1)]
    told = bundle(tmp_path / "backwards", {"samples/net_dev": samples(*readings)})
    whole = device_totals(told).frame.iloc[0]
    assert whole[["rx_packets", "rx_bytes_per_s"]].isna().all()
    assert whole["tx_packets"] == 2
    # So is a speed that changed.
    told = uneven(tmp_path / "s", **{"after/settings/queues": QUEUES.replace("1000", "100")})
    assert device_traffic(told).frame["speed_bits_per_s"].isna().all()


def test_namespaces_are_kept_apart(tmp_path: Path) -> None:
    def both(count: int) -> str:
        return net_dev(eth0=(count, count, 0, 0))

    told = bundle(
        tmp_path,
        {
            "manifest.json": {"netcost_bundle": 1, "network_namespaces": ["blue", "."]},
            "samples/net_dev": samples((S, both(0)), (2 * S, both(7))),
            "samples/net_dev.host": samples((S, both(0)), (2 * S, both(9))),
            "before/settings/ip_addr.host.json": [addressed("eth0", "global")],
            "before/net_dev": both(0),
            "before/net_dev.host": both(0),
        },
    )
    frame = device_traffic(told).frame
    assert dict(zip(frame["namespace"], frame["rx_packets"], strict=True)) == {"blue": 7, ".": 9}
    known = interfaces(told).frame.set_index("namespace")["addresses"]
    assert known.loc["."] == 1
    assert pd.isna(known.loc["blue"])


def test_the_sample_beside_a_naive_reading_of_its_file() -> None:
    told = opened(SAMPLE).capture.bundle
    assert told
    times, counts = [], []
    for block in re.split(r"^@ ", told.text("samples/net_dev") or "", flags=re.MULTILINE)[1:]:
        times.append(sum(map(int, block.split("\n")[0].split()[1:])) / 2)
        fields = re.search(r"quiet0:(.*)", block)
        assert fields
        counts.append([int(word) for word in fields[1].split()[:2]])
    frame = device_traffic(told, sides=False).frame
    quiet = frame[frame["device"] == "quiet0"]
    rates = np.diff(counts, axis=0) / np.diff(times)[:, None] * 1e9
    found = quiet[["rx_bytes_per_s", "rx_packets_per_s"]].to_numpy(dtype=float)
    np.testing.assert_allclose(found, rates, rtol=1e-6)
    total = device_totals(told, sides=False).frame.set_index("device")
    assert total.loc["quiet0", "rx_packets"] == counts[-1][1] - counts[0][1]


SOFTNET = "{:08x} {:08x} {:08x} 0 0 0 0 0 0 0 0 0 {:08x} 0 0\n"


def full(folder: Path) -> Bundle:
    files: dict[str, Any] = {}
    for i, side in enumerate(("before", "after")):
        counts = [100, 10, 0, 5 * i, 2 * i, 0, 0, 0, *[0] * 8]
        qdisc = {"drops": 3 + 4 * i, "overlimits": 0, "requeues": 1, "backlog": 9 - i, "qlen": i}
        files |= {
            f"{side}/stamp": STAMP.format(S + 2 * S * i),
            f"{side}/net_dev": net_dev(eth0=counts),
            f"{side}/net_softnet_stat": SOFTNET.format(1, 6 * i, 0, 0)
            + SOFTNET.format(1, 0, 8 * i, 1),
            f"{side}/ethtool/eth0/statistics": f"NIC statistics:\n     rx_queue_0_drops: {i}\n"
            f"     rx_queue_0_packets: {100 * i}\n     rx_missed: {7 - i}\n",
            f"{side}/tc_qdisc.json": [
                {"kind": "fq", "handle": "8001:", "dev": "eth0", "root": True, **qdisc},
                {"kind": "pfifo", "handle": "0:", "parent": "8001:1", "dev": "eth0", **qdisc},
            ],
        }
    return bundle(folder, files)


def test_saturation_from_the_interface_to_the_backlog(tmp_path: Path) -> None:
    frame = device_saturation(full(tmp_path)).frame
    grown = frame[(frame["count"] > 0).fillna(False)]
    found = {
        (row["layer"], row["counter"]): (row["count"], row["per_s"])
        for row in grown.astype(object).where(grown.notna(), None).to_dict("records")
    }
    assert found == {
        ("interface", "rx_drop"): (5, 2.5),
        ("interface", "rx_fifo"): (2, 1.0),
        ("driver", "rx_queue_0_drops"): (1, 0.5),
        ("qdisc", "fq drops"): (4, 2.0),
        ("qdisc", "backlog"): (9, None),
        ("qdisc", "qlen"): (1, None),
        ("softnet", "dropped"): (6, 3.0),
        ("softnet", "time_squeeze"): (8, 4.0),
    }
    assert grown.set_index("counter").loc["time_squeeze", "cpu"] == 1
    backwards = frame[frame["counter"] == "rx_missed"]
    assert backwards["count"].isna().all()
    assert "rx_queue_0_packets" not in set(frame["counter"])
    assert frame["interval_ns"].unique().tolist() == [2 * S]


def test_large_counts_lose_nothing_beside_unknown_ones(tmp_path: Path) -> None:
    most = (1 << 63) - 1
    files = {
        f"{side}/{name}": text
        for i, side in enumerate(("before", "after"))
        for name, text in (
            ("stamp", STAMP.format(S + i)),
            ("net_dev", net_dev(eth0=[0, 0, 0, most * i, 9 - i, *[0] * 11])),
        )
    }
    # A reading that ended before it began is none.
    files["before/stamp"] += f"net_softnet_stat {S} {S - 9}\n"
    frame = device_saturation(bundle(tmp_path, files)).frame.set_index("counter")
    assert frame.loc["rx_drop", "count"] == most
    assert pd.isna(frame.loc["rx_fifo", "count"])


def test_nothing_recorded_is_an_error(tmp_path: Path) -> None:
    nothing = bundle(tmp_path, {})
    for question in (device_traffic, device_saturation, assumed_rates):
        with pytest.raises(netcost.CaptureError, match="netcost-record saves"):
            question(nothing)
    with pytest.raises(netcost.CaptureError, match="host's network"):
        interfaces(nothing)


def test_a_network_namespace_outside_the_bundle(tmp_path: Path) -> None:
    manifest = {"netcost_bundle": 1, "network_namespaces": ["a", "/../../../etc/passwd"]}
    told = bundle(tmp_path, {"manifest.json": manifest})
    with pytest.raises(netcost.CaptureError, match="outside the bundle"):
        device_traffic(told)


def test_forged_counters_are_unknown_or_one_line(tmp_path: Path) -> None:
    forged = (
        "@ 1 99999999999999999999999 5\n eth0: 1\n"
        f"@ 2 {S} {S}\n eth0: {' '.join(['9' * 30] * 16)}\n ../x: {' '.join(['1'] * 16)}\n"
        f"@ 3 {2 * S} {2 * S}\n eth0: {' '.join(['²'] * 16)}\n eth1: 1 2 3\n"
        f"@ 4 {3 * S} {3 * S}\n eth0: {' '.join(['5'] * 16)}\n ../x: {' '.join(['1'] * 16)}\n"
    )
    told = bundle(tmp_path, {"samples/net_dev": forged})
    with pytest.raises(netcost.CaptureError, match="counter of eth0"):
        device_traffic(told)
    softnet = bundle(tmp_path / "b", {**full_stamps(), "before/net_softnet_stat": "zz 1\n" * 3})
    assert len(device_saturation(softnet).frame)


# What is said to be missing is: readings without their times are readings.
def test_counters_without_times_are_not_called_absent(tmp_path: Path) -> None:
    for kept, told in (
        ({}, "has no counters"),
        (
            {f"{side}/net_dev": net_dev(eth0=(0, 0, 0, 0)) for side in ("before", "after")},
            "say when net_dev",
        ),
    ):
        made = bundle(tmp_path / str(len(kept)), dict(kept), cpu(0, h.Waking(1_000, UDPSINK)))
        answer = netcost.open_capture(made.path).ask.devices.device_saturation()
        assert told in str(answer.refusal)
