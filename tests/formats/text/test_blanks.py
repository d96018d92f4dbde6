# What a spreadsheet, a mail client or a word processor makes of a text's blanks: a TAB or a
# non-breaking space between all fields, or between some. A line is what its shape says.

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from netcost_analysis._native import Capture
from netcost_analysis.masking import mask
from support.host import Fresh
from support.native_tables import Answer, gaps, rows
from support.small_texts import small_texts
from support.text_capture import capture, flat, only, tables
from support.text_mutants import EVENTS, LINES, lines
from support.text_steps import BEFORE, BEHIND, step

Blanks = Callable[[str], str]
ALL: dict[str, Blanks] = {
    "TABs": lambda line: line.replace(" ", "\t"),
    "a TAB for each run": lambda line: re.sub(" +", "\t", line),
    "indented, TABs": lambda line: "\t" + line.replace(" ", "\t"),
    "TABs and spaces": lambda line: line.replace(": ", ":\t").replace("] ", "]\t"),
    "non-breaking spaces": lambda line: line.replace(" ", "\u00a0"),
    "narrow ones": lambda line: line.replace(" ", "\u202f"),
    "every other one": lambda line: re.sub("  ", " \u00a0", line),
    "quoted, TABs": lambda line: "> " + line.replace(" ", "\t"),
    "quoted behind a TAB": lambda line: ">\t" + line.replace(" ", "\t"),
    "quoted, non-breaking": lambda line: ">\u00a0" + line.replace(" ", "\u00a0"),
    "a TAB behind the prefix": lambda line: "> \t" + line,
}
# Where the width of a column says what it is, one blank for each run says less.
RUNS = sorted(set(LINES) - {"graph", "latency", "verbose"})


def same(folder: Path, kind: str, change: Blanks) -> None:
    whole = lines(kind)
    text = "\n".join(change(line) for line in whole)
    assert flat(tables(folder, text)) == flat(tables(folder, "\n".join(whole)))
    scan = capture(folder, text).scan()
    assert (scan["records"]["event"], scan["records"]["losses"]) == (EVENTS, 1)
    assert gaps(scan) == gaps(capture(folder, "\n".join(whole), "plain.txt").scan())


# In a comment of function_graph a message may begin with a word, a colon and a TAB: it stays one.
@pytest.mark.parametrize("kind", sorted(LINES))
def test_blanks_of_every_kind(tmp_path: Path, kind: str) -> None:
    for blanks in sorted(set(ALL) - {"a TAB for each run"}):
        if (kind, blanks) != ("graph", "TABs and spaces"):
            same(tmp_path, kind, ALL[blanks])


def test_a_spreadsheet_has_one_tab_between_cells(tmp_path: Path) -> None:
    for kind in RUNS:
        same(tmp_path, kind, ALL["a TAB for each run"])


def test_the_ledger_is_the_same(tmp_path: Path) -> None:
    for blanks in sorted(ALL):
        whole = lines("ftrace")
        capture(tmp_path, "\n".join(whole))
        plain = Answer(tmp_path / "trace.txt")
        capture(tmp_path, "\n".join(map(ALL[blanks], whole)))
        shown = Answer(tmp_path / "trace.txt")
        assert shown.sums == plain.sums
        assert shown.segments == plain.segments


# perf's own TABs are those that indent a chain.
def test_chains_are_still_chains(tmp_path: Path) -> None:
    for blank in ("\t", "\u00a0"):
        text = small_texts()["text-chains"].decode()
        whole = capture(tmp_path, text)
        pasted = capture(
            tmp_path,
            re.sub(r"(?m)^(\t *)(\S+) (\S+) \((\S+)\)$", rf"\1\2{blank}\3{blank}(\4)", text),
            "b.txt",
        )
        assert pasted.scan()["records"] == whole.scan()["records"]
        assert rows(pasted.samples("cycles:u")) == rows(whole.samples("cycles:u"))


# A message may hold any blank, and so may a task's name: what can be read as it is stays.
def test_what_can_be_read_is_not_changed(tmp_path: Path) -> None:
    line = "a\u00a0b\tc-8 [001] d.s2. 76.211513: {}"
    name, row = only(tmp_path, line.format("tracing_mark_write: x\ty\u00a0z"))
    assert (name, row["text"]) == ("ftrace:tracing_mark_write", "x\ty\u00a0z")
    name, row = only(tmp_path, line.format("sched_process_exec: filename=/a\tb pid=8 old_pid=8"))
    assert (name, row["filename"]) == ("sched:sched_process_exec", "/a\tb")


# A pasted line that was cut short is no call chain: it may have been an event.
def test_what_cannot_be_read_may_have_been_one(tmp_path: Path) -> None:
    for cut in ("\tsh-8\t[000]\td..2.\t0.0005", "\tsh-8\t[000]\td..2.\t0.0005:\tx"):
        scan = capture(tmp_path, f"{BEFORE}{cut}\n{BEHIND}").scan()
        assert scan["records"]["no event"] == 1
        assert gaps(scan) == [(0, 200_000, 700_000, 0), (1, 300_000, 800_000, 0)]


# A pasted line keeps its task's name to itself as any other's does.
def test_names_are_masked_in_pasted_lines(fresh: Fresh) -> None:
    for blank in ("\t", "\u00a0"):
        folder = fresh()
        source, target = folder / "pasted.txt", folder / "out.txt"
        text = BEFORE + step(1, 400, "sched_waking: comm=alice pid=9 prio=120 target_cpu=000")
        source.write_text((text + BEHIND).replace("sh-8", "bob-8").replace(" ", blank))
        mask(source, target)
        masked = target.read_text()
        assert "alice" not in masked
        assert "bob" not in masked
        assert Answer(target).segments[0]["end_ns"] == Answer(source).segments[0]["end_ns"]
        assert len(rows(Capture(str(target)).events("sched:sched_waking"))) == 1
