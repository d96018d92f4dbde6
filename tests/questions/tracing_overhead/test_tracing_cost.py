# What tracing costs: events counted and priced on a drawn timeline and beside perf script.

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis import questions
from netcost_analysis.errors import AbsentError
from netcost_analysis.frames import to_frame
from netcost_analysis.timeline import timeline as timelines
from netcost_analysis.timeline.task import ALL
from support.asked import corrected_stolen, event_cost, tracing_cost
from support.calibrated import told
from support.host import SAMPLES
from support.kept import kept
from support.oracle import printed
from support.perfdata import recording
from support.perfdata import tracepoints as t
from support.told import OPENSSL, UDPSINK

CHECKED = "cost         ok    {} ns an event (perf, measured here just now) are 0.3 % of one CPU\n"
ASSUMED = "cost         ok    {} ns an event (as measured elsewhere) are 0.3 % of one CPU\n"


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
    losses = questions.stolen.stolen(line)["victims"].loc["openssl"]
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
    capture = bundle(tmp_path / "b", text)
    row = event_cost(capture).iloc[0]
    assert row["source"] == source
    found = [row["event_ns"], row["event_low_ns"], row["event_high_ns"]]
    assert tuple(None if pd.isna(one) else one for one in found) == each
    # Of a range alone there is no corrected figure, but its ends.
    figures = corrected_stolen(capture.timeline())
    assert figures["corrected_ns"].isna().all() == (each[0] is None)
    assert figures["corrected_low_ns"].notna().all()


def test_without_switches_there_are_no_shares_of_a_task(tmp_path: Path) -> None:
    formats = (*t.IRQ_FORMATS, t.NAPI_POLL)
    line = bundle(tmp_path / "b", CHECKED.format(200), formats=formats).timeline()
    assert not corrected_stolen(line)["figure"].isin(["on_cpu_ns", "task_ns"]).any()
    assert tracing_cost(line, by="comm")["cost_share"].isna().all()
    assert tracing_cost(line)["cost_share"].notna().all()


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
        for tid, comm in questions.stolen.stolen(line, by="tid")["victims"].index
        if comm == "openssl"
    ][:1]
    # The event of a switch is of the task that leaves, and its cost of the one that comes.
    theirs = Counter(tid for _, _, tid, *_ in lines)[tid]
    assert by_tid[tid] == pytest.approx(theirs, rel=0.01)


def test_figures_are_stolens_and_bounds_are_in_order() -> None:
    line = kept("stolen-time-top.netcost.tar.zst").timeline()
    for by in ("comm", "tid", "cpu", "device"):
        got = corrected_stolen(line, by, ALL)  # type: ignore[arg-type]
        losses = questions.stolen.stolen(line, by)["victims"]  # type: ignore[arg-type]
        keys = [name for name in ("cpu", "tid", "comm") if name in losses.index.names]
        for figure, rows in got.groupby("figure"):
            known = losses[str(figure)]
            known = known[known > 0].sort_index()
            assert rows.set_index(keys)["ns"].sort_index().tolist() == known.tolist()
        assert (got["corrected_low_ns"] >= 0).all()
        assert (got["corrected_low_ns"] <= got["corrected_ns"]).all()
        assert (got["corrected_ns"] <= got["corrected_high_ns"]).all()
        assert (got["corrected_high_ns"] <= got["ns"]).all()


def test_a_victim_is_a_name_or_a_tid() -> None:
    line = kept("veth-stolen-time").timeline()
    overhead = line.ask.tracing_overhead
    whole = corrected_stolen(line, "tid", ALL)
    tid = int(whole.loc[whole["comm"] == "openssl", "tid"].iloc[0])
    own = overhead.corrected_stolen(victim=tid)
    assert set(own.frame["tid"]) == {tid}
    # It was taskset before it was openssl.
    assert set(own["doubts"]["comm"]) == {"openssl"}
    network = own.frame[(own.frame["figure"] == "stolen_network_ns") & (own.frame["ns"] > 10**6)]
    beside = overhead.network_overhead(victim=tid)["of_victim"]
    assert beside["ns"].tolist() == network["ns"].tolist()
    for unknown in ("opensl", 10**8):
        with pytest.raises(AbsentError, match="no task"):
            overhead.corrected_stolen(victim=unknown)


def test_times_are_those_of_the_events() -> None:
    capture = kept("quiet-interface.netcost.tar.zst")
    start_ns = int(capture.timeline().summary["start_ns"])
    end_ns, cpus = start_ns + capture.info["duration_ns"] // 2, capture.info["cpus"][:1]
    tables = [capture.events(name) for name, count in capture.info["events"].items() if count]
    every = pd.concat([one[["common_cpu", "time_ns"]] for one in tables])
    inside = every[every["common_cpu"].isin(cpus) & every["time_ns"].between(start_ns, end_ns)]
    times = to_frame(capture.native.event_times(start_ns, end_ns, cpus))
    assert sorted(inside["time_ns"]) == times["time_ns"].tolist()
    assert set(times["cpu"]) == set(cpus)


def test_a_large_capture_is_counted_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    capture = netcost.open_capture(SAMPLES / "veth-stolen-time")
    whole = tracing_cost(capture.timeline())
    monkeypatch.setattr(timelines, "_MOST_EVENTS", 100_000)
    part = tracing_cost(netcost.open_capture(capture.path).timeline())
    assert part.loc[1, "events"] == pytest.approx(whole.loc[1, "events"], rel=0.25)
