# Instructions per cycle of sampled tasks, by periods and by groups of counters.

from pathlib import Path

import numpy as np

import netcost_analysis as netcost
from netcost_analysis.questions.migration.ipc import bare_name, instructions_and_cycles
from support.perfdata import Attr, Counts, FinishedRound, Sample, SampleType, Where, write_file
from support.perfdata.attr import READ_GROUP, READ_ID, TYPE_HARDWARE

# Two hardware events of which each sample stands for so many: before the migration at 1,000 it does
# 2 instructions per cycle, after it 1.
T = SampleType
SAMPLED = T.IDENTIFIER | T.IP | T.TID | T.TIME | T.CPU | T.PERIOD


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
        for config, name in enumerate(("cycles:u", "instructions:u"))
    ]
    (path / "perf.data").write_bytes(write_file(attrs, [], [*samples, FinishedRound()]))
    return netcost.open_capture(path / "perf.data")


def test_instructions_per_cycle_from_periods(tmp_path: Path) -> None:
    samples = [
        Sample(Where(0, at, 7, 7, event), period=period)
        for at in range(100, 2_000, 100)
        for event, period in ((0, 50), (1, 100 if at < 1_000 else 50))
    ]
    instructions, cycles = instructions_and_cycles(hardware(tmp_path, *samples))
    assert instructions
    assert cycles
    seven = np.array([7, 7, 8])
    starts, ends = np.array([500, 1_000, 0]), np.array([1_000, 1_500, 5_000])
    assert cycles.within(seven, starts, ends).tolist() == [250, 250, 0]
    assert instructions.within(seven, starts, ends).tolist() == [500, 250, 0]


def test_instructions_per_cycle_from_a_group(tmp_path: Path) -> None:
    # What the CPU's counters grew by since its sample before is the sampled task's.
    samples = [
        Sample(Where(0, at, tid, tid, 0), counts=Counts(((0, cycles, 0), (1, done, 0))))
        for at, tid, cycles, done in (
            (100, 7, 1_000, 500),
            (200, 7, 1_100, 700),
            (300, 8, 1_400, 800),
        )
    ]
    instructions, cycles = instructions_and_cycles(hardware(tmp_path, *samples, group=True))
    assert instructions
    assert cycles
    everyone, never = np.array([7, 8]), np.array([0, 0])
    assert cycles.within(everyone, never, np.array([999, 999])).tolist() == [100, 300]
    assert instructions.within(everyone, never, np.array([999, 999])).tolist() == [200, 100]


def test_one_event_alone_makes_no_ipc(tmp_path: Path) -> None:
    instructions, cycles = instructions_and_cycles(
        hardware(tmp_path, Sample(Where(0, 100, 7, 7, 0), period=5))
    )
    assert instructions is None
    assert cycles is not None


def test_modifiers_do_not_matter() -> None:
    for name in ("cycles", "cycles:ppp", "cpu-cycles:u"):
        assert bare_name(name) == "cycles"
    assert bare_name("cpu_core/instructions/u") == "instructions"
    assert bare_name("sched:sched_switch") == "sched"
