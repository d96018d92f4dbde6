# Counters by component, of described samples whose sums are known.

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from netcost_analysis.errors import AbsentError, ArgumentError
from support.counter_captures import NAMES, PACKETS, attrs, bundle_of, counted, kept_counters, told
from support.kept import kept
from support.stacks import Stack, capture_of, stack


def test_ratios_of_what_the_events_sum_to(tmp_path: Path) -> None:
    answer = counted(tmp_path).ask.functions.counters_by_component()
    rows = answer.frame.set_index("component")
    # 50 samples of the copy, 100 of TCP: 50 M cycles, 25 M instructions; 100 M and 200 M.
    assert rows.loc["copy", "ipc"] == pytest.approx(0.5)
    assert rows.loc["TCP", "ipc"] == pytest.approx(2)
    assert rows.loc["copy", "cycles_share"] == pytest.approx(1 / 3)
    # 30,000 misses to 500,000 instructions, 10,000 to 2,000,000.
    assert rows.loc["copy", "cache_misses_per_1000"] == pytest.approx(60)
    assert rows.loc["TCP", "cache_misses_per_1000"] == pytest.approx(5)
    assert rows.loc["copy", "dtlb_misses_per_1000"] == pytest.approx(2)
    assert rows.loc["copy", "backend_stalls_per_cycle"] == pytest.approx(0.8)
    assert rows["llc_misses_per_1000"].isna().all()
    for name in ("ipc", "cache_misses_per_1000", "backend_stalls_per_cycle"):
        assert (rows[f"{name}_low"] < rows[name]).all()
        assert (rows[name] < rows[f"{name}_high"]).all()
    whole = answer["outside_idle"].iloc[0]
    assert whole["ipc"] == pytest.approx(225 / 150)
    assert np.isnan(rows.loc["idle", "cycles_share"])


def test_each_event_is_the_sum_of_its_components(tmp_path: Path) -> None:
    found = counted(tmp_path).ask.functions.counters_by_component()
    by = found["by_event"].groupby("sampled_event", sort=False)
    totals = found["event_totals"].set_index("sampled_event")
    assert list(totals.index) == list(NAMES)
    assert by[["samples", "weight"]].sum().to_dict() == totals[["samples", "weight"]].to_dict()
    assert by["busy_share"].sum().to_list() == pytest.approx([1] * len(totals))
    assert by["weight_per_packet"].sum().to_list() == pytest.approx(
        totals["weight_per_packet"].to_list()
    )
    # 200 samples of each event lie between the two readings of net/dev.
    assert set(totals["samples"]) == {200}


def test_each_event_over_the_packets_of_the_same_time(tmp_path: Path) -> None:
    answer = counted(tmp_path).ask.functions.counters_by_component()
    assert (answer["device"], answer["packets"]) == ("eth0", PACKETS)
    rows = answer.tables["by_event"].set_index(["sampled_event", "component"])
    row = rows.loc[("cache-misses", "copy")]
    assert row["weight_per_packet"] == 50 * 30_000 / PACKETS
    # Poisson of 50: 37.9 to 65.9 by the score.
    assert row["weight_per_packet_low"] / 30 == pytest.approx(37.9, abs=0.1)
    assert row["weight_per_packet_high"] / 30 == pytest.approx(65.9, abs=0.1)
    # As packet_components has it of the same event.
    same = answer.capture.ask.functions.packet_components(event="cache-misses").frame
    same = same.set_index("component").loc["copy"]
    assert same["weight_per_packet_high"] == pytest.approx(row["weight_per_packet_high"])
    sent = answer.capture.ask.functions.counters_by_component(direction="tx")
    assert sent["packets"] == 5


def test_without_readings_all_samples_and_nothing_per_packet(tmp_path: Path) -> None:
    capture = capture_of(tmp_path / "bare", *told(*NAMES), attrs=attrs(*NAMES))
    answer = capture.ask.functions.counters_by_component()
    assert answer["packets"] is None
    assert set(answer["event_totals"]["samples"]) == {400}
    assert answer.tables["by_event"]["weight_per_packet"].isna().all()
    assert "per packet" in answer.notes[0]
    with pytest.raises(Exception, match="net/dev"):
        capture.ask.functions.counters_by_component(device="eth0").frame  # noqa: B018


def test_another_clock_has_no_packets(tmp_path: Path) -> None:
    made = attrs(*NAMES, clock=None)
    capture = bundle_of(tmp_path, *told(*NAMES), attrs_=made)
    assert "clock" in capture.ask.functions.counters_by_component().notes[0]


@pytest.mark.parametrize("names", [("cycles",), ("cycles:u",), ("cycles", "cycles:k")])
def test_cycles_alone_say_nothing(tmp_path: Path, names: tuple[str, ...]) -> None:
    refusal = counted(tmp_path, *names).ask.functions.counters_by_component().refusal
    assert "--profile function-counters" in str(refusal)
    assert "instructions" in str(refusal)


def test_events_that_never_came_are_left_out(tmp_path: Path) -> None:
    rows = [one for one in told(*NAMES) if one.event < 2]
    found = bundle_of(tmp_path, *rows, attrs_=attrs(*NAMES)).ask.functions.counters_by_component()
    assert list(found["event_totals"]["sampled_event"]) == ["cycles", "instructions"]
    assert found.frame["cache_misses_per_1000"].isna().all()
    nothing = bundle_of(tmp_path / "none", attrs_=attrs(*NAMES))
    assert "counted none" in str(nothing.ask.functions.counters_by_component().refusal)


def test_a_device_a_direction_and_a_cpu(tmp_path: Path) -> None:
    ask = counted(tmp_path).ask.functions
    assert ask.counters_by_component(cpu=0)["event_totals"]["samples"].eq(200).all()
    for given in ({"device": "eth7"}, {"direction": "up"}, {"cpu": 7}):
        with pytest.raises(ArgumentError):
            ask.counters_by_component(**given)
    with pytest.raises(AbsentError):
        ask.counters_by_component(cpu=7)


def test_pmus_of_one_processor_are_one(tmp_path: Path) -> None:
    names = ("cpu_core/cycles/", "cpu_atom/cycles/", "cpu_core/instructions/")
    rows = [
        stack("tcp_v4_rcv", time_ns=1, period=period, event=event)
        for event, period in enumerate((300, 100, 1_000))
    ]
    capture = capture_of(tmp_path / "made", *rows, attrs=attrs(*names))
    frame = capture.ask.functions.counters_by_component().frame
    assert frame["ipc"].to_list() == [2.5]


# A sample that stands for nothing is one of the samples, and changes no sum.
def test_periods_of_zero(tmp_path: Path) -> None:
    rows = [replace(one, period=0) for one in told(*NAMES)]
    found = bundle_of(tmp_path, *rows, attrs_=attrs(*NAMES)).ask.functions.counters_by_component()
    assert found.frame["ipc"].isna().all()
    assert found.frame["cycles_share"].isna().all()
    assert set(found["event_totals"]["weight"]) == {0}
    assert found.words
    some = [replace(one, period=0) if one.time_ns % 3 else one for one in told(*NAMES)]
    known = bundle_of(tmp_path / "some", *some, attrs_=attrs(*NAMES))
    frame = known.ask.functions.counters_by_component().frame.set_index("component")
    assert frame.loc["copy", "ipc"] == pytest.approx(0.5)


# Events come at random; of a sampled capture the intervals hold what they came of.
def test_intervals_hold_what_the_samples_came_of(tmp_path: Path) -> None:
    rng = np.random.default_rng(16)
    names = ("cycles", "instructions", "cache-misses")
    # By component the mean number of samples of each event; each stands for 1,000, 2,000 and 10 on
    # average, and as the kernel adapts a period to the rate not the same.
    means = {"tcp_v4_rcv": (40, 25, 9), "_copy_to_iter": (15, 60, 30)}
    each = (1_000, 2_000, 10)
    inside: dict[str, list[bool]] = {}
    for number in range(40):
        rows: list[Stack] = []
        for path, expected in means.items():
            for event, mean in enumerate(expected):
                periods = rng.uniform(0.6, 1.4, rng.poisson(mean)) * each[event]
                rows += [stack(path, event=event, period=round(one)) for one in periods]
        capture = capture_of(tmp_path / str(number), *rows, attrs=attrs(*names))
        frame = capture.ask.functions.counters_by_component().frame.set_index("component")
        for name, path in (("TCP", "tcp_v4_rcv"), ("copy", "_copy_to_iter")):
            cycles, instructions, misses = (
                mean * of for mean, of in zip(means[path], each, strict=True)
            )
            truth = {
                "ipc": instructions / cycles,
                "cache_misses_per_1000": 1_000 * misses / instructions,
            }
            for column, value in truth.items():
                low, high = frame.loc[name, [f"{column}_low", f"{column}_high"]]
                inside.setdefault(f"{name} {column}", []).append(bool(low <= value <= high))
    shares = {name: np.mean(of) for name, of in inside.items()}
    assert all(0.90 <= share <= 1 for share in shares.values()), shares
    assert np.mean(list(shares.values())) == pytest.approx(0.95, abs=0.03)


def test_its_pictures(tmp_path: Path) -> None:
    answer = kept(kept_counters()).ask.functions.counters_by_component()
    assert [text.get_text() for text in answer.plot().get_legend().get_texts()]
    assert answer.plot_ipc().get_xlabel() == "instructions per cycle"
