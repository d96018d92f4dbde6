# What was done, as steps, loads, victims and --work say; and how many repeats would tell a change.

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcost_analysis as netcost
from netcost_analysis import compare
from netcost_analysis.comparison.comparison import Comparison
from netcost_analysis.comparison.run_set import RunSet
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.comparison.metrics import (
    more_repeats,
    no_metric,
    observed,
    throughputs,
)
from netcost_analysis.questions.comparison.work import is_work, printed
from netcost_analysis.questions.thresholds import parsed
from netcost_analysis.stats.change import TOLD
from support.doctored import speed
from support.outputs import OUTPUTS
from support.perfdata import happenings as h
from support.run_sets import codes, compared, measured, only, polling, recorded

NETPERF = """\
THROUGHPUT=51234.50
THROUGHPUT_UNITS=Trans/s
P99_LATENCY=42.0
MEAN_LATENCY=18.5
"""


def iperf3(sent: int, received: int) -> str:
    sides = {
        "sum_sent": {"seconds": 1.0, "bytes": sent, "bits_per_second": 8.0 * sent, "packets": 100},
        "sum_received": {
            "seconds": 1.0,
            "bytes": received,
            "bits_per_second": 8.0 * received,
            # More than were sent, as iperf3 counts those that came in another order.
            "packets": 100,
            "lost_packets": 103,
            "jitter_ms": 0.25,
        },
    }
    return json.dumps({"start": {"version": "iperf 3.12"}, "end": sides})


def test_a_load_says_what_was_done(tmp_path: Path) -> None:
    of_netperf = printed(recorded(tmp_path / "a", output=NETPERF))
    assert of_netperf["latency_p99_ns"] == 42_000
    assert of_netperf["latency_mean_ns"] == 18_500
    of_iperf3 = printed(recorded(tmp_path / "b", output=iperf3(1_000_000, 400_000)))
    assert of_iperf3["bytes_per_s"] == 400_000
    assert of_iperf3["lost_share"] == pytest.approx(0.6)
    assert of_iperf3["jitter_ns"] == 250_000


def test_a_figure_that_one_run_lacks_is_no_metric(tmp_path: Path) -> None:
    one, other = (recorded(tmp_path / name, output=NETPERF) for name in ("a", "b"))
    names = {of.metric.name: of.metric.better for of in observed(compared(one, other))}
    assert names["latency_p99_ns"] == "less"
    nothing = recorded(tmp_path / "c", output="")
    assert "latency_p99_ns" not in {of.metric.name for of in observed(compared(one, nothing))}


def test_the_verdict_begins_with_the_work(tmp_path: Path) -> None:
    sides = [
        [
            recorded(tmp_path / f"{name}{at}", output=iperf3(1_000_000 + at, rate + at))
            for at in range(6)
        ]
        for name, rate in (("a", 900_000), ("b", 450_000))
    ]
    base, new = map(netcost.RunSet, sides)
    answer = compared(base, new, primary="bytes_per_s").ask.comparison.changes()
    row = answer["work_rows"][0]
    assert (row["metric"], row["differs"], row["outcome"]) == ("bytes_per_s", "yes", "worse")
    assert row["change"] == pytest.approx(-0.5, abs=1e-4)
    # What polls counted is redundant.
    assert "packets_per_s" not in set(answer.frame["metric"])


@pytest.mark.parametrize(
    ("name", "unit", "work"),
    [
        ("received_bits_per_second", "", True),
        ("qps", "", True),
        ("client_cpu_percent", "", False),
        ("dropped_egress", "", False),
        ("latency_p99_9_ns", "ns", True),
        ("network_ns_per_packet", "ns/packet", False),
        ("stolen_share", "share", False),
        ("lost_share", "share", True),
        ("get_requests_per_s", "requests/s", True),
    ],
)
def test_costs_are_no_work(name: str, unit: str, work: bool) -> None:
    assert is_work(name, unit) is work


def needed(scatter: float, count: int) -> int:
    draw = np.random.default_rng(3)
    values = {side: list(100 + scatter * draw.standard_normal(count)) for side in ("base", "new")}
    runs = {side: [(None, one) for one in of] for side, of in values.items()}
    more = more_repeats(runs, True)
    assert more is not None
    return more


def test_more_scatter_takes_more_repeats() -> None:
    assert [needed(scatter, 6) for scatter in (0.0, 1.0)] == [0, 0]
    assert needed(5, 6) < needed(10, 6) < needed(20, 6)
    # With one run a side the scatter is unknown.
    assert needed(5, 1) == 5
    assert needed(0.0, 3) == 3


# The oracle: with as many runs a change of that size is told in about four of five draws.
def test_so_many_repeats_tell_the_change() -> None:
    # Of six values as far from their mean the deviation is 4.
    away = 4 * np.sqrt(5 / 6)
    of = [(None, 100 + away * sign) for sign in (1, -1) * 3]
    more = more_repeats({"base": of, "new": of}, True)
    assert more is not None
    number = 6 + more
    draw = np.random.default_rng(5)
    base, new = np.mean(100 + 4 * draw.standard_normal((2, 1_000, number)), axis=2)
    chance_ends = 1.96 * np.std(new - base)
    assert 0.7 < np.mean(np.abs(new * (1 + TOLD) - base) > chance_ends) < 0.9


def test_figures_of_steps_stay_metrics() -> None:
    found = compared(measured("a", [10, 11]), measured("b", [10, 12])).ask.comparison.changes()
    assert [row["metric"] for row in found["work_rows"]] == ["received_bits_per_second"]
    assert 0 < found.frame["more_repeats"].iloc[0] < 1_000
    # Runs that scatter as far as this one's are beyond any number of repeats.
    wild = compared(measured("a", [1, 2]), measured("b", [1, 3])).ask.comparison.changes()
    assert wild.frame["more_repeats"].isna().all()


TEXTS = {path.stem: path.read_text() for path in OUTPUTS}
TASK = h.Task(600, "wrk")
WRK = TEXTS["wrk-latency"]


def ran(command: str, output: str) -> dict[str, Any]:
    victim = {"command": command, "output": "victim.txt", "cpu": 0}
    return {"victim": victim, "files": {"victim.txt": output}}


# wrk with another rate, and other latencies in ms.
def wrk(rate: float, ms: float) -> dict[str, Any]:
    text = WRK.replace("549.75", f"{rate:.2f}").replace("28.86ms", f"{ms:.2f}ms")
    return ran("wrk -d1 http://a/", text)


# A run each of six repeats a side.
def sides(folder: Path, base: list[dict[str, Any]], new: list[dict[str, Any]]) -> Comparison:
    return Comparison(
        *(
            RunSet(
                recorded(
                    *(folder / f"{name}-{at}", polling(task=TASK)),
                    **{"labels": {"side": name}, "place": ("2026", at), **run},
                )
                for at, run in enumerate(runs)
            )
            for name, runs in (("a", base), ("b", new))
        )
    )


def rows_of(comparison: Comparison) -> dict[str, dict[str, Any]]:
    frame = comparison.ask.comparison.changes().frame
    return {row["metric"]: row for row in frame.to_dict("records")}


def test_more_requests_are_better_and_longer_waits_are_worse(tmp_path: Path) -> None:
    base = [wrk(1000 + at, 10 + at / 100) for at in range(6)]
    new = [wrk(1200 + at, 20 + at / 100) for at in range(6)]
    comparison, rows = sides(tmp_path, base, new), {}
    for primary in ("requests_per_s", "latency_p99_ns"):
        comparison.primary = primary
        rows[primary] = rows_of(comparison)
    # The chances of the others are corrected for being many.
    rate, wait = (rows[primary][primary] for primary in rows)
    assert (rate["base"], rate["new"], rate["outcome"]) == (1002.5, 1202.5, "better")
    assert (wait["base"], wait["new"], wait["outcome"]) == (10_025_000, 20_025_000, "worse")
    assert (rate["per_unit"], wait["per_unit"]) == ("requests/s", "ns")
    assert (rate["observed_in"], rate["base_observations"]) == ("repeats", 6)
    others = rows["requests_per_s"]
    assert (others["latency_mean_ns"]["change"], others["latency_mean_ns"]["differs"]) == (0, "no")
    # One outlier makes the mean and the maximum, so percentiles come first.
    waits = [name for name in others if name.startswith("latency_")]
    assert (waits[:2], waits[-1]) == (["latency_p99_ns", "latency_p50_ns"], "latency_max_ns")
    # Of the other percentiles there are more than say something else; nothing failed.
    assert not {"latency_p75_ns", "failed_share"} & set(others)


@pytest.mark.parametrize(
    ("output", "names"),
    {
        "sockperf-ping-pong": {"messages_per_s", "latency_p99_9_ns", "latency_max_ns"},
        "sockperf-full-rtt": {"round_trip_p50_ns"},
        "netperf-omni-latency": {"transactions_per_s", "latency_p90_ns"},
        "iperf3-udp": {"bytes_per_s", "jitter_ns"},
        "iperf3": {"bytes_per_s", "retransmits"},
        "redis-csv": {"get_requests_per_s", "mset_10_keys_latency_p99_ns"},
        "fio": {"read_ios_per_s", "write_latency_p99_ns"},
    }.items(),
)
def test_metrics_of_every_program(tmp_path: Path, output: str, names: set[str]) -> None:
    run = ran(output, TEXTS[output])
    rows = rows_of(sides(tmp_path, [run], [run]))
    assert names <= set(rows)
    # One run a side claims nothing.
    assert {rows[name]["differs"] for name in names} == {"too_few"}


def test_costs_are_divided_by_transactions(tmp_path: Path) -> None:
    run = ran("netperf -t TCP_RR", TEXTS["netperf-rr"])
    comparison = sides(tmp_path, [run], [run])
    comparison.per = "transaction"
    cost = rows_of(comparison)["network_ns_per_transaction"]
    # 100 softirqs of 2 us in a ms, and 32,915.51 transactions a second.
    assert cost["base"] == pytest.approx(100 * 2_000 / (32_915.51 * 1e-3), rel=0.02)


def counted(before: int | str, after: int | str, seconds: float = 1) -> dict[str, Any]:
    ends = {"before": (before, 0), "after": (after, round(seconds * 1e9))}
    files = {f"{side}/work": f"{text}\n" for side, (text, _) in ends.items()}
    files |= {
        f"{side}/stamp": f"monotonic_ns {at}\nrealtime_ns {at}\nwork {at} {at}\n"
        for side, (_, at) in ends.items()
    }
    victim = {"command": "./bench", "cpu": 0, "output": "victim.txt", "work": "cat done"}
    return {"victim": victim, "files": files | {"victim.txt": "done\n"}}


def test_what_work_counts_is_a_metric_and_a_unit(tmp_path: Path) -> None:
    comparison = sides(tmp_path, [counted(7, 1_007)], [counted(0, 3_000, 2)])
    comparison.per = "work"
    rows = rows_of(comparison)
    rate = rows["work_per_s"]
    assert (rate["base"], rate["new"], rate["per_unit"]) == (1_000, 1_500, "work/s")
    assert "network_ns_per_work" in rows


# What is missing names what gives it, of a metric, a condition and a unit alike.
def test_a_metric_that_is_missing_names_what_gives_it(tmp_path: Path) -> None:
    counts = sides(tmp_path / "counts", [counted(7, 1_007)], [counted(0, 3_000, 2)])
    counts.primary = "network_ns_per_work"
    with pytest.raises(ArgumentError, match=r"--per work.*--work CMD"):
        rows_of(counts)
    frame = sides(tmp_path / "c", [wrk(9, 9)], [wrk(9, 9)]).ask.comparison.changes().frame
    with pytest.raises(ArgumentError, match=r"--per work.*--work CMD"):
        parsed("change(network_ns_per_work) > 5%").of_changes(frame)
    lacks = sides(tmp_path / "lacks", [wrk(9, 9)], [wrk(9, 9)])
    lacks.per = "work"
    with pytest.raises(ArgumentError, match="--work CMD"):
        rows_of(lacks)
    # Of a name that is only wrong nothing is promised.
    assert "--per" not in no_metric("nothing_ns", ["network_ns_per_packet"])


# Blocks of the victim are the throughput where costs are divided by them.
@pytest.mark.parametrize(("per", "unit"), [("block", "block"), (None, "packet")])
def test_blocks_are_a_throughput(tmp_path: Path, per: str | None, unit: str) -> None:
    runs = [recorded(tmp_path / name, **ran("openssl speed", speed(100, 1.0))) for name in "ab"]
    found = throughputs(compared(*runs, per=per))
    assert found is not None
    assert found[0] == unit
    told = {"block": "victim", "packet": "polls"}
    assert found[1] == told[unit]


def test_what_work_prints_of_a_program_is_read(tmp_path: Path) -> None:
    run = counted("", TEXTS["fio"])
    assert "read_ios_per_s" in rows_of(sides(tmp_path / "own", [run], [run]))
    # fio prints nothing where it writes a file, which --work then prints.
    run["victim"]["command"] = "fio --output-format=json --output=o.json job"
    run["files"]["victim.txt"] = ""
    comparison = sides(tmp_path / "file", [run], [run])
    assert "read_ios_per_s" in rows_of(comparison)
    assert "work" not in codes(comparison)


def test_a_victim_without_a_result_is_named(tmp_path: Path) -> None:
    failed = ran("sockperf pp -i 10.0.0.9", TEXTS["sockperf-none"])
    comparison = sides(tmp_path, [wrk(9, 9)], [failed])
    found = only(comparison, "work")
    assert (found.side, found.of_run, found.severity) == ("new", "b-0", "warning")
    assert "No messages" in found.why
    assert rows_of(comparison)["requests_per_s"]["differs"] == "one_side"
    fine = sides(tmp_path / "fine", [wrk(9, 9)], [ran("./own", "4711\n")])
    assert "work" not in codes(fine)


def test_two_sides_of_one_run_set_need_no_names(tmp_path: Path) -> None:
    def runs(*names: str) -> RunSet:
        return RunSet(
            recorded(tmp_path / f"{name}-{len(names)}", labels={"side": name}) for name in names
        )

    compared = compare(runs("b", "a"))
    assert {side: runs.labels["side"] for side, runs in compared.sides.items()} == {
        "base": ("a",),
        "new": ("b",),
    }
    with pytest.raises(ArgumentError):
        compare(runs("a", "b", "c"))


def test_counted_work_is_compared_with_the_baselines(tmp_path: Path) -> None:
    [run] = sides(tmp_path, [counted(0, 300)], [counted(0, 1)]).base
    folder = tmp_path / "a-0"
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "baseline": "baseline/"}))
    # It had a quarter of a CPU, and waited else.
    alone = {**manifest["victim"], "user_s": 0.2, "system_s": 0.05, "wall_s": 1.0}
    texts = counted(0, 400)["files"] | {
        "manifest.json": json.dumps({"netcost_bundle": 1, "victim": alone})
    }
    for name, text in texts.items():
        path = folder / "baseline" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    [capture] = run.captures
    work = capture.ask.accounting.estimates().frame.loc["work"]
    assert work["got_share"] == pytest.approx(300 / 400 * 0.25)
    assert work["lost_share"] == pytest.approx(1 - 300 / 400)
