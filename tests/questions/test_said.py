# Whatever is asked, of a capture in which hardly anything happened or was recorded too: each
# display says something, in whole sentences that can be read where they stand alone.

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import Timeline, open_capture
from netcost_analysis.display.templates import as_text
from netcost_analysis.questions.answer import Answer
from netcost_analysis.questions.ask import questions
from support.kept import kept
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.robbed import robbed, written
from support.run_cli import Netcost
from support.told import IDLE, OPENSSL

NIC = "nic-stolen-time"
# What is left of a sentence whose figure is missing.
BROKEN = re.compile(
    r"\(\)|\(\s|\s\)| [,.;:)](?=\s|$)|\S  +\S|\bof [(.,]|\*\*\*\*|(?<=\w )None\b|\bnan\b|<NA>"
)


def windows(_: Path) -> Iterator[Timeline]:
    # A softirq's length, the victim's time without any of its own, nothing at all.
    for window in ((0.3112, 0.3115), (0.1, 0.100_02), (0.2, 0.200_002)):
        yield kept(NIC).timeline(*window)


def poor(folder: Path) -> Iterator[Timeline]:
    without_polls = tuple(one for one in t.FORMATS if one is not t.NAPI_POLL)
    softirqs = (t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT)
    for number, formats in enumerate((t.IRQ_FORMATS, (t.NAPI_POLL,), softirqs, without_polls)):
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
    wrong = []
    for number, line in enumerate(made(tmp_path)):
        for name in questions():
            answer: Answer[Any] = line.ask(name)
            text = as_text(answer.words)
            wrong += [
                f"{number} {name}: {text[max(0, at.start() - 60) : at.end() + 60]!r}"
                for at in BROKEN.finditer(text)
            ]
            if not answer._repr_html_().strip():
                wrong.append(f"{number} {name}: shows nothing")
    assert not wrong, "\n".join(wrong)


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
    assert "No softirq had a sender and a receiver on this host that are both known." in told
