# From the ring's time stamps to times: ftrace's clocks, cycles, a guest's clock on its host's, and
# what options add. trace-cmd shows the same, where it shows times at all.

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import Capture, CaptureError
from support.examples import examples
from support.host import Fresh
from support.native_tables import ALL_TABLES, Answer, assert_conserved, rows
from support.perfdata import MACHINES, Machine, Recording, cpu, recording
from support.perfdata import happenings as h
from support.story import story
from support.tracedat import Dress, write_trace_dat
from support.tracedat import options as o
from support.tracedat.names import names
from support.tracedat.report import report

S = 1_000_000_000
NANOSECONDS = ["local", "global", "perf", "mono", "mono_raw", "boot", "tai"]
versions = pytest.mark.parametrize("version", [6, 7])
every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


def steps(*times: int, cpus: int = 2) -> Recording:
    return recording(
        *(
            cpu(number, *(h.SoftirqRaise(at + number, number) for at in times))
            for number in range(cpus)
        )
    )


def times(path: Path, column: str = "time_ns") -> list[int]:
    found = rows(Capture(str(path)).events("irq:softirq_raise"))
    assert not found or [name for name in found[0] if name.startswith("time_")] == [column]
    return [row[column] for row in found]


# trace-cmd's merge by time takes the first CPU's first.
def shown(path: Path, *options: str) -> list[int]:
    return sorted(one.time for one in report(path, names(steps(0).formats), *options))


def units(path: Path) -> dict[str, Any]:
    header = Capture(str(path)).header()
    return {name: header[name] for name in ("clock", "time_unit", "resolution_ns")}


def test_clocks_of_nanoseconds(tmp_path: Path) -> None:
    for version in (6, 7):
        for clock in NANOSECONDS:
            told = steps(S, S + 5, S + 1000)
            path = write_trace_dat(told, tmp_path / "trace.dat", Dress(version, clock=clock))
            assert units(path) == {"clock": clock, "time_unit": "ns", "resolution_ns": 1}
            assert times(path) == [S, S + 1, S + 5, S + 6, S + 1000, S + 1001] == shown(path)
            [top] = Capture(str(path)).header()["buffers"]
            assert top["clock"] == clock


# The kernel counts it in hundredths of seconds, whatever trace-cmd shows.
def test_the_uptime_clock(tmp_path: Path) -> None:
    for version in (6, 7):
        path = write_trace_dat(steps(1000, 1005), tmp_path / "t", Dress(version, clock="uptime"))
        assert units(path) == {"clock": "uptime", "time_unit": "ns", "resolution_ns": 10_000_000}
        assert times(path) == [at * 10_000_000 for at in (1000, 1001, 1005, 1006)]
        assert shown(path) == [1000, 1001, 1005, 1006]


# It numbers events: there is an order, and no duration.
def test_the_counter(tmp_path: Path) -> None:
    for version in (6, 7):
        path = write_trace_dat(steps(1000, 1005), tmp_path / "t", Dress(version, clock="counter"))
        found = units(path)
        assert (found["clock"], found["time_unit"]) == ("counter", "order")
        assert times(path, "time_order") == [1000, 1001, 1005, 1006] == shown(path)


def test_cycles_of_unknown_length(tmp_path: Path) -> None:
    for version in (6, 7):
        path = write_trace_dat(steps(1000, 1005), tmp_path / "t", Dress(version, clock="x86-tsc"))
        found = units(path)
        assert (found["clock"], found["time_unit"]) == ("x86-tsc", "cycles")
        assert times(path, "time_cycles") == [1000, 1001, 1005, 1006] == shown(path)


# Events have their order and their fields; what has to do with durations is refused.
def test_without_nanoseconds_there_is_no_ledger(tmp_path: Path) -> None:
    for clock in ("counter", "x86-tsc"):
        path = write_trace_dat(story(), tmp_path / "trace.dat", Dress(clock=clock))
        capture = Capture(str(path))
        assert len(rows(capture.events("napi:napi_poll"))) == 2
        with pytest.raises(CaptureError) as refused:
            capture.timeline(ALL_TABLES)
        assert "\n" not in str(refused.value)
        assert clock in str(refused.value)


MULTIPLIERS = [(1, 0), (1, 1), (3, 1), (0x6AAAAAAB, 32), (0x7FFFFFFF, 31), (10, 3)]


def test_cycles_of_known_length(tmp_path: Path) -> None:
    for version in (6, 7):
        for machine in MACHINES.values():
            for mult in MULTIPLIERS:
                told = steps(12345, 1 << 32, (1 << 45) + 98765)
                dress = Dress(version, clock="x86-tsc", options=(o.tsc2nsec(*mult, 777),))
                path = write_trace_dat(
                    recording(*told.cpus, machine=machine), tmp_path / "t", dress
                )
                assert units(path) == {"clock": "x86-tsc", "time_unit": "ns", "resolution_ns": 1}
                cycles = sorted(one.at for one in told.events())
                assert times(path) == [at * mult[0] >> mult[1] for at in cycles] == shown(path)


# Each nanosecond has a first cycle: a ledger of cycles of known length is one of nanoseconds.
def test_a_ledger_of_cycles_of_known_length(tmp_path: Path) -> None:
    mult, shift = 0x6AAAAAAB, 32
    cycles = Dress(
        clock="x86-tsc",
        stamp=lambda at: -(-(at << shift) // mult),
        options=(o.tsc2nsec(mult, shift),),
    )
    wanted = Answer(write_trace_dat(story(), tmp_path / "plain", Dress()))
    found = Answer(write_trace_dat(story(), tmp_path / "cycles", cycles))
    assert_conserved(found)
    assert found.tables == wanted.tables
    assert found.sums == wanted.sums


# Seconds between the clock's start and 1970 change no difference of times: they are told apart.
def test_the_date_is_beside_the_times(tmp_path: Path) -> None:
    for version in (6, 7):
        for machine in MACHINES.values():
            told = recording(*steps(S, S + 7).cpus, machine=machine)
            date = 1_700_000_000_000_000
            path = write_trace_dat(told, tmp_path / "t", Dress(version, options=(o.date(date),)))
            assert times(path) == [S, S + 1, S + 7, S + 8] == shown(path, "--nodate")
            offset = Capture(str(path)).header()["date_offset_ns"]
            assert offset == date * 1000
            assert [at + offset for at in times(path)] == shown(path)


def test_without_a_date(tmp_path: Path) -> None:
    for version in (6, 7):
        path = write_trace_dat(steps(S), tmp_path / "t", Dress(version))
        assert Capture(str(path)).header()["date_offset_ns"] is None


def test_offsets_are_added(tmp_path: Path) -> None:
    for version in (6, 7):
        for offsets in ((5,), (-5,), (5, -7), (10**12,)):
            dress = Dress(version, options=tuple(o.offset(one) for one in offsets))
            path = write_trace_dat(steps(S, S + 7), tmp_path / "t", dress)
            wanted = [S + step + sum(offsets) for step in (0, 1, 7, 8)]
            assert times(path) == wanted == shown(path)


@st.composite
def compared(draw: st.DrawFn) -> list[o.Compared]:
    moments = draw(st.lists(st.integers(0, 5000), min_size=1, max_size=5, unique=True))
    return [
        o.Compared(
            S + at,
            draw(st.integers(-100_000, 100_000)),
            draw(st.sampled_from([1, 1, 2, 3, 1 << 20])),
            draw(st.sampled_from([0, 0, 1, 20])),
        )
        for at in moments
    ]


# A guest's clock as its host's: between two comparisons, at them, before and after all of them.
@examples(40)
@given(
    st.lists(compared(), min_size=1, max_size=3),
    st.booleans(),
    st.booleans(),
    st.sampled_from(list(MACHINES.values())),
)
def test_a_guests_clock(
    fresh: Fresh,
    cpus: list[list[o.Compared]],
    interpolate: bool,
    fractions: bool,
    machine: Machine,
) -> None:
    moments = {one.at + step for samples in cpus for one in samples for step in (-1, 0, 1)}
    told = recording(*steps(*sorted(moments | {S - 300, S + 6000})).cpus, machine=machine)
    shift = o.time_shift(7, cpus, o.INTERPOLATE * interpolate, fractions)
    path = fresh() / "trace.dat"
    write_trace_dat(told, path, Dress(options=(shift, o.offset(10**12))))
    assert sorted(times(path)) == shown(path)


# Shifted first, cycles to nanoseconds then.
def test_a_guests_cycles(tmp_path: Path) -> None:
    shift = o.time_shift(7, [[o.Compared(0, 1000)], [o.Compared(0, -1000)]])
    dress = Dress(clock="x86-tsc", options=(shift, o.tsc2nsec(1, 1), o.offset(5)))
    path = write_trace_dat(steps(S), tmp_path / "t", dress)
    assert sorted(times(path)) == shown(path) == [(S - 1000 + 1) // 2 + 5, (S + 1000) // 2 + 5]


# A CPU that was compared at no time has nothing to shift by.
def test_a_cpu_that_was_never_compared(tmp_path: Path) -> None:
    shift = o.time_shift(7, [[], [o.Compared(0, 100)]])
    path = write_trace_dat(steps(S), tmp_path / "t", Dress(options=(shift,)))
    assert times(path) == [S, S + 101]


def test_guests_and_sessions_are_told(tmp_path: Path) -> None:
    for version in (6, 7):
        for machine in MACHINES.values():
            told = recording(*steps(S).cpus, machine=machine)
            options = (o.trace_id(0xDEADBEEF12345678), o.guest("a guest", 0x42, {0: 600, 1: 601}))
            path = write_trace_dat(told, tmp_path / "t", Dress(version, options=options))
            header = Capture(str(path)).header()
            assert header["trace_id"] == 0xDEADBEEF12345678
            guest = {"name": "a guest", "trace_id": 0x42, "cpus": {0: 600, 1: 601}}
            assert header["guests"] == [guest]


# Options that no version so far has, and pieces of known ones.
def test_unknown_options_are_passed_over(tmp_path: Path) -> None:
    for version in (6, 7):
        for identity in (23, 24, 25, 40, 0xFFFF):
            options = (o.Option(identity, (b"\xff" * 100,)), o.offset(5))
            path = write_trace_dat(steps(S), tmp_path / "t", Dress(version, options=options))
            assert times(path) == [S + 5, S + 6]


def test_options_that_are_cut(tmp_path: Path) -> None:
    for version in (6, 7):
        for identity in (o.DATE, o.OFFSET, o.TRACEID, o.TIME_SHIFT, o.GUEST, o.TSC2NSEC):
            for data in (b"", b"\0", b"\xff", b"\xff" * 7):
                options = (o.Option(identity, (data,)),)
                path = write_trace_dat(steps(S), tmp_path / "t", Dress(version, options=options))
                assert len(times(path)) == 2


# Of 3 GHz the multiplier is rounded: half a nanosecond's cycles more keep times from falling below.
@pytest.mark.parametrize("hertz", [1_000_000_000, 2_000_000_000, 2_500_000_000, 3_000_000_000])
def test_a_ledger_of_cycles_of_a_length_that_is_given(tmp_path: Path, hertz: int) -> None:
    for version in (6, 7):
        dress = Dress(
            version, clock="x86-tsc", stamp=lambda at: -(-at * hertz // S) + hertz // 2 // S
        )
        path = write_trace_dat(story(), tmp_path / "cycles", dress)
        wanted = Answer(write_trace_dat(story(), tmp_path / "plain", Dress(version)))
        given = Capture(str(path), None, hertz)
        assert (given.header()["time_unit"], given.header()["clock"]) == ("ns", "x86-tsc")
        [note] = given.header()["notes"]
        assert str(hertz) in note
        found = Answer(path, cycles_per_s=hertz)
        assert_conserved(found)
        assert found.tables == wanted.tables
        assert found.sums == wanted.sums


def test_a_given_length_holds_for_a_year(tmp_path: Path) -> None:
    for hertz in (1_000_000, 24_000_000, 2_399_998_000, 100_000_000_000):
        at_s = [1, 365 * 86_400] if hertz < 10**10 else [1, 86_400]
        path = write_trace_dat(
            steps(*(at * hertz for at in at_s), cpus=1), tmp_path / "t", Dress(clock="x86-tsc")
        )
        events = Capture(str(path), None, hertz).events("irq:softirq_raise")
        found = [row["time_ns"] for row in rows(events)]
        assert found == pytest.approx([at * S for at in at_s], rel=2**-31, abs=1)


# What counts nanoseconds, or events, or says itself how long a cycle is, takes no other length.
def test_other_clocks_take_no_length_of_a_cycle(tmp_path: Path) -> None:
    for clock, options, counts in (
        ("mono", (), "ns"),
        ("uptime", (), "ns"),
        ("counter", (), "an order alone"),
        ("x86-tsc", (o.tsc2nsec(1, 1),), "ns"),
    ):
        path = write_trace_dat(steps(S), tmp_path / "t", Dress(clock=clock, options=options))
        with pytest.raises(CaptureError, match=f"clock {clock} counts {counts}$"):
            Capture(str(path), None, 10**9)
