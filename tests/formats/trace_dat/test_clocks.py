# From the ring's time stamps to times: ftrace's clocks, cycles, a guest's clock on its host's, and
# what options add. trace-cmd shows the same, where it shows times at all.

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import Capture, CaptureError
from support.host import Fresh, examples
from support.native_tables import ALL_TABLES, Answer, assert_conserved, rows
from support.perfdata import MACHINES, X86_64, Machine, Recording, cpu, recording
from support.perfdata import happenings as h
from support.story import story
from support.tracedat import Dress, write_trace_dat
from support.tracedat import options as o
from support.tracedat.report import names, report

S = 1_000_000_000
NS, CYCLES, ORDER = ("ns", 1), ("cycles", None), ("order", None)
MULTIPLIERS = [(1, 0), (1, 1), (3, 1), (0x6AAAAAAB, 32), (0x7FFFFFFF, 31), (10, 3)]
SHIFT = o.time_shift(7, [[o.Compared(0, 1000)], [o.Compared(0, -1000)]])


# Two CPUs' raises, the second's a tick later each.
def steps(*times: int, cpus: int = 2, machine: Machine = X86_64) -> Recording:
    lanes = (
        cpu(number, *(h.SoftirqRaise(at + number, number) for at in times))
        for number in range(cpus)
    )
    return recording(*lanes, machine=machine)


def times(path: Path, unit: str = "ns") -> list[int]:
    found = rows(Capture(str(path)).events("irq:softirq_raise"))
    assert [name for name in found[0] if name.startswith("time_")] == [f"time_{unit}"]
    return [row[f"time_{unit}"] for row in found]


# trace-cmd's merge by time takes the first CPU's first.
def shown(path: Path, *options: str) -> list[int]:
    return sorted(one.time for one in report(path, names(steps(0).formats), *options))


# The clock, its options, the unit that it counts, and what a reader makes of 1000, 1001, 1005 and
# 1006; trace-cmd shows the same, except of the uptime, which the kernel counts in hundredths of
# seconds.
CLOCKS: list[tuple[str, tuple[o.Option, ...], tuple[str, int | None], Sequence[int]]] = [
    *(
        (clock, (), NS, (1000, 1001, 1005, 1006))
        for clock in ("local", "global", "perf", "mono", "mono_raw", "boot", "tai")
    ),
    ("uptime", (), ("ns", 10_000_000), [at * 10_000_000 for at in (1000, 1001, 1005, 1006)]),
    ("counter", (), ORDER, (1000, 1001, 1005, 1006)),
    ("x86-tsc", (), CYCLES, (1000, 1001, 1005, 1006)),
    ("mono", (o.offset(5),), NS, (1005, 1006, 1010, 1011)),
    ("mono", (o.offset(-5),), NS, (995, 996, 1000, 1001)),
    ("mono", (o.offset(5), o.offset(-7)), NS, (998, 999, 1003, 1004)),
    # Shifted first, cycles to nanoseconds then, and what belongs on the time added last.
    ("x86-tsc", (SHIFT, o.tsc2nsec(1, 1), o.offset(5)), NS, (1005, 1007, 5, 8)),
    ("x86-tsc", (o.tsc2nsec(3, 1), o.offset(7)), NS, (1507, 1508, 1514, 1516)),
    *(
        ("mono", (o.time_shift(1, [[o.Compared(0, 100)]] * 2, 0, fractions),), NS, wanted)
        for fractions in (True, False)
        for wanted in [(1100, 1101, 1105, 1106)]
    ),
]


@pytest.mark.parametrize("version", [6, 7])
def test_every_clock(tmp_path: Path, version: int) -> None:
    for clock, options, (unit, resolution), wanted in CLOCKS:
        dress = Dress(version, clock=clock, options=options)
        path = write_trace_dat(steps(1000, 1005), tmp_path / "trace.dat", dress)
        header = Capture(str(path)).header()
        assert (header["clock"], header["time_unit"]) == (clock, unit)
        assert resolution is None or header["resolution_ns"] == resolution
        assert header["buffers"][0]["clock"] == clock
        assert header["date_offset_ns"] is None
        found = times(path, unit)
        assert sorted(found) == sorted(wanted)
        assert shown(path) == ([1000, 1001, 1005, 1006] if clock == "uptime" else sorted(wanted))


def test_cycles_of_known_length(tmp_path: Path) -> None:
    for mult, shift in MULTIPLIERS:
        for machine in MACHINES.values():
            told = steps(12345, 1 << 32, (1 << 45) + 98765, machine=machine)
            for version in (6, 7):
                options = (o.tsc2nsec(mult, shift, 777),)
                dress = Dress(version, clock="x86-tsc", options=options)
                path = write_trace_dat(told, tmp_path / "trace.dat", dress)
                cycles = sorted(one.at for one in told.events())
                assert times(path) == [at * mult >> shift for at in cycles] == shown(path)


# Each nanosecond has a first cycle: a ledger of cycles of known length is one of nanoseconds. So is
# one of a length that is given; of 3 GHz the multiplier is rounded: half a nanosecond's cycles more
# keep times from falling below.
def test_a_ledger_of_cycles(tmp_path: Path) -> None:
    mult, shift = 0x6AAAAAAB, 32
    known = Dress(
        clock="x86-tsc",
        stamp=lambda at: -(-(at << shift) // mult),
        options=(o.tsc2nsec(mult, shift),),
    )
    wanted = Answer(write_trace_dat(story(), tmp_path / "plain"))
    found = [Answer(write_trace_dat(story(), tmp_path / "cycles", known))]
    for hertz in (1_000_000_000, 2_000_000_000, 2_500_000_000, 3_000_000_000):

        def stamp(at: int, hertz: int = hertz) -> int:
            return -(-at * hertz // S) + hertz // 2 // S

        for version in (6, 7):
            dress = Dress(version, clock="x86-tsc", stamp=stamp)
            path = write_trace_dat(story(), tmp_path / "cycles", dress)
            header = Capture(str(path), None, hertz).header()
            assert (header["time_unit"], header["clock"]) == ("ns", "x86-tsc")
            assert str(hertz) in header["notes"][0]
            found.append(Answer(path, cycles_per_s=hertz))
    for one in found:
        assert_conserved(one)
        assert (one.tables, one.sums) == (wanted.tables, wanted.sums)


def test_a_given_length_holds_for_a_year(tmp_path: Path) -> None:
    for hertz in (1_000_000, 24_000_000, 2_399_998_000, 100_000_000_000):
        at_s = [1, 365 * 86_400] if hertz < 10**10 else [1, 86_400]
        told = steps(*(at * hertz for at in at_s), cpus=1)
        path = write_trace_dat(told, tmp_path / "trace.dat", Dress(clock="x86-tsc"))
        events = Capture(str(path), None, hertz).events("irq:softirq_raise")
        found = [row["time_ns"] for row in rows(events)]
        assert found == pytest.approx([at * S for at in at_s], rel=2**-31, abs=1)


# What counts nanoseconds, or events, or says itself how long a cycle is, takes no other length. And
# without nanoseconds events have their order and their fields; what has to do with durations is
# refused.
def test_what_a_clock_does_not_tell_is_refused(tmp_path: Path) -> None:
    for clock, options, counts in (
        ("mono", (), "ns"),
        ("uptime", (), "ns"),
        ("counter", (), "an order alone"),
        ("x86-tsc", (o.tsc2nsec(1, 1),), "ns"),
    ):
        path = write_trace_dat(steps(S), tmp_path / "t", Dress(clock=clock, options=options))
        with pytest.raises(CaptureError, match=f"clock {clock} counts {counts}$"):
            Capture(str(path), None, 10**9)
    for clock in ("counter", "x86-tsc"):
        path = write_trace_dat(story(), tmp_path / "t", Dress(clock=clock))
        assert len(rows(Capture(str(path)).events("napi:napi_poll"))) == 2
        with pytest.raises(CaptureError, match=f"clock {clock} "):
            Capture(str(path)).timeline(ALL_TABLES)


# Seconds between the clock's start and 1970 change no difference of times: they are told apart.
# Guests and sessions are told too.
@pytest.mark.parametrize("version", [6, 7])
def test_what_is_said_beside_the_times(tmp_path: Path, version: int) -> None:
    date, identity = 1_700_000_000_000_000, 0xDEADBEEF12345678
    options = (o.date(date), o.trace_id(identity), o.guest("a guest", 0x42, {0: 600, 1: 601}))
    for machine in MACHINES.values():
        told = steps(S, S + 7, machine=machine)
        path = write_trace_dat(told, tmp_path / "t", Dress(version, options=options))
        assert times(path) == [S, S + 1, S + 7, S + 8] == shown(path, "--nodate")
        header = Capture(str(path)).header()
        assert header["date_offset_ns"] == date * 1000
        assert [at + date * 1000 for at in times(path)] == shown(path)
        assert header["trace_id"] == identity
        assert header["guests"] == [{"name": "a guest", "trace_id": 0x42, "cpus": {0: 600, 1: 601}}]


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
    *(st.booleans(), st.booleans(), st.sampled_from(list(MACHINES.values()))),
)
def test_a_guests_clock(
    fresh: Fresh,
    cpus: list[list[o.Compared]],
    interpolate: bool,
    fractions: bool,
    machine: Machine,
) -> None:
    moments = {one.at + step for samples in cpus for one in samples for step in (-1, 0, 1)}
    told = steps(*sorted(moments | {S - 300, S + 6000}), machine=machine)
    shift = o.time_shift(7, cpus, o.INTERPOLATE * interpolate, fractions)
    dress = Dress(options=(shift, o.offset(10**12)))
    path = write_trace_dat(told, fresh() / "trace.dat", dress)
    assert sorted(times(path)) == shown(path)


# It has nothing to shift by; trace-cmd shifts it by what stood there before.
def test_a_cpu_that_was_never_compared(tmp_path: Path) -> None:
    shift = o.time_shift(7, [[], [o.Compared(0, 100)]])
    path = write_trace_dat(steps(S), tmp_path / "t", Dress(options=(shift,)))
    assert times(path) == [S, S + 101]


# Options that no version so far has, and pieces of known ones.
@pytest.mark.parametrize("version", [6, 7])
def test_strange_options_are_passed_over(tmp_path: Path, version: int) -> None:
    for identity in (23, 24, 25, 40, 0xFFFF):
        options = (o.Option(identity, (b"\xff" * 100,)), o.offset(5))
        path = write_trace_dat(steps(S), tmp_path / "t", Dress(version, options=options))
        assert times(path) == [S + 5, S + 6]
    for identity in (o.DATE, o.OFFSET, o.TRACEID, o.TIME_SHIFT, o.GUEST, o.TSC2NSEC):
        for data in (b"", b"\0", b"\xff", b"\xff" * 7):
            options = (o.Option(identity, (data,)),)
            path = write_trace_dat(steps(S), tmp_path / "t", Dress(version, options=options))
            assert len(times(path)) == 2
