# What a user is told of what goes wrong: one line, in which a refusal has its own words and a bug
# is called one. No exception of Python's reaches anybody.

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from netcost_analysis import CaptureError, open_capture
from netcost_analysis.answers.registry import questions
from netcost_analysis.errors import ArgumentError
from netcost_analysis.report.notebook import NotebookError, execute
from support.host import ROOT, require_shared
from support.kept import kept
from support.perfdata import tracepoints as t
from support.run_cli import Netcost
from support.told import robbed, written
from support.told_notebook import tell

NIC = str(ROOT / "sample-data" / "nic-stolen-time")
# Of a bare trace every command asks all.
TRACE = f"{NIC}/trace.perf.data"
OF_RECORDINGS = [name for name, one in questions().items() if one.asked_of == "recording"]
# As an article about the cost of networking shows it: an idle CPU's interrupts, and no task.
LISTING = """\
swapper     0 [005] 176146.491879: irq:irq_handler_entry: irq=152 name=mlx5_comp2@pci:0000:d8:00.0
swapper     0 [005] 176146.491880:  irq:irq_handler_exit: irq=152 ret=handled
swapper     0 [005] 176146.491880:     irq:softirq_entry: vec=3 [action=NET_RX]
swapper     0 [005] 176146.491942:        napi:napi_poll: napi poll on napi struct \
0xffff9d3d53863e88 for device eth0 work 64 budget 64
swapper     0 [005] 176146.491943:      irq:softirq_exit: vec=3 [action=NET_RX]
swapper     0 [005] 176146.492200: irq:irq_handler_entry: irq=152 name=mlx5_comp2@pci:0000:d8:00.0
"""


class PanicException(BaseException):
    """What pyo3 raises for a panic: no Exception, so `except Exception` lets it through."""


@pytest.fixture
def listing(tmp_path: Path) -> Path:
    path = tmp_path / "listing.txt"
    path.write_text(LISTING)
    return path


def test_a_capture_without_a_task(netcost: Netcost, listing: Path) -> None:
    for word in ("stolen", "ledger"):
        run = netcost(word, str(listing))
        assert (run.code, run.err) == (0, "")
        assert "\nNo task" in run.out
    assert "64.0 µs (eth0" in run.out
    assert "62.0 µs" in run.out
    assert netcost("stolen", str(listing), "--json").json["victims"] == []


def test_no_page_names_none(listing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tell(listing, monkeypatch)
    assert re.findall(r"\b(?:None|nan|NaN|NaT|<NA>)\b", told.text) == []
    assert "swapper on CPU" in told.text
    assert "window is empty" not in told.text


def test_the_documents_own_listing(netcost: Netcost, tmp_path: Path) -> None:
    [document] = require_shared("seeds").glob("000_*")
    path = tmp_path / "pasted.txt"
    path.write_text("".join(re.findall(r"^swapper.*\n", document.read_text(), re.MULTILINE)))
    assert sum(netcost("info", str(path), "--json").json["events"].values()) == 9
    for word in ("stolen", "ledger"):
        run = netcost(word, str(path))
        assert (run.code, run.err) == (0, "")
    capture = open_capture(path)
    refusals = []
    for name in OF_RECORDINGS:
        try:
            assert capture.ask(name).words is not None
        except (ArgumentError, CaptureError) as refused:
            refusals.append(str(refused))
    assert not any("\n" in one for one in refusals)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ArgumentError("by='x': one of comm"), f"{NIC}: by='x': one of comm"),
        (CaptureError("cut\nshort"), f"{NIC}: cut short"),
        (ValueError("list.remove(x): x not in list"), "ValueError: list.remove(x): x not in list"),
        (KeyError("bin"), "KeyError: 'bin'"),
        (AssertionError(), "AssertionError"),
        (PanicException("index out of bounds"), "PanicException: index out of bounds"),
        (OSError(28, "No space left on device", "/x"), "/x: No space left on device"),
        (MemoryError(), "there is not enough memory for this"),
    ],
)
def test_a_bug_is_called_a_bug(
    netcost: Netcost, monkeypatch: pytest.MonkeyPatch, error: BaseException, line: str
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("netcost_analysis.questions.stolen.stolen_sums", broken)
    run = netcost("stolen", NIC)
    ours = isinstance(error, ArgumentError | CaptureError | OSError | MemoryError)
    bug = "" if ours else " (a bug; NETCOST_TRACEBACK=1 shows where)"
    status = 2 if isinstance(error, ArgumentError) else 1
    assert (run.code, run.out, run.err) == (status, "", f"netcost: {line}{bug}\n")
    monkeypatch.setenv("NETCOST_TRACEBACK", "1")
    with pytest.raises(type(error)):
        netcost("stolen", NIC)


@pytest.mark.parametrize(
    ("cell", "ours", "line"),
    [
        ("{}['bin']", True, "KeyError: 'bin' (a bug; NETCOST_TRACEBACK=1 shows where)"),
        ("{}['bin']", False, "KeyError: 'bin'"),
        ("import netcost_analysis as n; n.open_capture('/nodir/x')", False, "FileNotFoundError:"),
        ("import sys; sys.exit(1)", False, "SystemExit: 1"),
        ("input('who?')", False, "EOFError:"),
    ],
)
def test_a_cell_that_fails(cell: str, ours: bool, line: str) -> None:
    book = new_notebook(cells=[new_code_cell(cell)])
    with pytest.raises(NotebookError, match=rf"^the notebook stopped: {re.escape(line)}"):
        execute(book, ours)


def test_a_cell_that_is_refused_something() -> None:
    cell = new_code_cell("from netcost_analysis import CaptureError as E; raise E('cut short')")
    for ours in (True, False):
        with pytest.raises(CaptureError, match=r"^cut short$"):
            execute(new_notebook(cells=[cell]), ours)


# Which command it is asked of makes no difference. Digits are a tid.
@pytest.mark.parametrize(
    ("victim", "said"),
    [
        ("opensl", "'opensl' in the window; there are openssl"),
        ("154400", "154400 in the window; there are 1544, 1540, 1500"),
    ],
)
def test_a_victim_that_nobody_saw(netcost: Netcost, tmp_path: Path, victim: str, said: str) -> None:
    page = str(tmp_path / "x.html")
    lines = {
        netcost(*words).err
        for words in (
            ("stolen", TRACE, "--victim", victim),
            ("ask", "rolling_stolen", TRACE, "--victim", victim),
            ("report", TRACE, "-o", page, "--victim", victim),
        )
    }
    (line,) = lines
    begin = f"netcost: {TRACE}: no task {said} and "
    assert re.fullmatch(re.escape(begin) + r"[\d,]+ more\n", line)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_notebook(netcost: Netcost, listing: Path, tmp_path: Path) -> None:
    for number, text in enumerate(("", "{", "[]", '{"cells": 7}', "\0\xff")):
        book = tmp_path / f"{number}.ipynb"
        book.write_text(text)
        run = netcost(
            "report", str(listing), "-o", str(tmp_path / "x.html"), "--notebook", str(book)
        )
        assert (run.code, run.err.count("\n")) == (1, 1)
        assert run.err.startswith(f"netcost: {book} ")


# Every argument of every question, with what does not fit it.
WRONG = ("-1", "99999999999999999999999", "1e300", "1e400", "True", "()", "(1,2)", "[1]", "{}")


@pytest.mark.parametrize("name", OF_RECORDINGS)
def test_arguments_that_do_not_fit(
    netcost: Netcost, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("netcost_analysis.cli.options.opened", kept)
    for option in questions()[name].options:
        for value in WRONG:
            run = netcost("ask", name, NIC, f"--{option.replace('_', '-')}={value}", "--json")
            assert run.code in (0, 1, 2)
            assert "No such option" not in run.err or isinstance(
                questions()[name].options[option], bool
            )
            assert "bug" not in run.err, (option, value)
            assert run.code != 1 or run.err.count("\n") == 1


def test_a_width_beyond_any_window(netcost: Netcost) -> None:
    wide = str(2**61)
    [row] = netcost("ask", "rolling_stolen", NIC, "--step-ns", str(wide), "--json").json
    frame = open_capture(NIC).timeline(window="auto")
    assert (row["start_ns"], row["end_ns"]) == (frame.summary["start_ns"], frame.summary["end_ns"])


def test_names_and_terminals_that_are_no_utf8(listing: Path) -> None:
    command = [sys.executable, "-m", "netcost_analysis"]
    strange = os.fsencode(listing.parent) + b"/bad\xff.txt"
    os.rename(listing, strange)
    done = subprocess.run([*command, "info", strange], capture_output=True)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert b"bad\\xdcff.txt: " in done.stderr
    assert b"not UTF-8" in done.stderr
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*command, "stolen", NIC], env=environment, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"345 ms" in done.stdout
    assert b"\\xb5s" in done.stdout


# Half a pair has no length: which half is missing is said, and not that there are no such events.
@pytest.mark.parametrize(
    ("alone", "lacking"),
    [
        (t.SOFTIRQ_ENTRY, "irq:softirq_exit"),
        (t.SOFTIRQ_EXIT, "irq:softirq_entry"),
        (t.IRQ_HANDLER_ENTRY, "irq:irq_handler_exit"),
    ],
)
def test_half_a_pair_is_named(tmp_path: Path, alone: object, lacking: str) -> None:
    path = written(tmp_path, robbed(), formats=(alone,))
    with pytest.raises(CaptureError, match=f"without {lacking}"):
        _ = open_capture(path).timeline().summary
