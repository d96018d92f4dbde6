# Every account of a victim's time side by side: by hand on a bundle made for it, and against the
# files of samples read by a few lines of naive Python.

import json
import math
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis import CaptureError
from support.account_rows import accounts, got, rows
from support.asked import accounts as accounts_of
from support.asked import cpu_accounts
from support.doctored import counters, doctored, mpstat
from support.host import SAMPLES


def test_each_account_has_its_own(tmp_path: Path) -> None:
    table = accounts(doctored(tmp_path / "b"), hidden_ns=7000.0)
    assert got(table) == pytest.approx(
        {
            "times": 0.75,
            "task_stat": 0.99,
            "schedstat": 0.8,
            "cpu_stat": 0.75,
            "mpstat": 0.55,
            "traced": 0.85,
            "traced_and_hidden": 0.85 - 10_000 * 7000e-9,
            "work": 0.6,
        }
    )
    assert math.isnan(rows(table)["system"]["got_share"])
    assert math.isnan(rows(table)["system"]["residual_share"])
    every = table.drop(index="system")
    assert (every["got_share"] + every["lost_share"]).tolist() == pytest.approx([1.0] * 8)
    assert rows(table)["traced"]["residual_share"] == pytest.approx(0.25)
    assert rows(table)["work"]["residual_share"] == 0
    steps = table["resolution_share"].to_dict()
    # 10 ms, and two of them, of 2 s; 200 ns of 500 us; 10 ms of the 1 ms that mpstat was asked for.
    assert steps["times"] == pytest.approx(0.005)
    assert steps["task_stat"] == pytest.approx(0.01)
    assert steps["schedstat"] == pytest.approx(0.0004)
    assert steps["cpu_stat"] == pytest.approx(0.005)
    assert steps["mpstat"] == pytest.approx(10)
    assert steps["work"] == pytest.approx(1 / 600)
    assert math.isnan(steps["traced_and_hidden"])


# 48 ticks of 2 s; of a bundle without them, what times(2) told netcost-record: 0.4 s.
def test_system_time_has_a_row_of_its_own(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b")
    row = rows(accounts(folder))["system"]
    assert (row["lost_share"], row["resolution_share"]) == pytest.approx((0.24, 0.005))
    assert "/proc/PID/stat" in row["source"]
    (folder / "kernel_config").write_text("CONFIG_IRQ_TIME_ACCOUNTING=y\n")
    assert "left out" in rows(accounts(folder))["system"]["why"]
    assert "left out" not in row["why"]
    (folder / "victim_stat").unlink()
    assert rows(accounts(folder))["system"]["lost_share"] == pytest.approx(0.2)


# Of the samples it is what is in their files.
def test_system_time_of_a_sample() -> None:
    capture = netcost.open_capture(SAMPLES / "veth-stolen-time")
    table = accounts_of(capture)
    assert rows(table)["system"]["lost_share"] == pytest.approx(0.49 / 2.007249)
    shown = rows(table)["task_stat"]["got_share"]
    assert shown == pytest.approx((1.51 + 0.49) / 2.007249)


def test_what_the_bundle_lacks_is_unknown(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b", baseline=None, companions=None, record_command=None)
    for name in ("victim_stat", "before/stat", "samples/victim", "before/interrupts"):
        (folder / name).unlink()
    table = accounts(folder, hidden_ns=7000.0)
    missing = {"schedstat", "cpu_stat", "mpstat", "traced_and_hidden", "work"}
    assert {name for name, value in got(table).items() if math.isnan(value)} == missing
    # From the manifest instead of victim_stat.
    assert rows(table)["task_stat"]["got_share"] == pytest.approx(0.95)
    assert table["residual_share"].isna().all()


def test_without_samples_the_cpus_schedstat_is_taken(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b")
    (folder / "samples" / "victim").unlink()
    for side, run_ns in (("before", 5 * 10**9), ("after", 6_900_000_000)):
        (folder / side / "schedstat").write_text(f"version 15\ncpu0 0 0 1 1 1 1 {run_ns} 0 1\n")
    assert got(accounts(folder))["schedstat"] == pytest.approx(0.95)
    (folder / "after" / "schedstat").write_text("version 3\n")
    assert math.isnan(got(accounts(folder))["schedstat"])


def test_without_a_victim_there_is_nothing_to_compare(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="--victim"):
        accounts(doctored(tmp_path / "b", victim=None))


@pytest.mark.parametrize(
    "fields",
    [
        {"victim": {"command": None, "cpu": "0", "pid": "x", "start_ns": "1", "wall_s": None}},
        {"companions": "mpstat", "record_command": "netcost-record --interval"},
        {"companions": 7},
        {"companions": [None, {"name": "mpstat", "output": 3, "start_ns": "x"}], "host": 4},
    ],
)
def test_a_manifest_of_a_stranger(tmp_path: Path, fields: dict[str, object]) -> None:
    folder = doctored(tmp_path / "b", **fields)
    assert math.isnan(got(accounts(folder))["mpstat"])
    cpu_accounts(netcost.open_capture(folder))


def test_counters_that_went_backwards_are_no_rate(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b")
    for path in (folder / "after").iterdir():
        path.unlink()
    (folder / "after").rmdir()
    counters(folder / "after", 3 * 10**9, "250 0 12 49 5 0 64 4 0 0", 10)
    table = accounts(folder, hidden_ns=7000.0)
    assert math.isnan(got(table)["traced_and_hidden"])
    # Idle time may be read a tick back; it has not run backwards.
    assert got(table)["cpu_stat"] == pytest.approx(0.75)


def test_the_cpu_by_kind(tmp_path: Path) -> None:
    table = rows(cpu_accounts(netcost.open_capture(doctored(tmp_path / "b"))))
    assert list(table["cpu_stat"].values()) == pytest.approx(
        [0.76, 0, 0.22, 0, 0.02, math.nan], nan_ok=True
    )
    seen = table["mpstat"]
    assert (seen["tasks_share"], seen["soft_share"], seen["idle_share"]) == (
        pytest.approx((0.55, 0.3, 0.15))
    )
    # Twelve times 2 us of hardirq and 12.5 us of softirq in 1.16 ms.
    traced = table["traced"]
    assert (traced["tasks_share"], traced["unknown_share"]) == pytest.approx((0.85, 0))
    assert (traced["irq_share"], traced["soft_share"]) == pytest.approx((24 / 1160, 150 / 1160))


def test_half_of_mpstats_json_is_none(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b")
    (folder / "mpstat.json").write_text(mpstat(60.0, 50.0)[:-9])
    assert math.isnan(got(accounts(folder))["mpstat"])


BUNDLES = ["stolen-time-tcp", "stolen-time-top"]


@pytest.fixture(scope="module", params=BUNDLES)
def sample(request: pytest.FixtureRequest) -> netcost.Capture:
    return netcost.open_capture(SAMPLES / f"{request.param}.netcost.tar.zst")


def cpu_line(text: str, cpu: int) -> list[int]:
    line = next(line for line in text.splitlines() if line.startswith(f"cpu{cpu} "))
    return [int(word) for word in line.split()[1:9]]


def test_samples_agree_with_their_files(sample: netcost.Capture) -> None:
    bundle = sample.bundle
    assert bundle
    table = accounts_of(sample)
    cpu = json.loads(bundle.text("manifest.json") or "")["victim"]["cpu"]
    before, after = (cpu_line(bundle.text(f"{at}/stat") or "", cpu) for at in ("before", "after"))
    grown = [b - a for a, b in zip(before, after, strict=True)]
    assert rows(table)["cpu_stat"]["got_share"] == pytest.approx((grown[0] + grown[1]) / sum(grown))
    assert rows(table)["times"]["steal_share"] == pytest.approx(grown[7] / sum(grown))
    # mpstat and /proc/stat of one run: mpstat's second is inside the snapshots' two.
    kinds = cpu_accounts(sample)
    assert kinds.loc[["cpu_stat", "mpstat"]].drop(columns="unknown_share").sum(axis=1).tolist() == (
        pytest.approx([1, 1], abs=0.001)
    )
    assert kinds.loc["traced"].drop("steal_share").sum() == pytest.approx(1)
    # What top shows is a tick or two from the scheduler's own count.
    gap = rows(table)["task_stat"]["got_share"] - rows(table)["schedstat"]["got_share"]
    assert abs(gap) < 0.06


def test_mpstat_agrees_with_proc_stat_of_its_own_interval(sample: netcost.Capture) -> None:
    # netcost-record sampled /proc/stat every second as well: the nearest two samples to an interval
    # of mpstat tell the same to what happens in the moments between.
    from netcost_analysis.snapshots.counters import counters as counted
    from netcost_analysis.snapshots.mpstat_times import intervals_within

    assert sample.bundle
    assert sample.bundle.victim
    stat = counted(sample.bundle, "stat")
    stat = stat[stat["cpu"] == sample.bundle.victim.cpu]
    kinds = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"]
    read = stat["at_ns"].to_numpy()
    ticks = stat[kinds].to_numpy(float)
    inside = intervals_within(sample.bundle)
    assert len(inside)
    for one in inside.to_dict("records"):
        begin, end = (int(abs(read - one[name]).argmin()) for name in ("start_ns", "end_ns"))
        parts = (ticks[end] - ticks[begin]) / (ticks[end] - ticks[begin]).sum()
        grown = dict(zip(kinds, parts, strict=True))
        away = abs(read[begin] - one["start_ns"]) + abs(read[end] - one["end_ns"])
        slack = 0.03 + away / (one["end_ns"] - one["start_ns"])
        assert slack < 0.2
        assert abs(one["usr_share"] - grown["user"]) < slack
        assert abs(one["soft_share"] - grown["softirq"]) < slack


def test_the_three_estimates_are_rows_of_the_table() -> None:
    capture = netcost.open_capture(SAMPLES / "veth-stolen-time")
    assert capture.bundle
    three = capture.ask.accounting.estimates().frame["got_share"]
    table = accounts_of(capture)["got_share"]
    assert three["ticks"] == table["times"]
    assert three["work"] == table["work"]
    assert three["traced"] == table["traced"]


@pytest.mark.parametrize(("end_ns", "reason"), [(0, "ended before it started"), (9 * 10**15, "")])
def test_what_the_trace_does_not_hold_the_others_tell(
    tmp_path: Path, end_ns: int, reason: str
) -> None:
    victim = json.loads((doctored(tmp_path / "a") / "manifest.json").read_text())["victim"]
    table = accounts(doctored(tmp_path / "b", victim=victim | {"end_ns": end_ns}))
    assert got(table)["work"] == pytest.approx(0.6)
    assert reason in rows(table)["traced"]["why"]
    assert math.isnan(got(table)["traced"]) == bool(reason)
    table = table.drop(index="system")
    assert table["resolution_share"].isna()[table["got_share"].isna()].all()


def test_a_shells_children_are_not_the_shells_schedstat(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b")
    (folder / "samples" / "victim").write_text(
        "@ 1 500900 501100\n500 schedstat 400 1 3\n501 schedstat 400000 1 3\n"
    )
    assert math.isnan(got(accounts(folder))["schedstat"])
    for side, run_ns in (("before", 0), ("after", 2_100_000_000)):
        (folder / side / "schedstat").write_text(f"version 15\ncpu0 0 0 1 1 1 1 {run_ns} 0 1\n")
        stamp = folder / side / "stamp"
        at_ns = 10**9 if side == "before" else 3 * 10**9
        stamp.write_text(stamp.read_text() + f"schedstat {at_ns - 10**7} {at_ns + 10**7}\n")
    schedstat = rows(accounts(folder))["schedstat"]
    # Nobody runs for more than all of the time: the readings took 20 ms each.
    assert schedstat["got_share"] == 1
    assert schedstat["resolution_share"] == pytest.approx(0.01)


def test_an_unpinned_victim_has_no_cpu(tmp_path: Path) -> None:
    victim = json.loads((doctored(tmp_path / "a") / "manifest.json").read_text())["victim"]
    folder = doctored(tmp_path / "b", victim=victim | {"cpu": None})
    assert cpu_accounts(netcost.open_capture(folder)).isna().all().all()
    assert got(accounts(folder))["traced"] == pytest.approx(0.85)
