# What tracing costs: events counted and priced on a drawn timeline and beside perf script, costs
# per event from bundles written here and from the calibration runs of a sample.

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis import questions
from netcost_analysis.errors import AbsentError
from netcost_analysis.questions.tracing_overhead import (
    corrected_stolen,
    counts,
    event_cost,
    tracing_cost,
)
from netcost_analysis.questions.tracing_overhead.calibration import judged
from netcost_analysis.questions.tracing_overhead.counts import Events, by_cpu
from netcost_analysis.timeline import timeline as timelines
from netcost_analysis.timeline.task import ALL
from netcost_analysis.units import duration, share
from support.host import SAMPLES
from support.kept import kept
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.printed import printed
from support.said import said
from support.told import NET_RX, OPENSSL, UDPSINK

CHECKED = "cost         ok    {} ns an event (perf, measured here just now) are 0.3 % of one CPU\n"
ASSUMED = "cost         ok    {} ns an event (as measured elsewhere) are 0.3 % of one CPU\n"


# openssl | irq 32: raise | NET_RX | openssl                | waking  (end)
#      0 1000     1100  1500 1600    3000                      9000
# events at 0, 1000, 1100, 1500, 1600, 3000, 9000
def told(until: int = 9_000) -> Cpu:
    return cpu(
        0,
        h.Waking(0, UDPSINK),
        h.IrqEntry(1_000, 32),
        h.SoftirqRaise(1_100, NET_RX),
        h.IrqExit(1_500, 32),
        h.SoftirqEntry(1_600, NET_RX),
        h.SoftirqExit(3_000, NET_RX),
        h.Waking(until, UDPSINK),
        task=OPENSSL,
    )


def bundle(path: Path, preflight: str | None = None, **settings: object) -> netcost.Capture:
    path.mkdir(exist_ok=True)
    recording(told(), known=(OPENSSL, UDPSINK), **settings).write(path / "trace.perf.data")
    manifest = {"netcost_bundle": 1, "trace": "trace.perf.data"}
    (path / "manifest.json").write_text(json.dumps(manifest))
    if preflight:
        (path / "preflight.txt").write_text(preflight)
    return netcost.open_capture(path)


def test_events_cost_the_time_after_them(tmp_path: Path) -> None:
    line = bundle(tmp_path / "b", CHECKED.format(200)).timeline()
    row = tracing_cost(line).loc[0]
    assert row["events"] == 7
    # The raise has 100 ns to the next event on that CPU, the softirq's entry 100 after the exit
    # too; the last event has nothing after it.
    assert row["cost_ns"] == 200 + 100 + 200 + 100 + 200 + 200 + 0
    assert row["source"] == "preflight"
    assert row["cost_share"] == pytest.approx(1_000 / 9_000)
    assert row["events_per_s"] == pytest.approx(7 / 9e-6)
    victim = tracing_cost(line, by="comm").loc["openssl"]
    assert (victim["events"], victim["cost_ns"]) == (7, 1_000)


def test_what_is_left_without_them(tmp_path: Path) -> None:
    line = bundle(tmp_path / "b", CHECKED.format(200)).timeline()
    got = corrected_stolen(line).set_index("figure")
    losses = questions.stolen.stolen(line).victims.loc["openssl"]
    for figure, row in got.iterrows():
        assert row["ns"] == losses[str(figure)]
    # irq entry and raise: 200 of 500 ns... the softirq's entry: 200 of 1,400.
    stolen = got.loc["stolen_ns"]
    assert (stolen["ns"], stolen["events"]) == (1_900, 3)
    assert stolen["corrected_ns"] == 1_900 - (100 + 200 + 200)
    # At 3.7 us each has all the time to the next: nothing is left, and never less.
    assert stolen["corrected_low_ns"] == 0
    assert stolen["corrected_high_ns"] == stolen["corrected_ns"]
    assert stolen["doubtful"] == "yes"
    own = got.loc["task_ns"]
    assert (own["ns"], own["events"], own["corrected_ns"]) == (7_100, 4, 7_100 - 500)
    assert got.loc["on_cpu_ns", "events"] == stolen["events"] + own["events"]


def test_costs_of_a_segment_are_capped_by_the_next_event() -> None:
    segments = pd.DataFrame({"cpu": [0, 0, 1], "start_ns": [0, 100, 0], "end_ns": [100, 300, 300]})
    times = pd.DataFrame({"cpu": [0, 0, 0, 1, 7], "time_ns": [0, 100, 130, 50, 1]})
    got = Events(by_cpu(times), {"cost_ns": 40, "cost_high_ns": None}, 300, 0).within(segments, {})
    assert got["events"].tolist() == [1, 2, 1]
    assert got["cost_ns"].tolist() == [40, 30 + 40, 40]
    assert np.isnan(got["cost_high_ns"]).all()
    # In steps of 1 us nobody knows how much later the next one was.
    coarse = Events(by_cpu(times), {"cost_ns": 40}, 300, 999).within(segments, {})
    assert coarse["cost_ns"].tolist() == [40, 80, 40]


# Ten events in 2 us, told in steps of 1 us: each may have had up to 1 us more, all of them had 2.
def test_coarse_times_never_cost_more_than_there_is(tmp_path: Path) -> None:
    lines = [
        "# tracer: nop",
        "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION",
        "         openssl-500     [000] ..... 1.000000: sched_waking: comm=a pid=9 prio=1 "
        "target_cpu=000",
        *(
            f"         openssl-500     [000] d.h.. 1.00000{1 + number // 5}: {event}: irq=32 {rest}"
            for number in range(4)
            for event, rest in (
                ("irq_handler_entry", "name=eth0"),
                ("irq_handler_exit", "ret=handled"),
            )
        ),
        "         openssl-500     [000] ..... 1.000003: sched_switch: prev_comm=openssl "
        "prev_pid=500 prev_prio=120 prev_state=R ==> next_comm=a next_pid=9 next_prio=120",
    ]
    path = tmp_path / "trace.txt"
    path.write_text("\n".join(lines) + "\n")
    line = netcost.open_capture(path).timeline()
    for by in ("cpu", "comm"):
        costs = tracing_cost(line, by)  # type: ignore[arg-type]
        assert (costs["cost_high_share"].dropna() <= 1).all()
    got = corrected_stolen(line, victim=ALL)
    assert len(got)
    assert (got["cost_high_share"] <= 1).all()
    assert (got["corrected_low_ns"] >= 0).all()


@pytest.mark.parametrize(
    ("text", "source", "each"),
    [
        (CHECKED.format(698), "preflight", (698, 698, 3_700)),
        (CHECKED.format(5_000), "preflight", (5_000, 5_000, 5_000)),
        (ASSUMED.format(220), "preflight, elsewhere", (220, 220, 3_700)),
        (ASSUMED.format(700), "preflight, elsewhere", (700, 300, 3_700)),
        (None, "published", (None, 300, 3_700)),
        ("disk         ok    5 ns\n", "published", (None, 300, 3_700)),
    ],
)
def test_where_a_cost_is_from(
    tmp_path: Path, text: str | None, source: str, each: tuple[int | None, int, int]
) -> None:
    row = event_cost(bundle(tmp_path / "b", text)).iloc[0]
    assert row["source"] == source
    found = [row["event_ns"], row["event_low_ns"], row["event_high_ns"]]
    assert tuple(None if pd.isna(one) else one for one in found) == each


def test_a_bare_recording_has_the_published_range(tmp_path: Path) -> None:
    path = recording(told(), known=(OPENSSL,)).write(tmp_path / "perf.data")
    got = event_cost(netcost.open_capture(path))
    assert got["source"].tolist() == ["published"]
    figures = corrected_stolen(netcost.open_capture(path).timeline())
    assert figures["corrected_ns"].isna().all()
    assert figures["corrected_low_ns"].notna().all()


def test_without_switches_there_are_no_shares_of_a_task(tmp_path: Path) -> None:
    formats = (*t.IRQ_FORMATS, t.NAPI_POLL)
    line = bundle(tmp_path / "b", CHECKED.format(200), formats=formats).timeline()
    assert not corrected_stolen(line)["figure"].isin(["on_cpu_ns", "task_ns"]).any()
    assert tracing_cost(line, by="comm")["cost_share"].isna().all()
    assert tracing_cost(line)["cost_share"].notna().all()


# As many events as a calibration has, one in 13 us.
SPARSE = told(until=90_000)
SPEED = "Doing sha256 for 1s on {size} size blocks: {blocks} sha256's in 1.00s\n"


# Of a run of a second the counters around it: packets and NET_RX on CPU 0.
def counted(folder: Path, packets: int, net_rx: int | None = None) -> None:
    readings = {"before": (0, 0, 0), "after": (10**9, packets, net_rx or packets)}
    for side, (at_ns, received, softirqs) in readings.items():
        (folder / side).mkdir(parents=True, exist_ok=True)
        columns = [f"{received:08x}", *["00000000"] * 14]
        (folder / side / "net_softnet_stat").write_text(" ".join(columns) + "\n")
        text = f"                    CPU0\n      NET_RX: {softirqs:>10}\n"
        (folder / side / "softirqs").write_text(text)
        stamp = [f"{name} {at_ns} {at_ns + 500_000}\n" for name in ("softirqs", "net_softnet_stat")]
        (folder / side / "stamp").write_text("".join(stamp))


# A bundle with its four runs, each of the victim's outputs given as blocks by size. loads: packets
# a second in the loaded runs, untraced and traced. cpus: what is recorded.
def calibrated(
    path: Path,
    loads: tuple[int, int] | None = (100_000, 100_000),
    cpus: tuple[Cpu, ...] = (SPARSE,),
    **runs: dict[int, int],
) -> netcost.Capture:
    folders = {
        "idle": "baseline",
        "idle_traced": "calibration/idle-traced",
        "load": "calibration/load",
        "load_traced": ".",
    }
    for name, blocks in runs.items():
        folder = path / folders[name]
        folder.mkdir(parents=True, exist_ok=True)
        output = "".join(SPEED.format(size=size, blocks=each) for size, each in blocks.items())
        (folder / "victim.txt").write_text(output)
        manifest: dict[str, object] = {
            "netcost_bundle": 1,
            "trace": None,
            "victim": {"command": "openssl speed", "cpu": 0, "output": "victim.txt"},
        }
        if name.endswith("traced"):
            known = tuple(one.first_task for one in cpus)
            recording(*cpus, known=known).write(folder / "trace.perf.data")
            manifest["trace"] = "trace.perf.data"
            manifest["victim"] |= {"start_ns": None, "end_ns": None}  # type: ignore[operator]
        if name == "load_traced":
            manifest["calibration"] = {key: f"{value}/" for key, value in folders.items()}
        (folder / "manifest.json").write_text(json.dumps(manifest))
    if loads:
        counted(path / folders["load"], loads[0])
        counted(path, loads[1])
    return netcost.open_capture(path)


def test_a_calibration_of_one_block_size(tmp_path: Path) -> None:
    capture = calibrated(
        tmp_path / "b",
        idle={1024: 1_000_000},
        idle_traced={1024: 985_000},
        load={1024: 600_000},
        load_traced={1024: 550_000},
    )
    load, idle, published = (row for _, row in event_cost(capture).iterrows())
    # 5 % of a CPU, give or take the idle pair's 1.5, for 7 events in 90 us.
    each = 90_000 / 7
    assert (load["source"], load["measured_events"]) == ("calibration, load", 7)
    assert load["event_ns"] == round(0.05 * each)
    # The readings take half a millisecond each: so much the rates may differ by, of 40 %.
    slack = 0.4 * 0.001
    assert load["event_low_ns"] == pytest.approx((0.035 - slack) * each, abs=1)
    assert load["event_high_ns"] == pytest.approx((0.065 + slack) * each, abs=1)
    assert (load["usable"], load["cpu"]) == (True, 0)
    assert "loads" not in load["why"]
    assert (idle["source"], idle["usable"]) == ("calibration, idle", False)
    assert published["usable"]
    assert tracing_cost(capture.timeline())["source"].tolist() == ["calibration, load"]


def test_a_calibration_that_shows_nothing_is_not_used(tmp_path: Path) -> None:
    capture = calibrated(
        tmp_path / "b",
        idle={1024: 1_000_000},
        idle_traced={1024: 1_010_000},
        load={1024: 600_000},
        load_traced={1024: 605_000},
    )
    costs = event_cost(capture)
    assert costs["usable"].tolist() == [False, False, True]
    assert "which cannot be told from zero" in costs["why"].iloc[0]
    assert tracing_cost(capture.timeline())["source"].tolist() == ["published"]


RUNS = {
    "idle": {1024: 1_000_000},
    "idle_traced": {1024: 995_000},
    "load": {1024: 600_000},
    "load_traced": {1024: 550_000},
}


def test_loads_twice_apart_are_no_calibration(tmp_path: Path) -> None:
    capture = calibrated(tmp_path / "b", loads=(617_540, 318_278), **RUNS)
    row = event_cost(capture).iloc[0]
    assert not row["usable"]
    assert "the loads differ: 617,540 packets/s untraced and 318,278 traced" in row["why"]
    assert tracing_cost(capture.timeline())["source"].tolist() == ["published"]
    text = said(capture.timeline().ask.tracing_overhead.tracing_cost())
    assert "Its own calibration is not used: " in text
    assert "318,278 traced" in text


# The load takes 40 % of the CPU. With a tenth less of it while traced the victim should have lost
# 4 % less: tracing took between the 5 % that are seen and those 9 %.
@pytest.mark.parametrize(
    ("traced", "low", "high", "usable"),
    [(90_000, 0.04, 0.10, True), (100_000, 0.04, 0.06, True), (110_000, 0.0, 0.06, False)],
)
def test_loads_a_little_apart_widen_it(
    tmp_path: Path, traced: int, low: float, high: float, usable: bool
) -> None:
    row = event_cost(calibrated(tmp_path / "b", (100_000, traced), **RUNS)).iloc[0]
    each, slack = 90_000 / 7, 0.001
    assert row["event_ns"] == round(0.05 * each)
    assert row["event_low_ns"] == pytest.approx(low * each, abs=slack * each)
    assert row["event_high_ns"] == pytest.approx(high * each, abs=slack * each)
    assert row["usable"] == usable
    assert ("for loads that differ (100,000 packets/s" in row["why"]) == (traced != 100_000)


def test_the_same_packets_in_other_batches_widen_it(tmp_path: Path) -> None:
    capture = calibrated(tmp_path / "b", **RUNS)
    counted(tmp_path / "b", 100_000, net_rx=95_000)
    row = event_cost(netcost.open_capture(capture.path)).iloc[0]
    assert row["event_high_ns"] == pytest.approx((0.06 + 0.02) * 90_000 / 7, rel=0.02)
    assert "95,000 traced" in row["why"]


def test_runs_of_unknown_loads_are_no_calibration(tmp_path: Path) -> None:
    row = event_cost(calibrated(tmp_path / "b", loads=None, **RUNS)).iloc[0]
    assert not row["usable"]
    assert "the loads of the two runs are unknown" in row["why"]


def test_a_price_that_no_event_can_have_is_refused() -> None:
    one = np.array([0.05])
    # 5 us an event, though the interval reaches down to 3.5.
    dear = judged("load", one, 10_000, 1.0, noise=0.015)
    assert (dear.ns, dear.low, dear.usable) == (5_000, pytest.approx(3_500), False)
    assert "more than an event costs" in dear.why
    cheap = judged("load", one, 1_000_000, 1.0, noise=0.01)
    assert (cheap.ns, cheap.high, cheap.usable) == (50, pytest.approx(60), False)
    assert "less than an event costs anywhere" in cheap.why


def test_a_price_for_another_cpu_is_an_extrapolation(tmp_path: Path) -> None:
    there = cpu(1, h.Waking(0, OPENSSL), h.IrqEntry(1_000, 33), h.IrqExit(1_500, 33), task=UDPSINK)
    capture = calibrated(tmp_path / "b", cpus=(SPARSE, there), **RUNS)
    line = capture.timeline()
    by_cpu = tracing_cost(line)["source"]
    assert by_cpu.to_dict() == {
        0: "calibration, load",
        1: "calibration, load of CPU 0, extrapolated",
    }
    figures = corrected_stolen(line, victim=ALL).groupby("comm")["source"].unique()
    assert figures["openssl"].tolist() == ["calibration, load"]
    assert figures["udpsink"].tolist() == ["calibration, load of CPU 0, extrapolated"]
    answer = line.ask.tracing_overhead.tracing_cost()
    assert (answer.figures["cpu"], answer.figures["elsewhere"]) == (0, [1])
    text = said(answer)
    assert "It was measured on CPU 0: for CPU 1 it is an extrapolation" in text


def test_an_interval_of_several_sizes() -> None:
    lost = np.array([0.02, 0.03, 0.04])
    got = judged("load", lost, 10_000, 1.0, noise=None)
    # 0.03 give or take t(2) 4.303 times 0.01 / sqrt(3), 100 us of wall time an event.
    assert got.ns == pytest.approx(3_000)
    assert (got.low, got.high) == pytest.approx((516, 5_484), abs=1)
    assert got.usable
    # More than an event can cost: not an event's cost.
    assert not judged("load", lost, 100, 1.0, noise=None).usable


def test_calibrations_of_a_sample_agree_with_what_was_measured_there() -> None:
    # 214 to 323 ns an event by three runs of netcost-record --check --tool tracefs on that machine
    # (docs/capture.md); one pair of runs each, so they scatter.
    found = []
    for path in sorted((SAMPLES / "hidden-cost").glob("[24]0000-pps-*")):
        row = event_cost(netcost.open_capture(path)).iloc[0]
        assert row["source"] == "calibration, load"
        found.append(row["event_ns"])
    assert len(found) >= 6
    assert 100 < np.median(found) < 500


@pytest.mark.parametrize("name", ["nic-stolen-time", "stolen-time-top.netcost.tar.zst"])
def test_events_are_those_that_perf_prints(name: str) -> None:
    line = kept(name).timeline()
    assert line.capture.bundle
    lines = printed(name)
    by_cpu = tracing_cost(line)["events"]
    assert by_cpu.to_dict() == Counter(number for number, *_ in lines)
    assert by_cpu.sum() == sum(line.capture.info["events"].values())
    by_tid = tracing_cost(line, by="tid")["events"].groupby("tid").sum()
    [tid] = [
        tid
        for tid, comm in questions.stolen.stolen(line, by="tid").victims.index
        if comm == "openssl"
    ][:1]
    # The event of a switch is of the task that leaves, and its cost of the one that comes.
    theirs = Counter(tid for _, _, tid, *_ in lines)[tid]
    assert by_tid[tid] == pytest.approx(theirs, rel=0.01)


@pytest.mark.parametrize("by", ["comm", "tid", "cpu", "device"])
def test_figures_are_stolens_and_bounds_are_in_order(by: str) -> None:
    line = kept("stolen-time-top.netcost.tar.zst").timeline()
    got = corrected_stolen(line, by, ALL)  # type: ignore[arg-type]
    losses = questions.stolen.stolen(line, by).victims  # type: ignore[arg-type]
    keys = [name for name in ("cpu", "tid", "comm") if name in losses.index.names]
    for figure, rows in got.groupby("figure"):
        known = losses[str(figure)]
        assert rows.set_index(keys)["ns"].sort_index().tolist() == (
            known[known > 0].sort_index().tolist()
        )
    assert (got["corrected_low_ns"] >= 0).all()
    assert (got["corrected_low_ns"] <= got["corrected_ns"]).all()
    assert (got["corrected_ns"] <= got["corrected_high_ns"]).all()
    assert (got["corrected_high_ns"] <= got["ns"]).all()


def test_a_result_that_is_much_tracing_is_warned_of() -> None:
    # 88,000 events a second on openssl: at 0.3 us each a sixth of what they measure.
    line = kept("veth-stolen-time").timeline()
    own = corrected_stolen(line, victim="openssl").set_index("figure")
    assert own.loc["stolen_ns", "doubtful"] == "yes"
    assert own.loc["task_ns", "doubtful"] == "perhaps"
    overhead = line.ask.tracing_overhead
    beside = said(overhead.network_overhead(victim="openssl"))
    network = own.loc["stolen_network_ns"]
    least = share(network["cost_low_share"])
    assert f"Of the {duration(network['ns'])} that packet processing surely took, " in beside
    assert f"tracing itself is at least {least}" in beside
    answer = overhead.corrected_stolen(victim="openssl")
    assert (answer.frame["comm"] == "openssl").all()
    # The task that the bundle names is whom it is about without a victim.
    assert answer.words == overhead.corrected_stolen().words
    told = said(answer)
    assert "#### Tracing is at least 16.5 % of what is shown as “stolen” for openssl" in told
    assert f"{least} of “stolen, network”" in told
    assert "Tracing may be up to 15.2 % of what is shown as “on CPU”" in told


# Its interrupts are perhaps network, and none surely.
def test_what_may_be_network_is_told_of_where_nothing_surely_is() -> None:
    line = kept("local-migrations.netcost.tar.zst").timeline()
    own = corrected_stolen(line, victim="openssl").set_index("figure")
    assert "stolen_network_ns" not in own.index
    least = share(own.loc["stolen_network_max_ns", "cost_low_share"])
    beside = said(line.ask.tracing_overhead.network_overhead(victim="openssl"))
    assert f"that packet processing may have taken, tracing itself is at least {least}" in beside
    told = said(line.ask.tracing_overhead.corrected_stolen(victim="openssl"))
    assert f"{least} of “stolen, perhaps network”" in told


def test_a_result_with_little_tracing_in_it_is_not_warned_of() -> None:
    line = kept("stolen-time-top.netcost.tar.zst").timeline()
    overhead = line.ask.tracing_overhead
    little = said(overhead.network_overhead(victim="openssl"))
    assert little == "Of what packet processing took, tracing itself is no more than 5.0 %."
    assert said(overhead.corrected_stolen(victim="openssl")) == ""
    costs = overhead.tracing_cost()
    total = costs.figures["in_all"]
    whole = 2 * line.duration_ns
    assert total.share == pytest.approx(costs.frame["cost_ns"].sum() / whole)
    assert f"{share(total.share)} ({share(total.low_share)} to" in said(costs)


def test_a_victim_is_a_name_or_a_tid() -> None:
    line = kept("veth-stolen-time").timeline()
    overhead = line.ask.tracing_overhead
    whole = corrected_stolen(line, "tid", ALL)
    tid = int(whole.loc[whole["comm"] == "openssl", "tid"].iloc[0])
    own = overhead.corrected_stolen(victim=tid)
    assert set(own.frame["tid"]) == {tid}
    assert own.figures["victim"] == "openssl"
    # It was taskset before it was openssl.
    network = own.frame[(own.frame["figure"] == "stolen_network_ns") & (own.frame["ns"] > 10**6)]
    assert [overhead.network_overhead(victim=tid).figures["ns"]] == network["ns"].tolist()
    for unknown in ("opensl", 10**8):
        with pytest.raises(AbsentError, match="no task"):
            overhead.corrected_stolen(victim=unknown)


@pytest.mark.parametrize("sample", ["veth-stolen-time", "quiet-interface.netcost.tar.zst"])
def test_times_are_those_of_the_events(sample: str) -> None:
    capture = netcost.open_capture(SAMPLES / sample)
    start_ns = int(capture.timeline().summary["start_ns"])
    end_ns, cpus = start_ns + capture.info["duration_ns"] // 2, capture.info["cpus"][:1]
    tables = [capture.events(name) for name, count in capture.info["events"].items() if count]
    every = pd.concat([one[["common_cpu", "time_ns"]] for one in tables])
    inside = every[every["common_cpu"].isin(cpus) & every["time_ns"].between(start_ns, end_ns)]
    times = counts.event_times(capture, start_ns, end_ns, cpus)
    assert sorted(inside["time_ns"]) == times["time_ns"].tolist()
    assert set(times["cpu"]) == set(cpus)


def test_a_large_capture_is_counted_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    capture = netcost.open_capture(SAMPLES / "veth-stolen-time")
    whole = tracing_cost(capture.timeline())
    monkeypatch.setattr(timelines, "_MOST_EVENTS", 100_000)
    part = tracing_cost(netcost.open_capture(capture.path).timeline())
    assert part.loc[1, "events"] == pytest.approx(whole.loc[1, "events"], rel=0.25)


def test_the_caveats_leave_it_to_one_place(tmp_path: Path) -> None:
    capture = bundle(tmp_path / "b")
    assert "an event" not in capture.ask.completeness.caveats().words
    text = said(capture.ask.tracing_overhead.tracing_cost())
    assert "300 ns an event with hot caches and 3.70 µs with cold ones" in text
