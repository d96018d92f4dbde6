# What a reader calls the sides: the label given, else what differs; short in any case.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.comparison.comparison import Comparison
from netcost_analysis.comparison.names import MOST
from netcost_analysis.errors import ArgumentError
from support.run_sets import recorded


def named(base: list[netcost.Run], new: list[netcost.Run], **how: object) -> tuple[str, str]:
    found = Comparison(netcost.RunSet(base), netcost.RunSet(new), **how)  # type: ignore[arg-type]
    return found.named("base"), found.named("new")


def runs(*paths: str, **labels: str) -> list[netcost.Run]:
    return [netcost.Run(path, labels, {"received_bits_per_second": 1.0}) for path in paths]


LONG = "/srv/" + "a-folder-with-a-long-name/" * 4


@pytest.mark.parametrize(
    ("base", "new", "wanted"),
    [
        (runs("a", kernel="6.1"), runs("b", kernel="6.12"), ("kernel 6.1", "kernel 6.12")),
        # The conditions of an experiment come before other labels, as many as fit.
        (
            runs("a", host="one", kernel="6.1", flows="1"),
            runs("b", host="two", kernel="6.12", flows="2"),
            ("kernel 6.1, flows 1, host one", "kernel 6.12, flows 2, host two"),
        ),
        (runs("a", rps="on"), runs("b"), ("rps on", "rps unknown")),
        (runs("d/tcp-64.netcost.tar.zst"), runs("d/tcp-1024.data"), ("tcp-64", "tcp-1024")),
        (runs("before/1", "before/2"), runs("after/1", "after/2"), ("before", "after")),
        (runs(f"{LONG}old/x/1"), runs(f"{LONG}new/x/1"), ("old", "new")),
        (runs("d/6.1-1", "d/6.1-2"), runs("d/6.12-1", "d/6.12-2"), ("6.1", "6.12")),
        (runs("d/a", "d/b", "d/c"), runs("d/x", "d/y"), ("a, 2 other runs", "x, 1 other run")),
    ],
)
def test_sides_are_called_by_what_differs(
    base: list[netcost.Run], new: list[netcost.Run], wanted: tuple[str, str]
) -> None:
    found = named(base, new)
    if max(map(len, wanted)) <= MOST:
        assert found == wanted
    else:
        # Left out from the end.
        assert all(whole.startswith(short) for short, whole in zip(found, wanted, strict=True))
    assert max(map(len, found)) <= MOST


def test_a_label_comes_before_what_differs() -> None:
    sides = runs("a", kernel="6.1"), runs("b", kernel="6.12")
    assert named(*sides, label=("before\n", "after" * 20))[0] == "before "
    assert len(named(*sides, label=("x" * 90, "y" * 90))[1]) == MOST
    with pytest.raises(ArgumentError, match="names both sides"):
        named(*sides, label=("same", "same"))


def test_a_setting_tells_sides_apart(tmp_path: Path) -> None:
    sides = [
        [recorded(tmp_path / name, host={"sysctls": {"net.core.skb_defer_max": value}})]
        for name, value in (("a", 0), ("b", 64))
    ]
    assert named(*sides) == ("skb_defer_max 0".replace("_", " "), "skb defer max 64")


def test_a_window_is_the_runs_own(tmp_path: Path) -> None:
    run = recorded(tmp_path / "a")
    whole = netcost.RunSet([run]).within("trace").runs[0].timelines()[0]
    assert whole.summary["end_ns"] - whole.summary["start_ns"] > 0
    with pytest.raises(netcost.CaptureError, match="load"):
        netcost.RunSet([run]).within("load").runs[0].timelines()[0].sums()
