# Counters over time: each reading with its two moments, growth over the true time between them.

from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.bundle import Bundle
from netcost_analysis.snapshots.counters import counters, deltas, readings
from netcost_analysis.snapshots.service import service_work
from support.device_bundles import HEAD
from support.device_bundles import bundle as written
from support.host import ROOT


def net_dev(**packets: int) -> str:
    return HEAD + "".join(
        f" {name}: {1500 * count} {count} 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        for name, count in packets.items()
    )


# Read once before, and sampled at 200 and 400 ns.
def bundle(folder: Path, *samples: str) -> Bundle:
    text = "".join(f"@ {at} {200 * at} {200 * at + 20}\n{one}" for at, one in enumerate(samples, 1))
    files = {"before/stamp": "monotonic_ns 90\nnet_dev 100 110\n", "samples/net_dev": text}
    return written(folder, files | {"before/net_dev": net_dev(eth0=5)})


def grown(folder: Path, *samples: str) -> pd.DataFrame:
    return deltas(counters(bundle(folder, *samples), "net_dev"))


def test_growth_is_over_the_true_interval(tmp_path: Path) -> None:
    told = bundle(tmp_path, net_dev(eth0=7, eth1=1), net_dev(eth0=12, eth1=4))
    times = [(one.begin_ns, one.end_ns) for one in readings(told, "net_dev")]
    assert times == [(100, 110), (200, 220), (400, 420)]
    eth0, eth1 = (
        rows.drop(columns="device").set_index("start_ns")
        for _, rows in deltas(counters(told, "net_dev")).groupby("device")
    )
    assert eth0["interval_ns"].to_dict() == {105: 105, 210: 200}
    assert eth0["interval_error_ns"].tolist() == [15, 20]
    assert eth0["rx_packets"].tolist() == [2, 5]
    # eth1 came into being between the first two readings.
    assert eth1["rx_packets"].to_dict() == {210: 3}


def test_what_is_no_growth_is_unknown(tmp_path: Path) -> None:
    back = grown(tmp_path / "back", net_dev(eth0=2))
    assert back["rx_packets"].isna().tolist() == [True]
    assert back["rx_errs"].tolist() == [0]
    # Large counters lose nothing.
    most = (1 << 52) + 1
    large = grown(tmp_path / "large", net_dev(eth0=most), net_dev(eth0=most + 2))
    assert large["rx_packets"].tolist()[-1] == 2
    # A driver that counted down from 0: of one counter nothing is known, of the others all.
    below = net_dev(eth0=8).replace(" 8 0 ", f" 8 {(1 << 64) - 1} ")
    down = grown(tmp_path / "down", below, net_dev(eth0=most))
    assert down["rx_errs"].isna().all()
    assert down["rx_packets"].tolist() == [3, most - 8]
    with pytest.raises(netcost.CaptureError, match="eth0 is larger"):
        grown(tmp_path / "beyond", net_dev(eth0=1 << 64))


def test_half_a_sample_is_left_out(tmp_path: Path) -> None:
    told = bundle(tmp_path, net_dev(eth0=7), f"{HEAD} eth0: 15")
    assert len(readings(told, "net_dev")) == 2


def test_nothing_sampled_is_an_empty_table(tmp_path: Path) -> None:
    told = bundle(tmp_path)
    assert counters(told, "stat").empty
    assert deltas(counters(told, "stat")).empty
    with pytest.raises(ValueError, match="no counters 'nothing'"):
        counters(told, "nothing")


def test_what_was_read_twice_at_one_time_did_not_grow(tmp_path: Path) -> None:
    for later, rate in ((5, None), (1_000_000_005, 3)):
        stamps = {"before/stamp": "work 5 5\n", "after/stamp": f"work {later} {later}\n"}
        work = {"before/work": "1\n", "after/work": "4\n"}
        growth = service_work(written(tmp_path / f"{later}", stamps | work))
        assert (growth and growth.per_s) == rate


@pytest.mark.parametrize("name", ["net_dev", "softnet_stat", "stat", "interrupts", "softirqs"])
def test_growth_adds_up_to_the_last_minus_the_first(name: str) -> None:
    told = netcost.open_capture(ROOT / "sample-data/stolen-time-tcp.netcost.tar.zst").bundle
    frame = counters(told, name)
    by = frame.groupby(str(frame.columns[3]))[list(frame.columns[4:])]
    total = deltas(frame).groupby(str(frame.columns[3]))[list(frame.columns[4:])].sum()
    pd.testing.assert_frame_equal(
        total.astype("int64"), (by.last() - by.first()).astype("int64"), check_names=False
    )
