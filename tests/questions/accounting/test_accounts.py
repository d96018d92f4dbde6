# Every account of a victim's time side by side, and why each can be wrong: by hand on a bundle made
# for it, and against the files of samples read by a few lines of naive Python.

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis import CaptureError
from netcost_analysis.display.templates import as_text
from netcost_analysis.questions import beyond_trace, got_shares
from netcost_analysis.snapshots.counters import counters as sampled_counters
from netcost_analysis.snapshots.mpstat_times import intervals_within
from netcost_analysis.snapshots.service import Growth
from support.asked import accounts, cpu_accounts
from support.doctored import counters, doctored, mpstat
from support.kept import kept


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return doctored(tmp_path / "b")


def of(folder: Path, **given: float) -> pd.DataFrame:
    table: pd.DataFrame = accounts(netcost.open_capture(folder), **given)
    return table


def got(table: pd.DataFrame) -> dict[str, float]:
    # System time says what was lost, and nothing of what was had.
    shares: dict[str, float] = table["got_share"].drop(index="system").to_dict()
    return shares


def victim_of(folder: Path) -> dict[str, Any]:
    victim: dict[str, Any] = json.loads((folder / "manifest.json").read_text())["victim"]
    return victim


def test_each_account_has_its_own(folder: Path) -> None:
    table = of(folder, hidden_ns=7000.0)
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
    system = table.loc["system"]
    assert system[["got_share", "residual_share"]].isna().all()
    # 48 ticks of 2 s.
    assert system[["lost_share", "resolution_share"]].tolist() == pytest.approx([0.24, 0.005])
    assert "/proc/PID/stat" in system["source"]
    every = table.drop(index="system")
    assert (every["got_share"] + every["lost_share"]).tolist() == pytest.approx([1.0] * 8)
    assert table["residual_share"][["traced", "work"]].tolist() == pytest.approx([0.25, 0])
    # 10 ms, and two of them, of 2 s; 200 ns of 500 us; 10 ms of the 1 ms that mpstat was asked for.
    names = ["times", "task_stat", "schedstat", "cpu_stat", "mpstat", "work", "traced_and_hidden"]
    assert table["resolution_share"][names].tolist() == pytest.approx(
        [0.005, 0.01, 0.0004, 0.005, 10, 1 / 600, math.nan], nan_ok=True
    )
    # mpstat has its own.
    assert table["steal_share"]["mpstat"] == 0
    assert table["steal_share"].drop(index="mpstat").tolist() == pytest.approx([0.02] * 8)


def test_what_the_bundle_lacks_is_unknown(tmp_path: Path) -> None:
    folder = doctored(tmp_path / "b", baseline=None, companions=None, record_command=None)
    for name in ("victim_stat", "before/stat", "samples/victim", "before/interrupts"):
        (folder / name).unlink()
    table = of(folder, hidden_ns=7000.0)
    missing = {"schedstat", "cpu_stat", "mpstat", "traced_and_hidden", "work"}
    assert {name for name, value in got(table).items() if math.isnan(value)} == missing
    # From the manifest instead of victim_stat: what times(2) told netcost-record.
    assert table["got_share"]["task_stat"] == pytest.approx(0.95)
    assert table["lost_share"]["system"] == pytest.approx(0.2)
    assert table["residual_share"].isna().all()
    ask = netcost.open_capture(folder).ask.accounting
    assert ask.accounts()["in_all"]["farthest"] is None
    assert "no baseline" in ask.accounts().words
    assert "lacks these accounts: " in ask.account_reasons().words


# Read for 20 ms each.
def with_schedstat(folder: Path, before_ns: int, after_ns: int) -> "pd.Series[Any]":
    for side, run_ns, at_ns in (("before", before_ns, 10**9), ("after", after_ns, 3 * 10**9)):
        (folder / side / "schedstat").write_text(f"version 15\ncpu0 0 0 1 1 1 1 {run_ns} 0 1\n")
        stamp = folder / side / "stamp"
        stamp.write_text(stamp.read_text() + f"schedstat {at_ns - 10**7} {at_ns + 10**7}\n")
    return of(folder).loc["schedstat"]


def test_without_samples_of_one_task_the_cpus_schedstat_is_taken(folder: Path) -> None:
    samples = "@ 1 500900 501100\n500 schedstat 400 1 3\n501 schedstat 400000 1 3\n"
    # A shell's children are not the shell's.
    (folder / "samples" / "victim").write_text(samples)
    assert math.isnan(got(of(folder))["schedstat"])
    (folder / "samples" / "victim").unlink()
    row = with_schedstat(folder, 5 * 10**9, 6_900_000_000)
    assert row["got_share"] == pytest.approx(0.95)
    assert row["resolution_share"] == pytest.approx(0.01)
    # Nobody runs for more than all of the time.
    assert with_schedstat(folder, 0, 2_100_000_000)["got_share"] == 1


def test_without_a_victim_there_is_nothing_to_compare(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="--victim"):
        of(doctored(tmp_path / "b", victim=None))


@pytest.mark.parametrize(
    "fields",
    [
        {"victim": {"command": None, "cpu": "0", "pid": "x", "start_ns": "1", "wall_s": None}},
        {"companions": "mpstat", "record_command": "netcost-record --interval"},
        {"companions": 7},
        {"companions": [None, {"name": "mpstat", "output": 3, "start_ns": "x"}], "host": 4},
        # Half of its JSON is none.
        {},
    ],
)
def test_a_manifest_of_a_stranger(tmp_path: Path, fields: dict[str, object]) -> None:
    folder = doctored(tmp_path / "b", **fields)
    (folder / "mpstat.json").write_text(mpstat(60.0, 50.0)[: None if fields else -9])
    assert math.isnan(got(of(folder))["mpstat"])
    cpu_accounts(netcost.open_capture(folder))


def test_counters_that_went_backwards_are_no_rate(folder: Path) -> None:
    shutil.rmtree(folder / "after")
    counters(folder / "after", 3 * 10**9, "250 0 12 49 5 0 64 4 0 0", 10)
    table = of(folder, hidden_ns=7000.0)
    assert math.isnan(got(table)["traced_and_hidden"])
    # Idle time may be read a tick back; it has not run backwards.
    assert got(table)["cpu_stat"] == pytest.approx(0.75)


def test_the_cpu_by_kind(folder: Path) -> None:
    answer = netcost.open_capture(folder).ask.accounting.cpu_accounts()
    # Of the trace twelve times 2 us of hardirq and 12.5 us of softirq in 1.16 ms.
    shares = ["tasks_share", "irq_share", "soft_share", "idle_share", "steal_share"]
    assert answer.frame[shares].fillna(-1).to_numpy().tolist() == [
        pytest.approx([0.76, 0, 0.22, 0, 0.02]),
        pytest.approx([0.55, 0, 0.3, 0.15, 0]),
        pytest.approx([0.85, 24 / 1160, 150 / 1160, 0, -1]),
    ]
    assert answer.frame["unknown_share"]["traced"] == pytest.approx(0)
    assert answer["in_all"]["counted_share"] == pytest.approx(0.22)
    assert answer["in_all"]["traced_share"] == pytest.approx(174 / 1160)
    answer.plot()


@pytest.fixture(scope="module", params=["stolen-time-tcp", "stolen-time-top"])
def sample(request: pytest.FixtureRequest) -> netcost.Capture:
    return kept(f"{request.param}.netcost.tar.zst")


def cpu_line(text: str, cpu: int) -> list[int]:
    line = next(line for line in text.splitlines() if line.startswith(f"cpu{cpu} "))
    return [int(word) for word in line.split()[1:9]]


def test_samples_agree_with_their_files(sample: netcost.Capture) -> None:
    bundle = sample.bundle
    assert bundle
    assert bundle.victim_cpu is not None
    table = accounts(sample)
    texts = [bundle.text(f"{at}/stat") or "" for at in ("before", "after")]
    before, after = (cpu_line(text, bundle.victim_cpu) for text in texts)
    grown = [b - a for a, b in zip(before, after, strict=True)]
    assert table["got_share"]["cpu_stat"] == pytest.approx((grown[0] + grown[1]) / sum(grown))
    assert table["steal_share"]["times"] == pytest.approx(grown[7] / sum(grown))
    # What top shows is a tick or two from the scheduler's own count.
    assert abs(table["got_share"]["task_stat"] - table["got_share"]["schedstat"]) < 0.06
    kinds = cpu_accounts(sample).sum(axis=1)
    assert kinds.tolist() == pytest.approx([1, 1, 1], abs=0.001)
    three = sample.ask.accounting.estimates().frame["got_share"]
    for name, account in (("ticks", "times"), ("work", "work"), ("traced", "traced")):
        assert three[name] == table["got_share"][account]


# netcost-record sampled /proc/stat every second as well: the nearest two samples to an interval of
# mpstat tell the same to what happens in the moments between.
def test_mpstat_agrees_with_proc_stat_of_its_own_interval(sample: netcost.Capture) -> None:
    assert sample.bundle
    stat = sampled_counters(sample.bundle, "stat")
    stat = stat[stat["cpu"] == sample.bundle.victim_cpu]
    kinds = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"]
    read = stat["at_ns"].to_numpy()
    inside = intervals_within(sample.bundle)
    assert len(inside)
    for one in inside.to_dict("records"):
        begin, end = (int(abs(read - one[name]).argmin()) for name in ("start_ns", "end_ns"))
        grown = (stat[kinds].iloc[end] - stat[kinds].iloc[begin]).astype(float)
        grown /= grown.sum()
        away = abs(read[begin] - one["start_ns"]) + abs(read[end] - one["end_ns"])
        slack = 0.03 + away / (one["end_ns"] - one["start_ns"])
        assert slack < 0.2
        assert abs(one["usr_share"] - grown["user"]) < slack
        assert abs(one["soft_share"] - grown["softirq"]) < slack


@pytest.mark.parametrize(("end_ns", "reason"), [(0, "ended before it started"), (9 * 10**15, "")])
def test_what_the_trace_does_not_hold_the_others_tell(
    folder: Path, tmp_path: Path, end_ns: int, reason: str
) -> None:
    table = of(doctored(tmp_path / "c", victim=victim_of(folder) | {"end_ns": end_ns}))
    assert got(table)["work"] == pytest.approx(0.6)
    assert reason in table["why"]["traced"]
    assert math.isnan(got(table)["traced"]) == bool(reason)
    table = table.drop(index="system")
    assert table["resolution_share"].isna()[table["got_share"].isna()].all()


def test_an_unpinned_victim_has_no_cpu(folder: Path, tmp_path: Path) -> None:
    unpinned = doctored(tmp_path / "c", victim=victim_of(folder) | {"cpu": None})
    assert cpu_accounts(netcost.open_capture(unpinned)).isna().all(axis=None)
    assert got(of(unpinned))["traced"] == pytest.approx(0.85)


# What the reasons of some accounts say, and whether interrupts are in system time.
@pytest.mark.parametrize(
    ("config", "times", "task_stat", "with_interrupts"),
    [
        ("TICK_CPU_ACCOUNTING=y\nCONFIG_HZ=1000", "1 ms", "includes all", True),
        ("IRQ_TIME_ACCOUNTING=y", "left out", "had slept", False),
        ("VIRT_CPU_ACCOUNTING_GEN=y", "nohz_full=", "includes all", True),
        ("VIRT_CPU_ACCOUNTING_NATIVE=y", "system time", "added to its system", True),
        ("HZ=0", "unknown", "unknown", None),
    ],
)
def test_the_reasons_are_those_of_the_kernel(
    folder: Path, config: str, times: str, task_stat: str, with_interrupts: bool | None
) -> None:
    (folder / "kernel_config").write_text(f"CONFIG_{config}\n")
    answer = netcost.open_capture(folder).ask.accounting.accounts()
    why = answer.frame["why"]
    assert times in why["times"]
    assert task_stat in why["task_stat"]
    assert ("left out" in why["system"]) == (with_interrupts is False)
    assert "{" not in "".join(why)
    assert answer["in_all"]["with_interrupts"] is with_interrupts


# Of the bundle as it is, and after a change: which accounts say it.
def test_what_makes_an_account_doubtful_is_said(folder: Path, tmp_path: Path) -> None:
    def saying(text: str, of_folder: Path = folder) -> set[str]:
        return {str(name) for name, why in of(of_folder)["why"].items() if text in why}

    assert saying("not reliable") == {"traced"}
    assert saying("(steal)") == {*of(folder).index} - {"mpstat"}
    assert saying("only 95.0 %") == {"work"}
    assert not saying("openssl timed") | saying("snapshots are") | saying("% steal")
    manifest = folder / "baseline" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("1.9", "1.99"))
    assert not saying("for only")
    counters(folder / "baseline" / "before", 10**9, "0 0 0 0 0 0 0 0 0 0", 0)
    counters(folder / "baseline" / "after", 3 * 10**9, "190 0 0 0 0 0 0 10 0 0", 0)
    assert saying("5.0 % steal") == {"work"}
    stamp = folder / "after" / "stamp"
    stamp.write_text(stamp.read_text().replace(" 29999", " 49999").replace(" 30000", " 50000"))
    assert saying("snapshots are 4.00") == {"cpu_stat"}
    longer = doctored(tmp_path / "c", victim=victim_of(folder) | {"wall_s": 3.0})
    assert saying("openssl timed", longer) == {"task_stat", "schedstat", "traced"}
    assert saying("3.00 s", longer) >= saying("openssl timed", longer)


def test_the_figures_of_the_words_are_those_of_the_accounts(folder: Path) -> None:
    ask = netcost.open_capture(folder).ask.accounting
    answer = ask.accounts()
    words = re.findall(
        r"(?:got|shows|says|disturbed: \w+ h|about) \D*?([\d.]+) %", as_text(answer.words)
    )
    assert words == ["60.0", "99.0", "75.0", "85.0", "57.0"]
    in_all = answer["in_all"]
    assert (in_all["comm"], in_all["farthest"]) == ("openssl", "task_stat")
    # 0.95 of a CPU did 1000 blocks.
    assert in_all["baseline_share"] == pytest.approx(0.95)
    assert in_all["undisturbed_share"] == pytest.approx(0.95 * 0.6)
    answer.plot()
    reasons = ask.account_reasons()
    assert (reasons["steal_max_share"], reasons["price"]) == (pytest.approx(0.02), None)


def test_steal_of_nothing_is_not_steal_that_nobody_counted(folder: Path) -> None:
    shutil.rmtree(folder / "after")
    counters(folder / "after", 3 * 10**9, "150 0 2 0 0 0 44 0 0 0", 20_000)
    ask = netcost.open_capture(folder).ask.accounting
    assert ask.account_reasons()["steal_max_share"] == 0
    for name in ("before/stat", "after/stat", "mpstat.json"):
        (folder / name).unlink()
    ask = netcost.open_capture(folder).ask.accounting
    assert math.isnan(ask.account_reasons()["steal_max_share"])


# A thread for each request is gone before it is read: ticks found it, and no schedstat has it. A
# few ticks are fewer the longer they were counted.
@pytest.mark.parametrize(("seconds", "known"), [(0.5, True), (3.0, False), (60.0, False)])
def test_threads_that_ended_unread_are_not_left_out(
    monkeypatch: pytest.MonkeyPatch, seconds: float, known: bool
) -> None:
    ran = Growth(0.017 * seconds, seconds, 0.02)
    monkeypatch.setattr(got_shares, "service_ran", lambda bundle: ran)
    monkeypatch.setattr(got_shares, "charged_share", lambda bundle: 0.058)
    assert got_shares.threads_ran(kept("nic-stolen-time").bundle) == (ran if known else None)


# Not even 25 times the work's time in the baseline is a cost that no tracepoint encloses.
def test_no_hidden_cost_doubles_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beyond_trace, "undisturbed_share", lambda bundle: 0.02)
    found = beyond_trace.beyond_trace(kept("nic-stolen-time").timeline(window="victim"), None)
    assert found is not None
    assert (found.hidden_share, found.hidden_ns) == (None, None)
    assert found.untraced


# User time is a part of what a service has, and is compared with that part of its baseline.
def test_a_services_user_time_is_compared_with_user_time() -> None:
    capture = kept("attached-service.netcost.tar.zst")
    table, bundle = accounts(capture), capture.bundle
    assert bundle is not None
    assert bundle.baseline is not None
    baseline = got_shares.ticks_share(bundle.baseline)
    whole = got_shares.undisturbed_share(bundle)
    assert baseline is not None
    assert whole is not None
    assert baseline < whole
    times, top = table.loc["times"], table.loc["task_stat"]
    assert times["lost_share"] == pytest.approx(1 - times["got_share"] / baseline)
    assert top["lost_share"] == pytest.approx(1 - top["got_share"] / whole)
    done = got_shares.work_share(bundle)
    assert done is not None
    assert times["residual_share"] == pytest.approx(times["got_share"] - done * baseline)
