# Instructions per cycle of sampled tasks, by periods and by groups of counters.

from pathlib import Path

import numpy as np

import netcost_analysis as netcost
from netcost_analysis.questions.migration.lifetimes import instructions_and_cycles
from support.perfdata import Attr, Counts, FinishedRound, Sample, SampleType, Where, write_file
from support.perfdata.attr import READ_GROUP, READ_ID, TYPE_HARDWARE

# Two hardware events of which each sample stands for so many: before the migration at 1,000 it does
# 2 instructions per cycle, after it 1.
T = SampleType
SAMPLED = T.IDENTIFIER | T.IP | T.TID | T.TIME | T.CPU | T.PERIOD


# As perf names them, with a PMU or modifiers.
NAMES = ("cpu_core/cpu-cycles/u", "instructions:u")


def hardware(path: Path, *samples: Sample, group: bool = False) -> netcost.Capture:
    kinds = SAMPLED | (T.READ if group else T(0))
    attrs = [
        Attr(
            name,
            config,
            (100 * config + 100, 100 * config + 101),
            type=TYPE_HARDWARE,
            sample_type=kinds,
            read_format=READ_ID | (READ_GROUP if group else 0),
        )
        for config, name in enumerate(NAMES)
    ]
    (path / "perf.data").write_bytes(write_file(attrs, [], [*samples, FinishedRound()]))
    return netcost.open_capture(path / "perf.data")


def within(capture: netcost.Capture, *stretches: tuple[int, int, int]) -> dict[str, list[int]]:
    # How many there were: of tid, from when, until when.
    tids, starts, ends = (np.array(column) for column in zip(*stretches, strict=True))
    counts = instructions_and_cycles(capture)
    return {name: count.within(tids, starts, ends).tolist() for name, count in counts.items()}


def test_instructions_per_cycle_from_periods(tmp_path: Path) -> None:
    samples = [
        Sample(Where(0, at, 7, 7, event), period=period)
        for at in range(100, 2_000, 100)
        for event, period in ((0, 50), (1, 100 if at < 1_000 else 50))
    ]
    capture = hardware(tmp_path, *samples)
    assert within(capture, (7, 500, 1_000), (7, 1_000, 1_500), (8, 0, 5_000)) == {
        "instructions": [500, 250, 0],
        "cycles": [250, 250, 0],
    }


# What the CPU's counters grew by since its sample before is the sampled task's.
def test_instructions_per_cycle_from_a_group(tmp_path: Path) -> None:
    samples = [
        Sample(Where(0, at, tid, tid, 0), counts=Counts(((0, cycles, 0), (1, done, 0))))
        for at, tid, cycles, done in (
            (100, 7, 1_000, 500),
            (200, 7, 1_100, 700),
            (300, 8, 1_400, 800),
        )
    ]
    capture = hardware(tmp_path, *samples, group=True)
    assert within(capture, (7, 0, 999), (8, 0, 999)) == {
        "instructions": [200, 100],
        "cycles": [100, 300],
    }


def test_one_event_alone_makes_no_ipc(tmp_path: Path) -> None:
    capture = hardware(tmp_path, Sample(Where(0, 100, 7, 7, 0), period=5))
    assert instructions_and_cycles(capture) == {}
