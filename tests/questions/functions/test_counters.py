# Counters by component, of described samples whose sums are known.

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from netcost_analysis.errors import AbsentError, ArgumentError
from support.counter_captures import NAMES, PACKETS, attrs, bundle_of, counted, kept_counters, told
from support.kept import kept
from support.stacks import Stack, capture_of, stack


def test_each_event_over_the_packets_of_the_same_time() -> None:
    ask = kept(kept_counters()).ask.functions
    answer = ask.counters_by_component()
    assert (answer["device"], answer["packets"]) == ("eth0", PACKETS)
    row = answer["by_event"].set_index(["sampled_event", "component"]).loc["cache-misses", "copy"]
    assert row["weight_per_packet"] == 50 * 30_000 / PACKETS
    # As packet_components has it of the same event.
    same = ask.packet_components(event="cache-misses").frame.set_index("component").loc["copy"]
    ends = ["weight_per_packet_low", "weight_per_packet_high"]
    assert same[ends].tolist() == pytest.approx(row[ends].tolist())
    assert ask.counters_by_component(direction="tx")["packets"] == 5


def test_without_readings_all_samples_and_nothing_per_packet(tmp_path: Path) -> None:
    capture = capture_of(tmp_path / "bare", *told(*NAMES), attrs=attrs(*NAMES))
    answer = capture.ask.functions.counters_by_component()
    assert answer["packets"] is None
    assert set(answer["event_totals"]["samples"]) == {400}
    assert answer.tables["by_event"]["weight_per_packet"].isna().all()
    assert "per packet" in answer.notes[0]
    with pytest.raises(Exception, match="net/dev"):
        capture.ask.functions.counters_by_component(device="eth0").frame  # noqa: B018
    other = bundle_of(tmp_path, *told(*NAMES), attrs_=attrs(*NAMES, clock=None))
    assert "clock" in other.ask.functions.counters_by_component().notes[0]


@pytest.mark.parametrize("names", [("cycles",), ("cycles:u",), ("cycles", "cycles:k")])
def test_cycles_alone_say_nothing(tmp_path: Path, names: tuple[str, ...]) -> None:
    refusal = str(counted(tmp_path, *names).ask.functions.counters_by_component().refusal)
    assert "--profile function-counters" in refusal


def test_events_that_never_came_are_left_out(tmp_path: Path) -> None:
    rows = [one for one in told(*NAMES) if one.event < 2]
    found = bundle_of(tmp_path, *rows, attrs_=attrs(*NAMES)).ask.functions.counters_by_component()
    assert list(found["event_totals"]["sampled_event"]) == ["cycles", "instructions"]
    assert found.frame["cache_misses_per_1000"].isna().all()
    nothing = bundle_of(tmp_path / "none", attrs_=attrs(*NAMES))
    assert "counted none" in str(nothing.ask.functions.counters_by_component().refusal)


def test_a_device_a_direction_and_a_cpu() -> None:
    ask = kept(kept_counters()).ask.functions
    assert ask.counters_by_component(cpu=0)["event_totals"]["samples"].eq(200).all()
    for given in ({"device": "eth7"}, {"direction": "up"}, {"cpu": 7}):
        with pytest.raises(ArgumentError if "direction" in given else AbsentError):
            ask.counters_by_component(**given)


def test_pmus_of_one_processor_are_one(tmp_path: Path) -> None:
    names = ("cpu_core/cycles/", "cpu_atom/cycles/", "cpu_core/instructions/")
    rows = [
        stack("tcp_v4_rcv", time_ns=1, period=period, event=event)
        for event, period in enumerate((300, 100, 1_000))
    ]
    capture = capture_of(tmp_path / "made", *rows, attrs=attrs(*names))
    assert capture.ask.functions.counters_by_component().frame["ipc"].to_list() == [2.5]


# A sample that stands for nothing is one of the samples, and changes no sum.
def test_periods_of_zero(tmp_path: Path) -> None:
    rows = [replace(one, period=0) for one in told(*NAMES)]
    found = bundle_of(tmp_path, *rows, attrs_=attrs(*NAMES)).ask.functions.counters_by_component()
    assert found.frame[["ipc", "cycles_share"]].isna().all(axis=None)
    assert set(found["event_totals"]["weight"]) == {0}
    assert found.words
    some = [replace(one, period=0) if one.time_ns % 3 else one for one in told(*NAMES)]
    known = bundle_of(tmp_path / "some", *some, attrs_=attrs(*NAMES))
    frame = known.ask.functions.counters_by_component().frame.set_index("component")
    assert frame.loc["copy", "ipc"] == pytest.approx(0.5)


# Events come at random, on 40 CPUs. By component the mean number of samples of each event; each
# stands for 1,000, 2,000 and 10 on average, and as the kernel adapts a period to the rate not the
# same.
def test_intervals_hold_what_the_samples_came_of(tmp_path: Path) -> None:
    rng = np.random.default_rng(16)
    paths, each = {"TCP": "tcp_v4_rcv", "copy": "_copy_to_iter"}, np.array([1_000, 2_000, 10])
    means = {"TCP": np.array([40, 25, 9]), "copy": np.array([15, 60, 30])}
    rows: list[Stack] = []
    for cpu in range(40):
        for name, expected in means.items():
            for event, mean in enumerate(expected):
                periods = rng.uniform(0.6, 1.4, rng.poisson(mean)) * each[event]
                said = {"event": event, "cpu": cpu}
                rows += [stack(paths[name], period=round(one), **said) for one in periods]
    events = attrs("cycles", "instructions", "cache-misses")
    ask = capture_of(tmp_path / "made", *rows, attrs=events).ask.functions
    inside: dict[str, list[bool]] = {}
    for cpu in range(40):
        frame = ask.counters_by_component(cpu=cpu).frame.set_index("component")
        for name, expected in means.items():
            cycles, instructions, misses = expected * each
            for column, truth in (
                ("ipc", instructions / cycles),
                ("cache_misses_per_1000", 1_000 * misses / instructions),
            ):
                low, high = frame.loc[name, [f"{column}_low", f"{column}_high"]]
                inside.setdefault(f"{name} {column}", []).append(bool(low <= truth <= high))
    shares = {name: np.mean(of) for name, of in inside.items()}
    assert all(0.90 <= share <= 1 for share in shares.values()), shares
    assert np.mean(list(shares.values())) == pytest.approx(0.95, abs=0.03)
