# Windows, cost classes, thieves by queue and the effective share: on drawn timelines, as partitions
# of what stolen() says, and against perf's own text.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.stolen import itself_ends
from netcost_analysis.timeline.task import ALL
from support.asked import cost_classes, ledger, stolen, thieves
from support.kept import kept
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import IDLE, KSOFTIRQD, NET_RX, UDPSINK, interrupted, timeline

BUNDLES = ["nic-stolen-time", "stolen-time-top.netcost.tar.zst", "veth-stolen-time"]


@pytest.fixture(scope="module", params=BUNDLES)
def sample(request: pytest.FixtureRequest) -> netcost.Timeline:
    return kept(request.param).timeline()


def test_classes_by_hand(tmp_path: Path) -> None:
    got = cost_classes(timeline(tmp_path, interrupted()))
    rows = {
        (row.comm, row.cost_class, row.is_network): row.ns
        for row in got.fillna({"is_network": ""}).itertuples()
    }
    assert rows == {
        ("openssl", "own", ""): 270,
        ("openssl", "stolen", "yes"): 70,
        ("openssl", "stolen", "no"): 20,
        ("udpsink", "own", ""): 40,
    }
    shares = got.set_index(["comm", "cost_class", "is_network"])["on_cpu_share"]
    assert shares[("openssl", "stolen", "yes")] == pytest.approx(70 / 360)


def test_classes_of_idle_and_kernel_threads(tmp_path: Path) -> None:
    got = cost_classes(
        timeline(
            tmp_path,
            cpu(
                0,
                h.IrqEntry(0, 32),
                h.IrqExit(30, 32),
                h.Switch(100, KSOFTIRQD, 0),
                h.SoftirqEntry(110, NET_RX),
                h.SoftirqExit(190, NET_RX),
                h.Switch(200, IDLE, 1),
                h.Waking(260, UDPSINK),
                task=IDLE,
            ),
        )
    )
    rows = {
        (row.comm, row.cost_class, row.is_network): row.ns
        for row in got.fillna({"is_network": ""}).itertuples()
    }
    assert rows == {
        ("(idle)", "idle", ""): 130,
        ("(idle)", "from_idle", "no"): 30,
        ("ksoftirqd/0", "scheduled", "unknown"): 20,
        ("ksoftirqd/0", "scheduled", "yes"): 80,
    }
    of_idle = got[got["comm"] == "(idle)"]["on_cpu_share"]
    assert of_idle.isna().all()


def test_classes_partition_all_time(sample: netcost.Timeline) -> None:
    for by in ("comm", "tid", "cpu", "device"):
        got = cost_classes(sample, by)  # type: ignore[arg-type]
        inside = got[got["cost_class"] != "displaced"]
        assert inside["ns"].sum() == sample.duration_ns * len(sample.summary["cpus"])
        displaced = got[got["cost_class"] == "displaced"]
        assert displaced["ns"].sum() == sample.displaced["ns"].sum()
        keys = [name for name in got if name not in ("ns", "on_cpu_share")]
        assert not got.duplicated(keys).any()


def test_classes_are_stolens(sample: netcost.Timeline) -> None:
    got = cost_classes(sample)
    losses = stolen(sample).victims
    rows = losses.to_dict("records")
    wide = got.pivot_table(index="comm", columns="cost_class", values="ns", aggfunc="sum")
    wide = wide.reindex(losses.index).fillna(0)
    for name in ("stolen", "synchronous", "scheduled", "displaced"):
        if name in wide:
            assert wide[name].astype(int).tolist() == losses[f"{name}_ns"].tolist()
    # The rows of netcost stolen add up: an own time that is scheduled is no task's own.
    assert wide["own"].astype(int).tolist() == [itself_ends(row)[1] for row in rows]
    assert (wide["own"] <= losses["task_ns"]).all()
    shares = got.groupby("comm")["on_cpu_share"].sum().reindex(losses.index)
    assert shares[losses["on_cpu_ns"] > 0].to_numpy() == pytest.approx(1.0)


def test_thieves_add_up(sample: netcost.Timeline) -> None:
    got, losses = thieves(sample, victim=ALL), stolen(sample).victims
    totals = got.groupby("comm")[["stolen_ns", "stolen_max_ns"]].sum()
    some = losses.loc[totals.index]
    assert totals["stolen_ns"].tolist() == some["stolen_ns"].tolist()
    seen = some["stolen_max_ns"] - some["stolen_unrecorded_ns"]
    assert totals["stolen_max_ns"].tolist() == seen.tolist()
    one = sample.ask.stolen_time.thieves(victim="openssl").tables["by_thief"]
    assert one["stolen_max_ns"].is_monotonic_decreasing
    matrix = ledger(sample).max_ns.loc["openssl"]
    matrix = matrix[~matrix.index.str.endswith(", not recorded")]
    by_thief = one.groupby("thief")["stolen_max_ns"].sum()
    assert by_thief.to_dict() == matrix[matrix > 0].to_dict()
