# sample-data/make-fleet: a stretch of a sample's events under another host's name, polls stretched.

import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

import netcost_analysis as netcost
from support.host import ROOT


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = str(ROOT / "sample-data" / "make-fleet")
    spec = importlib.util.spec_from_loader("make_fleet", SourceFileLoader("make_fleet", path))
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_polls_really_take_longer(script: ModuleType, tmp_path: Path) -> None:
    base = script.Base(ROOT / "sample-data" / "nic-stolen-time")
    stretch = base.first, base.first + 100_000_000
    polls = []
    for factor in (1.0, 1.15):
        data = script.rewritten(base.data, *stretch, base.moved(factor), "other", "9.9.9")
        path = tmp_path / f"{factor}.data"
        path.write_bytes(data)
        capture = netcost.open_capture(path)
        assert (capture.info["hostname"], capture.info["kernel"]) == ("other", "9.9.9")
        every = capture.timeline().polls
        polls.append(every[every["cpu"] == 0])
    # The same polls of the CPU that polls, each of them longer by as much, to the nanosecond that
    # times are rounded to.
    short, long = polls
    assert len(short) > 100
    assert short["work"].tolist() == long["work"].tolist()
    for before, after in zip(
        short["end_ns"] - short["start_ns"], long["end_ns"] - long["start_ns"], strict=True
    ):
        assert after == pytest.approx(1.15 * before, abs=2)
