# What Perfetto's own trace processor finds in a trace that netcost convert wrote: the ledger's
# sums, every event with its arguments, and nothing to complain of.

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import netcost_analysis as netcost
from netcost_analysis.timeline.owners import thief_label
from support.host import Fresh, examples
from support.kept import kept
from support.narrator import recordings
from support.native_tables import rows
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.retold import whole
from support.texts import HOSTILE, small_texts
from support.told import NET_RX, OPENSSL
from support.trace_processor import Processor, processor
from support.tracedat.told import write_trace_dat, write_tracefs

NIC = "nic-stolen-time"
S = 1_000_000_000
Owners = dict[tuple[Any, ...], tuple[int, int]]

SLICES = """
    SELECT track.name, slice.name, category, extract_arg(arg_set_id, 'debug.task'),
        extract_arg(arg_set_id, 'debug.napi'), sum(dur), count(*)
    FROM slice JOIN track ON track.id = track_id
    WHERE track.name GLOB 'CPU *' AND track.name NOT GLOB '*:*'
    GROUP BY 1, 2, 3, 4, 5
"""


def shown(timeline: netcost.Timeline, path: Path, **how: Any) -> Processor:
    timeline.to_perfetto(path / "x.perfetto-trace", overwrite=True, **how)
    return processor().load(path / "x.perfetto-trace")


# How many rows a table of the trace processor has.
def count(traced: Processor, table: str) -> int:
    [(number,)] = traced.rows(f"SELECT count(*) FROM {table}")  # noqa: S608
    return int(number)


def owners(traced: Processor) -> Owners:
    return {tuple(key): (ns, count) for *key, ns, count in traced.rows(SLICES)}


# The ledger's sums by what a slice shows of an owner, worded by the package's own labels.
def summed(timeline: netcost.Timeline) -> Owners:
    ns: Counter[tuple[Any, ...]] = Counter()
    segments: Counter[tuple[Any, ...]] = Counter()
    for row in rows(timeline.table("sums")):
        task = None if row["tid"] is None else f"[{row['tid']}]"
        if row["comm"] is not None:
            task = f"{row['comm']} {task}" if task else row["comm"]
        own = row["context"] == "task"
        name = thief_label(row["context"], row["id"], row["name"], row["device"])
        network = {"yes": "network", "unknown": "perhaps network"}.get(row["is_network"])
        key = (
            f"CPU {row['cpu']}",
            (task or "task") if own else name,
            ",".join(filter(None, (row["cost_class"], network))) or None,
            None if own or row["context"] == "idle" else task,
            None if row["napi"] is None else hex(row["napi"]),
        )
        ns[key] += row["ns"]
        segments[key] += row["segments"]
    return {key: (ns[key], segments[key]) for key in ns}


# Each once, even if perf wrote its record twice.
def switches_of(timeline: netcost.Timeline) -> list[dict[str, Any]]:
    every = rows(timeline.capture.native.events("sched:sched_switch"))
    return list({tuple(row.items()): row for row in every}.values())


# What a reader of sched_switch must find wrong: a task that leaves is not the one that came.
def contradictions(timeline: netcost.Timeline) -> int:
    on_cpu: dict[int, int] = {}
    found = 0
    for row in switches_of(timeline):
        found += on_cpu.get(row["common_cpu"], row["prev_pid"]) != row["prev_pid"]
        on_cpu[row["common_cpu"]] = row["next_pid"]
    return found


def complaints(contradicted: int) -> dict[str, int]:
    return {"mismatched_sched_switch_tids": contradicted} if contradicted else {}


@pytest.mark.parametrize("name", [NIC, "stolen-time-top.netcost.tar.zst"])
def test_a_sample_is_its_ledger_and_its_events(tmp_path: Path, name: str) -> None:
    timeline = kept(name).timeline()
    traced = shown(timeline, tmp_path)
    assert owners(traced) == summed(timeline)
    assert traced.complaints() == complaints(contradictions(timeline))
    counts = {event.partition(":")[2]: n for event, n in timeline.capture.info["events"].items()}
    counts["sched_switch"] -= timeline.summary["repeats_dropped"]
    events = traced.rows("SELECT name, count(*) FROM ftrace_event GROUP BY 1")
    assert dict(events) == {event: n for event, n in counts.items() if n and event != "HG"}
    assert count(traced, "sched") == counts["sched_switch"]
    switches = [
        (row["time_ns"], row["common_cpu"], row["next_pid"], row["next_comm"], row["next_prio"])
        for row in switches_of(timeline)
    ]
    seen = traced.rows("SELECT ts, cpu, tid, name, priority FROM sched JOIN thread USING (utid)")
    assert sorted(row[:3] for row in seen) == sorted(row[:3] for row in switches)
    assert Counter(row[4] for row in seen) == Counter(row[4] for row in switches)
    # A thread keeps one name: one that some event says of it.
    names = {(row[2], row[3]) for row in switches if row[2]}
    assert {row[2] for row in seen} == {row[2] for row in switches}
    assert sum((row[2], row[3]) in names for row in seen) > 0.9 * sum(row[2] != 0 for row in seen)


def test_slices_have_no_gap_and_no_overlap(tmp_path: Path) -> None:
    timeline = kept(NIC).timeline(3.4, 4.4)
    traced = shown(timeline, tmp_path)
    every = traced.rows(
        "SELECT track.name, ts, ts + dur FROM slice JOIN track ON track.id = track_id "
        "ORDER BY slice.id"
    )
    for number in timeline.summary["cpus"]:
        spans = [(start, end) for name, start, end in every if name == f"CPU {number}"]
        segments = [row for row in rows(timeline.table("segments")) if row["cpu"] == number]
        assert spans == [(row["start_ns"], row["end_ns"]) for row in segments]


def test_generic_events_have_their_arguments(tmp_path: Path) -> None:
    timeline = kept(NIC).timeline()
    traced = shown(timeline, tmp_path)
    found = traced.rows(
        "SELECT ts, cpu, extract_arg(arg_set_id, 'napi'), extract_arg(arg_set_id, 'dev_name'), "
        "extract_arg(arg_set_id, 'work'), extract_arg(arg_set_id, 'budget') "
        "FROM ftrace_event WHERE name = 'napi_poll'"
    )
    polls = rows(timeline.capture.native.events("napi:napi_poll"))
    # SQLite has no unsigned numbers.
    assert sorted(found) == sorted(
        (
            *(row["time_ns"], row["common_cpu"], row["napi"] - (row["napi"] >> 63 << 64)),
            *(row["dev_name"], row["work"], row["budget"]),
        )
        for row in polls
    )
    irqs = traced.rows(
        "SELECT DISTINCT extract_arg(arg_set_id, 'irq'), extract_arg(arg_set_id, 'name') "
        "FROM ftrace_event WHERE name = 'irq_handler_entry'"
    )
    entries = rows(timeline.capture.native.events("irq:irq_handler_entry"))
    assert sorted(irqs) == sorted({(row["irq"], row["name"]) for row in entries})


def test_a_window_of_a_cpu(tmp_path: Path) -> None:
    timeline = kept(NIC).timeline(3.5, 3.7, [0])
    traced = shown(timeline, tmp_path)
    assert owners(traced) == summed(timeline)
    edges = (timeline.summary["start_ns"], timeline.summary["end_ns"])
    [(cpus, first, last, count)] = traced.rows(
        "SELECT count(DISTINCT cpu), min(ts), max(ts), count(*) FROM ftrace_event"
    )
    assert cpus == 1
    assert edges[0] <= first <= last <= edges[1]
    events = [
        row
        for event in timeline.capture.info["events"]
        if event != "dummy:HG"
        for row in rows(timeline.capture.native.events(event, None, None, edges, [0], []))
    ]
    assert count == len(events)


def test_counters_are_the_shares_that_questions_tell(tmp_path: Path) -> None:
    timeline = kept(NIC).timeline(3.4, 4.4)
    traced = shown(timeline, tmp_path, victims=["openssl", 1446])
    values: dict[str, list[tuple[int, float]]] = {}
    for name, at, value in traced.rows(
        "SELECT track.name, ts, value FROM counter JOIN track ON track.id = track_id ORDER BY ts"
    ):
        values.setdefault(name, []).append((at, value))
    assert Counter(name.partition(": ")[0] for name in values) == {
        "openssl": 3,
        "udp-load (1446)": 2,
    }
    width = 2_000_000
    for name, victim in (("openssl", "openssl"), ("udp-load (1446)", 1446)):
        told = timeline.ask.stolen_time.rolling_stolen(
            window_ns=width, step_ns=width, victim=victim
        ).frame
        at = told["start_ns"].tolist()
        for counter, column in (("stolen", "stolen_share"), ("stolen at most", "stolen_max_share")):
            shares = told[column].astype("float64").fillna(0.0).mul(100).tolist()
            if counter == "stolen at most" and told["stolen_share"].equals(told[column]):
                # Where no range is open there is none.
                assert f"{name}: {counter}" not in values
                continue
            assert values[f"{name}: {counter}"] == [
                (when, pytest.approx(share)) for when, share in zip(at, shares, strict=True)
            ]
        ran = told["on_cpu_ns"].astype("float64") / (told["end_ns"] - told["start_ns"])
        assert values[f"{name}: on CPU"] == [
            (when, pytest.approx(100 * part)) for when, part in zip(at, ran, strict=True)
        ]


# One host, told as each kind of capture.
def test_every_kind_of_capture(tmp_path: Path) -> None:
    told = whole()
    paths = {
        "file": told.write(tmp_path / "perf.data"),
        "pipe": told.write(tmp_path / "piped.data", "pipe"),
        "trace.dat": write_trace_dat(told, tmp_path / "trace.dat"),
        "tracefs": write_tracefs(told, tmp_path / "tracefs"),
    }
    switches = sum(event.format.event == "sched:sched_switch" for event in told.events())
    for kind, path in paths.items():
        timeline = netcost.open_capture(path).timeline()
        traced = shown(timeline, tmp_path)
        assert owners(traced) == summed(timeline), kind
        assert traced.complaints() == {}, kind
        assert count(traced, "sched") == switches, kind


def test_texts(tmp_path: Path) -> None:
    seen = 0
    for name, text in small_texts().items():
        (tmp_path / "trace.txt").write_bytes(text)
        timeline = netcost.open_capture(tmp_path / "trace.txt").timeline()
        try:
            expected = summed(timeline)
        except netcost.CaptureError:
            # Clocks without a unit, and texts without the ledger's events.
            with pytest.raises(netcost.CaptureError, match="no ledger"):
                timeline.to_perfetto(tmp_path / "refused.perfetto-trace")
            continue
        traced = shown(timeline, tmp_path)
        assert owners(traced) == expected, name
        # A text names its events as they come: all of them are there.
        events = sum(timeline.capture.info["events"].values())
        assert count(traced, "ftrace_event") == events, name
        seen += 1
    assert seen > 1
    assert not (tmp_path / "refused.perfetto-trace").exists()


@examples(20)
@given(recordings())
def test_whatever_happens(fresh: Fresh, told: Any) -> None:
    folder = fresh()
    timeline = netcost.open_capture(told.write(folder / "perf.data")).timeline()
    try:
        expected = summed(timeline)
    except netcost.CaptureError:
        return
    traced = shown(timeline, folder)
    assert owners(traced) == expected
    events = list(told.events())
    assert count(traced, "ftrace_event") == len(events)
    switches = sum(event.format.event == "sched:sched_switch" for event in events)
    assert count(traced, "sched") == switches
    contradicted = contradictions(timeline) if switches else 0
    assert set(traced.complaints()) <= set(complaints(contradicted))


# CPU 0  openssl |lost ...     |openssl
def test_losses_are_shown_as_such(tmp_path: Path) -> None:
    told = recording(
        cpu(
            0,
            h.SoftirqRaise(S + 100, NET_RX),
            h.SoftirqEntry(S + 200, NET_RX),
            h.Lost(S + 5_000, 7),
            h.SoftirqRaise(S + 6_000, NET_RX),
            h.SoftirqEntry(S + 6_100, NET_RX),
            h.SoftirqExit(S + 6_500, NET_RX),
            h.SoftirqExit(S + 9_000, NET_RX),
            task=OPENSSL,
        ),
        known=(OPENSSL,),
    )
    timeline = netcost.open_capture(told.write(tmp_path / "perf.data")).timeline()
    traced = shown(timeline, tmp_path)
    found = owners(traced)
    assert found == summed(timeline)
    assert sum(ns for key, (ns, _) in found.items() if key[1] == "unknown") > 0
    gaps = traced.rows(
        "SELECT track.name, ts, slice.name, dur, extract_arg(arg_set_id, 'debug.ns'), "
        "extract_arg(arg_set_id, 'debug.lost_events') "
        "FROM slice JOIN track ON track.id = track_id WHERE track.name GLOB '*lost or unknown'"
    )
    assert {track.partition(":")[0] for track, *_ in gaps} == {"CPU 0"}
    assert sorted(gap[1:] for gap in gaps) == sorted(
        (row["start_ns"], row["why"], 0, row["end_ns"] - row["start_ns"], row["lost"])
        for row in rows(timeline.table("coverage"))
    )
    assert any(lost == 7 for *_, lost in gaps)
    assert traced.complaints() == {"ftrace_cpu_has_data_loss": 1}


def test_names_that_would_do_harm(tmp_path: Path) -> None:
    names = [*HOSTILE, "<script>alert(1)", "\"\n'\\", b"\xff\xfe\x80".decode("latin-1")]
    tasks = [h.Task(700 + at, name[:15]) for at, name in enumerate(names)]
    switches = [h.Switch(S + 100 * at, task) for at, task in enumerate(tasks)]
    path = recording(cpu(0, *switches, task=OPENSSL)).write(tmp_path / "perf.data")
    raw = path.read_bytes()
    # No text in UTF-8.
    bad = "ÿþ\x80".encode()
    assert bad in raw
    path.write_bytes(raw.replace(bad.ljust(15, b"\0"), b"\xff\xfe\x80\xf0ab".ljust(15, b"\0")))
    timeline = netcost.open_capture(path).timeline()
    traced = shown(timeline, tmp_path)
    assert owners(traced) == summed(timeline)
    assert traced.complaints() == {}
    called = {name for (name,) in traced.rows("SELECT name FROM thread WHERE tid >= 700")}
    assert {"<script>alert(1", "\"\n'\\", "\ufffd\ufffd\ufffd\ufffdab"} <= called
    assert called >= {name[:15] for name in HOSTILE}


# flush 1: ... entry  exit           <- perf's read of the ring ends here
# flush 2: entry  exit  switch ...   <- and the tail of the first is written once more
def test_records_that_perf_wrote_twice(tmp_path: Path) -> None:
    told = cpu(
        0,
        h.SoftirqEntry(S + 100, NET_RX),
        h.SoftirqExit(S + 130, NET_RX),
        h.Switch(S + 140, h.Task(600, "udpsink")),
        h.Flush(S + 141, repeat=2),
        h.Switch(S + 200, OPENSSL),
        h.Flush(S + 231),
        task=OPENSSL,
    )
    timeline = netcost.open_capture(recording(told).write(tmp_path / "perf.data")).timeline()
    assert timeline.summary["repeats_dropped"] == 2
    traced = shown(timeline, tmp_path)
    assert owners(traced) == summed(timeline)
    events = traced.rows("SELECT ts - 1000000000, name FROM ftrace_event")
    assert sorted(events) == [
        *((100, "softirq_entry"), (130, "softirq_exit")),
        *((140, "sched_switch"), (200, "sched_switch")),
    ]
    assert traced.complaints() == {}
