# What perf stat wrote: JSON and CSV of old and new versions, what was not counted, hostile text.

import json
from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.bundle import Bundle
from netcost_analysis.snapshots.perf_stat import counted_in, parse_perf_stat, plain_event
from support.host import ROOT

# perf 6.1 on a virtual machine: `perf stat -j -I 100 -a -A -e context-switches,cycles`.
RECORDED = """\
{"interval" : 0.100165943, "cpu" : "0", "counter-value" : "716.000000", "unit" : "", "event" : "context-switches", "event-runtime" : 100296509, "pcnt-running" : 100.00, "metric-value" : 7.139229, "metric-unit" : "K/sec"}
{"interval" : 0.100165943, "cpu" : "1", "counter-value" : "<not supported>", "unit" : "", "event" : "cycles", "event-runtime" : 0, "pcnt-running" : 100.00, "metric-value" : 0.000000, "metric-unit" : ""}
{"interval" : 0.200698690, "cpu" : "0", "counter-value" : "531.000000", "unit" : "", "event" : "context-switches", "event-runtime" : 100525732, "pcnt-running" : 100.00, "metric-value" : 5.281989, "metric-unit" : "K/sec"}
"""  # noqa: E501
# The same by `-x';'`.
RECORDED_CSV = """\
     0.100156178;CPU0;634;;context-switches;100289081;100.00;6.322;K/sec
     0.100156178;CPU1;<not supported>;;cycles;0;100.00;;
     0.200662771;CPU0;519;;context-switches;100495345;100.00;5.164;K/sec
"""


def line(at: float, event: str, value: object, **more: object) -> str:
    # As print_counter_value_json() of tools/perf/util/stat-display.c has it.
    said = {"interval": at, "cpu": "0", "counter-value": value, "unit": "", "event": event}
    return json.dumps(said | {"event-runtime": 1, "pcnt-running": 100.0} | more) + "\n"


def rows(text: str) -> list[tuple[object, ...]]:
    frame = parse_perf_stat(text).frame
    told = frame[["start_s", "end_s", "cpu", "event", "value", "outcome"]].astype(object)
    return list(told.where(told.notna(), None).itertuples(index=False, name=None))


@pytest.mark.parametrize(("text", "counts"), [(RECORDED, (716, 531)), (RECORDED_CSV, (634, 519))])
def test_what_was_recorded(text: str, counts: tuple[int, int]) -> None:
    first, second = parse_perf_stat(text).frame["end_s"].unique()
    assert rows(text) == [
        (0.0, first, 0, "context-switches", counts[0], "counted"),
        (0.0, first, 1, "cycles", None, "not supported"),
        # Each interval begins where the one before ended.
        (first, second, 0, "context-switches", counts[1], "counted"),
    ]
    assert parse_perf_stat(text).notes == ()


# Fields that versions name or write differently, and that are not read: before the value became a
# string, a metric that is no number; since, and with the threshold of 2024; where it has no unit.
@pytest.mark.parametrize(
    "text",
    [
        line(1.0, "cycles", "12.000000", **{"metric-value": float("nan")}).replace("NaN", "-nan"),
        line(1.0, "cycles", "12.000000", **{"metric-value": "nan", "metric-threshold": "good"}),
        line(1.0, "cycles", "12.000000"),
        line(1.0, "cycles", "12.000000", **{"aggregate-number": 2}, counters=2),
    ],
)
def test_old_and_new_fields(text: str) -> None:
    assert rows(text) == [(0.0, 1.0, 0, "cycles", 12.0, "counted")]


@pytest.mark.parametrize("separator", [",", ";", "\t", ", ", "|", "::"])
def test_any_separator(separator: str) -> None:
    text = RECORDED_CSV.replace(";", separator)
    assert rows(text) == rows(RECORDED_CSV)


@pytest.mark.parametrize(
    ("fields", "event"),
    [
        ("1.5,CPU2,7,,cpu/event=0x3c,umask=0/,900,100.00,,", "cpu/event=0x3c,umask=0/"),
        ("1.5,CPU2,7,,instructions,900,100.00,0.52,insn per cycle", "instructions"),
        ("1.5,CPU2,7,,instructions,900,100.00", "instructions"),
    ],
)
def test_where_the_name_of_an_event_ends(fields: str, event: str) -> None:
    # Behind an event that has a second metric comes a line with that alone.
    more = "1.5,CPU2,,,,,,0.91,stalled cycles per insn"
    assert rows(f"{fields}\n{more}\n") == [(0.0, 1.5, 2, event, 7.0, "counted")]


def test_what_sockets_and_packages_count_has_no_cpu() -> None:
    # perf-stat(1), CSV FORMAT: an aggregate's name, how many of them, then as always.
    text = (
        "1.0,S0,1,20.50,Joules,power/energy-pkg/,1000,100.00,,\n"
        "1.0,S0-D0-C1,1,8,,cycles,1000,100.00,,\n"
        "2.0,4.25,Joules,power/energy-ram/,1000,100.00,,\n"
    )
    assert [row[2:5] for row in rows(text)] == [
        (None, "power/energy-pkg/", 20.5),
        (None, "cycles", 8.0),
        (None, "power/energy-ram/", 4.25),
    ]
    assert list(parse_perf_stat(text).frame["unit"]) == ["Joules", "", "Joules"]


def test_a_shared_counter_is_known_by_its_share() -> None:
    shared = line(1.0, "cycles", "12", **{"pcnt-running": 62.5})
    idle = line(1.0, "instructions", "<not counted>", **{"pcnt-running": 0.0})
    frame = parse_perf_stat(shared + idle).frame
    assert list(frame["running_share"]) == [0.625, 0.0]
    assert list(frame["outcome"]) == ["counted", "not counted"]


# A recorder that was killed: what it had not written to its end is no interval.
def test_half_a_last_line() -> None:
    whole = line(1.0, "cycles", "5") + line(2.0, "cycles", "6")
    found = parse_perf_stat(whole + line(2.0, "instructions", "7")[:40])
    assert list(found.frame["value"]) == [5.0]
    [note] = found.notes
    assert "last interval" in note
    assert len(parse_perf_stat(line(1.0, "cycles", "5")[:-9]).frame) == 0
    assert len(parse_perf_stat(whole).frame) == 2


@pytest.mark.parametrize(
    "bad",
    [
        line(2.0, "cycles", "1e400"),
        line(2.0, "cycles", "NaN"),
        line(2.0, "cycles", "-3"),
        line(2.0, "cycles", "99999999999999999999999"),
        line(float("1e308"), "cycles", "3"),
        line(-1.0, "cycles", "3"),
        line(0.5, "cycles", "3"),
        line(2.0, "x" * 100_000, "3"),
        line(2.0, "cycles", "3", cpu="-1"),
        line(2.0, "cycles", "3", cpu="9" * 4_000),
        line(2.0, "cycles", [3]),
        line(2.0, "cycles", "3", **{"pcnt-running": "inf"}),
        "[" * 100_000 + "\n",
        "null\n",
        '{"interval" : 2.0\n',
        "\x00\x1b[1m\ufffd\n",
    ],
)
def test_hostile_lines_are_left_out_and_counted(bad: str) -> None:
    found = parse_perf_stat(line(1.0, "cycles", "5") + bad + line(3.0, "cycles", "6"))
    assert list(found.frame["value"]) == [5.0, 6.0]
    assert list(found.frame["end_s"]) == [1.0, 3.0]
    [note] = found.notes
    assert note.startswith("1 line ")
    csv = parse_perf_stat(f"1.0,CPU0,5,,cycles,1,100.00,,\n{bad}")
    assert list(csv.frame["value"]) == [5.0]


@pytest.mark.parametrize("text", ["", "\n\n", "# started on Mon\n", "nothing of perf's\n", "{}\n"])
def test_what_is_none_of_perfs(text: str) -> None:
    found = parse_perf_stat(text)
    assert len(found.frame) == 0
    assert found.frame.dtypes.astype(str).to_dict()["cpu"] == "Int64"


@pytest.mark.timeout(10)
def test_thousands_of_events_take_no_longer_than_reading_them() -> None:
    text = "".join(line(1.0, f"event{number}", "1") for number in range(20_000))
    assert len(parse_perf_stat(text + text.replace(";", ",")).frame) == 40_000
    many = "1.0,CPU0,5,," + "a," * 50_000 + "\n"
    assert len(parse_perf_stat(many * 20).frame) == 20


def test_names_without_modifier_and_pmu() -> None:
    names = ("cycles", "cycles:u", "cpu_core/cycles/", "cpu_atom/LLC-load-misses/", "cpu/cycles/")
    assert [plain_event(one) for one in names] == [
        *("cycles", "cycles", "cycles", "LLC-load-misses", "cycles")
    ]
    assert {plain_event(one) for one in ("cpu-cycles", "cpu_core/cpu-cycles/u")} == {"cycles"}
    for other in ("power/energy-pkg/", "cpu/event=0x3c,umask=0/", "irq:softirq_entry"):
        assert plain_event(other) == other


def test_a_bundles_times_are_on_its_clock(tmp_path: Path) -> None:
    manifest = {"netcost_bundle": 1, "companions": [
        {"name": "counters", "output": "own.jsonl", "start_ns": 7_000, "end_ns": 2_000_507_000},
    ]}  # fmt: skip
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "own.jsonl").write_text(line(1.0, "cycles", "5") + line(2.0, "cycles", "6"))
    frame = counted_in(Bundle(tmp_path), "counters").frame
    assert list(frame["start_ns"]) == [7_000, 1_000_007_000]
    assert list(frame["end_ns"]) == [1_000_007_000, 2_000_007_000]
    assert set(frame["interval_error_ns"]) == {500_000}
    assert counted_in(Bundle(tmp_path), "energy").frame.empty
    manifest["companions"] = [{"name": "counters", "output": "../../etc/passwd"}]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(netcost.CaptureError, match="outside the bundle"):
        counted_in(Bundle(tmp_path), "counters")


# The time that each CPU's clock counted is the time that passed, in every interval of a real one.
@pytest.mark.parametrize("step", ["tcp-64", "tcp-65536", "udp-64", "udp-65507"])
def test_a_clock_counts_the_interval(step: str) -> None:
    told = netcost.open_capture(ROOT / f"sample-data/io-sizes/{step}.netcost.tar.zst").bundle
    frame = counted_in(told, "counters").frame
    clock = frame[frame["event"] == "cpu-clock"]
    assert len(clock) >= 6
    passed = 1_000 * (clock["end_s"] - clock["start_s"])
    pd.testing.assert_series_equal(clock["value"], passed, rtol=0.03, check_names=False)
    assert set(frame.loc[frame["event"] == "cycles", "outcome"]) == {"not supported"}
