# Counters over time: each reading with its two moments, growth over the true time between them.

from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.bundle import Bundle
from netcost_analysis.snapshots.counters import counters, deltas, readings
from support.host import ROOT

HEAD = "Inter-|   Receive  |  Transmit\n face |bytes packets ...\n"


def net_dev(**packets: int) -> str:
    return HEAD + "".join(
        f" {name}: {1500 * count} {count} 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        for name, count in packets.items()
    )


def bundle(folder: Path, samples: str) -> Bundle:
    (folder / "samples").mkdir(parents=True)
    (folder / "before").mkdir()
    (folder / "manifest.json").write_text('{"netcost_bundle": 1}')
    (folder / "samples" / "net_dev").write_text(samples)
    (folder / "before" / "stamp").write_text("monotonic_ns 90\nnet_dev 100 110\n")
    (folder / "before" / "net_dev").write_text(net_dev(eth0=5))
    return Bundle(folder)


def test_readings_are_before_samples_and_after_in_order(tmp_path: Path) -> None:
    told = bundle(tmp_path / "b", f"@ 1 200 220\n{net_dev(eth0=7)}@ 2 400 410\n{net_dev(eth0=9)}")
    assert [(one.begin_ns, one.end_ns) for one in readings(told, "net_dev")] == [
        (100, 110),
        (200, 220),
        (400, 410),
    ]
    frame = counters(told, "net_dev")
    assert list(frame["at_ns"]) == [105, 210, 405]
    assert list(frame["rx_packets"]) == [5, 7, 9]


def test_growth_is_over_the_true_interval(tmp_path: Path) -> None:
    told = bundle(tmp_path / "b", f"@ 1 200 220\n{net_dev(eth0=7, eth1=1)}@ 2 400 410\n"
                                  f"{net_dev(eth0=12, eth1=4)}")  # fmt: skip
    grown = deltas(counters(told, "net_dev"))
    eth0 = grown[grown["device"] == "eth0"]
    assert list(eth0["interval_ns"]) == [105, 195]
    assert list(eth0["interval_error_ns"]) == [15, 15]
    assert list(eth0["rx_packets"]) == [2, 5]
    # eth1 came into being between the first two readings.
    assert list(grown.loc[grown["device"] == "eth1", "rx_packets"]) == [3]


def test_a_counter_that_went_backwards_is_unknown(tmp_path: Path) -> None:
    told = bundle(tmp_path / "b", f"@ 1 200 220\n{net_dev(eth0=2)}")
    grown = deltas(counters(told, "net_dev"))
    assert grown["rx_packets"].isna().tolist() == [True]
    assert grown["rx_errs"].tolist() == [0]


def test_large_counters_lose_nothing(tmp_path: Path) -> None:
    most = (1 << 52) + 1
    told = bundle(tmp_path / "b", f"@ 1 200 220\n{net_dev(eth0=most)}@ 2 300 310\n"
                                  f"{net_dev(eth0=most + 2)}")  # fmt: skip
    assert deltas(counters(told, "net_dev"))["rx_packets"].tolist()[-1] == 2
    # A driver that counted down from 0: of one counter nothing is known, of the others all.
    below = net_dev(eth0=8).replace(" 8 0 ", f" 8 {(1 << 64) - 1} ")
    text = f"@ 1 200 220\n{below}@ 2 300 310\n{net_dev(eth0=most)}"
    grown = deltas(counters(bundle(tmp_path / "d", text), "net_dev"))
    assert grown["rx_errs"].isna().all()
    assert grown["rx_packets"].tolist() == [3, most - 8]
    told = bundle(tmp_path / "c", f"@ 1 200 220\n{net_dev(eth0=1 << 64)}")
    with pytest.raises(netcost.CaptureError, match="eth0 is larger"):
        deltas(counters(told, "net_dev"))


def test_half_a_sample_is_left_out(tmp_path: Path) -> None:
    told = bundle(tmp_path / "b", f"@ 1 200 220\n{net_dev(eth0=7)}@ 2 400 410\n{HEAD} eth0: 15")
    assert len(readings(told, "net_dev")) == 2


def test_nothing_sampled_is_an_empty_table(tmp_path: Path) -> None:
    told = bundle(tmp_path / "b", "")
    assert counters(told, "stat").empty
    assert deltas(counters(told, "stat")).empty
    with pytest.raises(ValueError, match="no counters 'nothing'"):
        counters(told, "nothing")


def test_uneven_samples_of_a_recording_have_uneven_intervals() -> None:
    told = netcost.open_capture(ROOT / "sample-data/quiet-interface.netcost.tar.zst").bundle
    assert told is not None
    grown = deltas(counters(told, "net_dev", folder="files"))
    rates = grown[grown["device"] == "busy0"]["interval_ns"] / 1e9
    assert rates.max() > 2 * rates.median() > 0
    # The same packets, however often they were read.
    for folder in ("samples", "files"):
        frame = counters(told, "net_dev", folder)
        ends = frame[frame["device"] == "busy0"]["rx_packets"]
        total = deltas(frame).groupby("device")["rx_packets"].sum()
        assert total["busy0"] == ends.iloc[-1] - ends.iloc[0]


@pytest.mark.parametrize("name", ["net_dev", "softnet_stat", "stat", "interrupts", "softirqs"])
def test_growth_adds_up_to_the_last_minus_the_first(name: str) -> None:
    told = netcost.open_capture(ROOT / "sample-data/stolen-time-tcp.netcost.tar.zst").bundle
    assert told is not None
    frame = counters(told, name)
    key, values = frame.columns[3], frame.columns[4:]
    ends = frame.groupby(key)[list(values)].agg(["first", "last"])
    total = deltas(frame).groupby(key)[list(values)].sum()
    for value in values:
        expected = ends[value]["last"] - ends[value]["first"]
        pd.testing.assert_series_equal(
            total[value].astype("int64"), expected.astype("int64"), check_names=False
        )
