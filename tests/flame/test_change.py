# Two captures in one graph: the change of each frame with all it called, and how it is shown.

from pathlib import Path

import pytest

from netcost_analysis import open_capture
from netcost_analysis.plots.palette import OUTCOME
from netcost_analysis.questions.samples.flame import Graph, graph, paths
from netcost_analysis.questions.samples.flame_formats import (
    UNCHANGED,
    denominators,
    folded,
    frame_changes,
    svg_of_change,
)
from support.pictures import frames
from support.stacks import Called, write

IRQ = ("user", "asm_sysvec_x")


def both(folder: Path, base: list[Called], new: list[Called]) -> Graph:
    folders = [write(folder / name, *told) for name, told in (("base", base), ("new", new))]
    return graph([paths(open_capture(path)) for path in folders])


def node(found: Graph, label: str) -> int:
    [at] = [at for at in range(len(found.name)) if found.label(at) == label]
    return at


# A change deep inside is one of each of its callers, and theirs alone: not of what is beside it.
def test_a_change_is_of_all_that_a_frame_called(tmp_path: Path) -> None:
    few, many = (
        [
            Called((*IRQ, "outer", "changed", "leaf"), times=times),
            Called((*IRQ, "beside"), times=100),
        ]
        for times in (100, 300)
    )
    found = both(tmp_path, few, many)
    of = frame_changes(found, "packet", "ns", (1000.0, 1000.0))
    for name in ("openssl", "asm_sysvec_x", "outer", "changed", "leaf"):
        assert of.change[node(found, name)] == pytest.approx(200 * 1e6 / 1000)
        assert of.differs[node(found, name)]
    assert not of.differs[node(found, "beside")]
    drawn = svg_of_change(found, of, "title", "sub")
    fills = {title.split(" ")[0]: one["fill"] for title, one in frames(drawn).items()}
    assert fills.pop("beside") == UNCHANGED
    assert len(set(fills.values()) | {UNCHANGED}) == 2
    assert all(f'fill="{OUTCOME[one]}">■' in drawn for one in ("worse", "better"))
    of_leaf = of.words(node(found, "leaf"))
    for part in ("base 100 µs", "new 300 µs", "per packet", "change +200 µs"):
        assert part in of_leaf
    # The other way round it is less by as much.
    back = frame_changes(both(tmp_path / "back", many, few), "packet", "ns", (1000.0, 1000.0))
    assert sorted(back.change) == pytest.approx(sorted(-of.change))
    assert back.differs.sum() == 6
    # Twice the packets for twice the time is no change.
    even = frame_changes(both(tmp_path / "even", few, few * 2), "packet", "ns", (1_000.0, 2_000.0))
    assert even.change == pytest.approx(0)
    assert not even.differs.any()


# What only one side has is drawn too, as wide as half of it.
def test_what_came_and_what_is_gone(tmp_path: Path) -> None:
    found = both(tmp_path, [Called((*IRQ, "gone"), times=50)], [Called((*IRQ, "came"), times=50)])
    of = frame_changes(found, "packet", "ns", (1.0, 1.0))
    drawn = frames(svg_of_change(found, of, "title", "sub"))
    widths = {title.split(" ")[0]: float(one["width"].rstrip("%")) for title, one in drawn.items()}
    assert widths["gone"] == widths["came"] == pytest.approx(50, abs=0.01)
    assert of.change_high[node(found, "gone")] < 0 < of.change_low[node(found, "came")]
    assert not of.differs[node(found, "asm_sysvec_x")]
    assert list(folded(found)) == [
        "openssl;asm_sysvec_x;came 0 50000000\n",
        "openssl;asm_sysvec_x;gone 50000000 0\n",
    ]


# Without counters of packets: a second outside idle. An idle CPU's own samples are in neither.
def test_without_packets_it_is_busy_time(tmp_path: Path) -> None:
    idle = Called(("do_idle", "default_idle"), "swapper", 0, times=1_000)
    told = [Called((*IRQ, "f"), times=30), Called(("user",), times=70), idle]
    one, other = (open_capture(write(tmp_path / name, *told)) for name in ("a", "b"))
    sides = paths(one, "all", idle=False), paths(other, "all", idle=False)
    per, units = denominators((one, other), sides, None)
    assert "busy CPU" in per
    assert units == (0.1, 0.1)
    found = graph(sides)
    of = frame_changes(found, per, "ns", units)
    assert of.rates[:, 0] == pytest.approx(1e9)
    assert of.rates[0, node(found, "f")] == pytest.approx(0.3e9)
