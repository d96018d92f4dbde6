# What captures that share a host, kernel, device or driver cost together; merged histograms.

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis import CaptureError
from netcost_analysis.errors import ArgumentError
from support.fleets import Told, captures, dataset, days, gathered, some


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> netcost.Fleet:
    return netcost.open_fleet(dataset(tmp_path_factory.mktemp("fleet"), days(), unreadable=2))


def test_shares_are_of_sums(fleet: netcost.Fleet) -> None:
    frame = fleet.ask.fleet.by_host().frame.set_index("hostname")
    assert frame["captures"].tolist() == [14] * 4
    for host, rows in fleet.devices.groupby("hostname"):
        whole = rows["ns"].sum() / rows["timed_packets"].sum()
        assert frame.loc[host, "ns_per_work"] == pytest.approx(whole)
        assert frame.loc[host, "batch_mean"] == 4
    sums = fleet.answers.groupby("hostname")[["stolen_network_ns", "on_cpu_ns"]].sum()
    shares = sums["stolen_network_ns"] / sums["on_cpu_ns"]
    assert frame["stolen_of_tasks_share"].sort_index().tolist() == pytest.approx(shares.tolist())
    # Each host is dearer than the one before it, and the dearest come first.
    assert frame.index.tolist() == ["web3", "web2", "web1", "web0"]
    for by in ("by_kernel", "by_device", "by_driver"):
        frame = fleet.ask(by).frame
        assert frame["captures"].sum() == 56
        assert set(frame["dearest"]) <= set(fleet.answers["path"])


# Of real captures: the sum of what each says, to the last one.
def test_merged_histograms_are_exact_sums(tmp_path: Path) -> None:
    told = [*some(), replace(some()[0], batch=7, day=9)]
    captures(tmp_path / "captures", told)
    fleet = netcost.open_fleet(gathered(tmp_path / "captures", tmp_path / "out"))
    alone = [netcost.open_capture(tmp_path / "captures" / one.name) for one in told]
    sizes = pd.concat([one.ask.batches.poll_sizes(by="device").frame for one in alone])
    wanted = sizes.groupby("work")[["polls", "ns"]].sum()
    merged = fleet.ask.fleet.fleet_poll_sizes(captures_by="all").frame
    assert merged.set_index("work")[["polls", "ns"]].to_dict() == wanted.to_dict()
    keys = ["action", "length_low_ns", "length_high_ns"]
    lengths = pd.concat([one.ask.batches.softirq_lengths().frame for one in alone])
    whole = lengths.groupby(keys)[["softirqs", "ns"]].sum()
    merged = fleet.ask.fleet.fleet_softirq_lengths(captures_by="all").frame
    assert merged.set_index(keys)[["softirqs", "ns"]].to_dict() == whole.to_dict()
    by_host = fleet.ask.fleet.fleet_softirq_lengths(captures_by="host").frame
    assert by_host["softirqs"].sum() == whole["softirqs"].sum()
    assert set(by_host["group"]) == {"web1", "web2"}
    with pytest.raises(ArgumentError, match="no captures_by 'comm'"):
        fleet.ask.fleet.fleet_poll_sizes(captures_by="comm")  # type: ignore[arg-type]


def test_without_any_capture(tmp_path: Path) -> None:
    fleet = netcost.open_fleet(dataset(tmp_path / "out", [], unreadable=1))
    for name in ("by_host", "outliers", "trend", "fleet_poll_sizes"):
        answer = fleet.ask(name)
        assert isinstance(answer.refusal, CaptureError)
    assert fleet.ask.fleet.unreadable()["by_kind"]["captures"].tolist() == [1]


def test_a_url_is_opened_from_a_copy(tmp_path: Path) -> None:
    told = Told()
    captures(tmp_path / "captures", [told])
    url = f"file://{tmp_path}/captures"
    netcost.gather_fleet([url], tmp_path / "out", one_by_one=True)
    [row] = netcost.open_fleet(tmp_path / "out").ask.fleet.by_host().frame.to_dict("records")
    assert row["command"] == f"fsspec.open('{url}/{told.name}')"
