# trace-cmd shows the times that are read here of a guest's clock. Those of every clock and option:
# native/tests/formats/trace_dat/clocks.rs.

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis._native import Capture
from support.host import Fresh, examples
from support.native_tables import rows
from support.perfdata import MACHINES, X86_64, Machine, Recording, cpu, recording
from support.perfdata import happenings as h
from support.tracedat import Dress, write_trace_dat
from support.tracedat import options as o
from support.tracedat.report import names, report

S = 1_000_000_000


# Two CPUs' raises, the second's a tick later each.
def steps(*times: int, machine: Machine = X86_64) -> Recording:
    lanes = (
        cpu(number, *(h.SoftirqRaise(at + number, number) for at in times)) for number in range(2)
    )
    return recording(*lanes, machine=machine)


def times(path: Path) -> list[int]:
    found = rows(Capture(str(path)).events("irq:softirq_raise"))
    return sorted(row[name] for row in found for name in row if name.startswith("time_"))


def shown(path: Path) -> list[int]:
    return sorted(one.time for one in report(path, names(steps(0).formats)))


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
    assert times(path) == shown(path)
