# Whatever is asked, of a capture in which hardly anything happened or was recorded too: each
# display says something, in whole sentences that can be read where they stand alone.

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netcost_analysis import Timeline, open_capture
from netcost_analysis.answers.registry import questions
from support.kept import kept
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.robbed import robbed, written
from support.run_cli import Netcost
from support.told import IDLE, OPENSSL
from support.typed import BROKEN, assert_whole

NIC = "nic-stolen-time"


def windows(_: Path) -> Iterator[Timeline]:
    # A softirq's length, the victim's time without any of its own, nothing at all.
    for window in ((0.3112, 0.3115), (0.1, 0.100_02), (0.2, 0.200_002)):
        yield kept(NIC).timeline(*window)


def poor(folder: Path) -> Iterator[Timeline]:
    without_polls = tuple(one for one in t.FORMATS if one is not t.NAPI_POLL)
    for number, formats in enumerate((t.IRQ_FORMATS, (t.NAPI_POLL,), without_polls)):
        (folder / str(number)).mkdir()
        path = written(folder / str(number), robbed(rounds=2), formats=formats)
        yield open_capture(path).timeline()


def idle(folder: Path) -> Iterator[Timeline]:
    told = cpu(0, h.Switch(100, OPENSSL), h.Switch(900, IDLE), task=IDLE)
    path = recording(told, known=(OPENSSL,), formats=t.FORMATS).write(folder / "perf.data")
    yield open_capture(path).timeline()


@pytest.mark.parametrize("made", [windows, poor, idle])
def test_every_answer_says_something_whole(
    tmp_path: Path, made: Callable[[Path], Iterator[Timeline]]
) -> None:
    for line in made(tmp_path):
        for name in questions():
            assert_whole(line.ask(name))


@pytest.mark.parametrize(
    "text", ["ran for  of it", "it (). Then", "of (eth0)", "a , b", "it took .", "took None"]
)
def test_a_broken_sentence_is_found(text: str) -> None:
    assert BROKEN.search(text)


def test_no_rows_come_with_a_reason(tmp_path: Path, netcost: Netcost) -> None:
    [line] = idle(tmp_path)
    assert not len(line.ask.processes.traffic_pairs().frame)
    told = netcost("ask", "traffic_pairs", str(tmp_path / "perf.data")).out
    assert "no rows" in told
    assert "both known" in told
