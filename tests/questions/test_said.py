# Whatever is asked, of a capture in which hardly anything happened or was recorded too: each
# display says something, in whole sentences that can be read where they stand alone.

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netcost_analysis import Timeline, open_capture
from netcost_analysis.answers.registry import questions
from netcost_analysis.capture.requires import MissingEventsError
from support.kept import kept
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.run_cli import Netcost
from support.told import IDLE, OPENSSL, robbed, written
from support.typed import BROKEN, assert_whole

GUEST = "nic-guest/6.12-nic-1-flows.netcost.tar.zst"


def windows(_: Path) -> Iterator[Timeline]:
    capture = kept(GUEST)
    softirqs = capture.timeline().softirqs
    start_s = (softirqs["entry_ns"].iloc[len(softirqs) // 2] - capture.start_ns) / 1e9
    # A softirq's length, and nothing at all.
    for window in ((start_s, start_s + 300e-6), (0.0, 2e-6)):
        yield capture.timeline(*window)


def idle(folder: Path) -> Iterator[Timeline]:
    told = cpu(0, h.Switch(100, OPENSSL), h.Switch(900, IDLE), task=IDLE)
    path = recording(told, known=(OPENSSL,), formats=t.FORMATS).write(folder / "perf.data")
    yield open_capture(path).timeline()


@pytest.mark.parametrize("made", [windows, idle])
def test_every_answer_says_something_whole(
    tmp_path: Path, made: Callable[[Path], Iterator[Timeline]]
) -> None:
    for line in made(tmp_path):
        for name in questions():
            assert_whole(line.ask(name))


# What is missing stands in the declaration: no question finds it out on its way, and the table of
# what can be asked takes no pass over the events.
@pytest.mark.parametrize("without", ["napi", "sched", "irq", "irq sched irq_vectors"])
def test_the_table_says_beforehand_who_is_refused(tmp_path: Path, without: str) -> None:
    formats = tuple(one for one in t.FORMATS if one.system not in without.split())
    capture = open_capture(written(tmp_path, robbed(rounds=2), formats=formats))
    table = capture.ask.table.set_index("question")["why"]
    assert "_scan" not in vars(capture)
    for name, one in questions().items():
        answer = capture.ask(name)
        assert_whole(answer)
        if "Bundle" in one.sources or one.asked_of == "experiment":
            continue
        # Beside that, only what depends on what happened is refused.
        if isinstance(answer.refusal, MissingEventsError) or table[name]:
            assert table[name] == str(answer.refusal)


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
    assert "both a known" in told
