# Two captures in one graph: the change of each frame with all it called, and how it is shown.

from pathlib import Path

import numpy as np
import pytest

from netcost_analysis import open_capture
from netcost_analysis.plots.palette import OUTCOME
from netcost_analysis.questions.functions.flame import Graph, graph, paths
from netcost_analysis.questions.functions.flame_change import change, denominators
from netcost_analysis.questions.functions.flame_formats import UNCHANGED, folded, svg_of_change
from netcost_analysis.stats.counts import count_interval, difference_interval
from support.called import Called, write
from support.svg import frames

IRQ = ("user", "asm_sysvec_x")


def both(tmp_path: Path, base: list[Called], new: list[Called], kind: str = "stolen") -> Graph:
    folders = [write(tmp_path / name, *told) for name, told in (("base", base), ("new", new))]
    return graph([paths(open_capture(folder), kind) for folder in folders])  # type: ignore[arg-type]


def node(found: Graph, label: str) -> int:
    [at] = [at for at in range(len(found.name)) if found.label(at) == label]
    return at


# A change deep inside is one of each of its callers, and theirs alone: not of what is beside it.
def test_a_change_is_of_all_that_a_frame_called(tmp_path: Path) -> None:
    def told(times: int) -> list[Called]:
        return [
            Called((*IRQ, "outer", "changed", "leaf"), times=times),
            Called((*IRQ, "beside"), times=100),
        ]

    found = both(tmp_path, told(100), told(300))
    of = change(found, "packet", "ns", (1000.0, 1000.0))
    for name in ("openssl", "asm_sysvec_x", "outer", "changed", "leaf"):
        assert of.change[node(found, name)] == pytest.approx(200 * 1e6 / 1000)
        assert of.differs[node(found, name)]
    assert not of.differs[node(found, "beside")]
    drawn = svg_of_change(found, of, "title", "sub")
    fills = {title.split(" ")[0]: one["fill"] for title, one in frames(drawn).items()}
    assert fills["beside"] == UNCHANGED
    redder = {name: color for name, color in fills.items() if name != "beside"}
    assert len(set(redder.values())) == 1
    assert UNCHANGED not in redder.values()
    told_of = of.words(node(found, "leaf"))
    for part in ("base 100 µs", "new 300 µs", "per packet", "change +200 µs"):
        assert part in told_of
    # The other way round it is less by as much.
    back = change(both(tmp_path / "back", told(300), told(100)), "packet", "ns", (1000.0, 1000.0))
    assert sorted(back.change) == pytest.approx(sorted(-of.change))
    assert back.differs.tolist().count(True) == 6


# What only one side has is drawn too, as wide as half of it.
def test_what_came_and_what_is_gone(tmp_path: Path) -> None:
    found = both(tmp_path, [Called((*IRQ, "gone"), times=50)], [Called((*IRQ, "came"), times=50)])
    of = change(found, "packet", "ns", (1.0, 1.0))
    text = svg_of_change(found, of, "title", "sub")
    widths = {
        title.split(" ")[0]: float(one["width"].rstrip("%")) for title, one in frames(text).items()
    }
    assert widths["gone"] == widths["came"] == pytest.approx(50, abs=0.01)
    assert of.change_high[node(found, "gone")] < 0 < of.change_low[node(found, "came")]
    assert not of.differs[node(found, "asm_sysvec_x")]
    # Folded, a number for each side.
    assert "".join(folded(found)).splitlines() == [
        "openssl;asm_sysvec_x;came 0 50000000",
        "openssl;asm_sysvec_x;gone 50000000 0",
    ]


# Twice the packets for twice the time is no change.
def test_rates_are_of_each_sides_own_packets(tmp_path: Path) -> None:
    told = [[Called((*IRQ, "f"), times=times)] for times in (200, 400)]
    of = change(both(tmp_path, *told), "packet", "ns", (1_000.0, 2_000.0))
    assert of.change == pytest.approx(0)
    assert not of.differs.any()


# Without counters of packets: a second outside idle. An idle CPU's own samples are in neither.
def test_without_packets_it_is_busy_time(tmp_path: Path) -> None:
    idle = Called(("do_idle", "default_idle"), "swapper", 0, times=1_000)
    told = [Called((*IRQ, "f"), times=30), Called(("user",), times=70), idle]
    captures = (
        open_capture(write(tmp_path / "a", *told)),
        open_capture(write(tmp_path / "b", *told)),
    )
    sides = paths(captures[0], "all", idle=False), paths(captures[1], "all", idle=False)
    per, units = denominators(captures, sides, None)
    assert "busy CPU" in per
    assert units == (0.1, 0.1)
    found = graph(sides)
    of = change(found, per, "ns", units)
    assert of.rates[:, 0] == pytest.approx(1e9)
    assert of.rates[0, node(found, "f")] == pytest.approx(0.3e9)


# A difference of two counts of one mean has 0 in its interval nineteen times of twenty.
@pytest.mark.parametrize(("base", "new"), [(20, 20), (5, 50), (200, 100)])
def test_the_interval_covers_the_difference(base: int, new: int) -> None:
    draw = np.random.default_rng(3)
    counts = draw.poisson(base, 20_000).astype(float), draw.poisson(new, 20_000).astype(float)
    sides = [(count, *count_interval(count)) for count in counts]
    low, high = difference_interval(sides[0], sides[1])
    assert np.mean((low <= new - base) & (new - base <= high)) == pytest.approx(0.95, abs=0.012)


def test_more_and_less_have_the_projects_colours(tmp_path: Path) -> None:
    found = both(tmp_path, [Called((*IRQ, "f"), times=10)], [Called((*IRQ, "f"), times=90)])
    text = svg_of_change(found, change(found, "packet", "ns", (1.0, 1.0)), "title", "sub")
    assert all(f'fill="{OUTCOME[one]}">■' in text for one in ("worse", "better"))
