# Texts on their way: quoted in mails, pasted into chats, shipped by loggers. What was put before
# each line is no part of a task's name, and takes neither headers, losses nor call chains with it.

from collections.abc import Callable
from pathlib import Path

import pytest

from netcost_analysis._native import Capture
from support.native_tables import Answer, rows
from support.small_texts import small_texts
from support.text_capture import capture, flat, tables
from support.text_mutants import EVENTS, LINES, lines

Putting = Callable[[int, str], str]
PREFIXES: dict[str, Putting] = {
    "quoted": lambda _, line: f"> {line}".rstrip(),
    "quoted twice": lambda _, line: f"> > {line}".rstrip(),
    "quoted and indented": lambda _, line: f"  >> {line}",
    "chat": lambda at, line: f"{9 + at // 40}:{at % 40:02} <nick> {line}",
    "chat without time": lambda _, line: f"<nick> {line}",
    "syslog": lambda at, line: f"Nov 22 {at % 24}:49:{at % 60:02} host-a app[77]: {line}",
    "container": lambda at, line: f"2026-11-22T00:49:29.{at:09}Z stdout F {line}",
    "compose": lambda _, line: f"app-1  | {line}",
    "kernel log": lambda at, line: f"[   31.{at:06}] {line}",
    "cat -n": lambda at, line: f"{at + 1:6}\t{line}",
    "cat -n of many": lambda at, line: f"{at + 999_980:6}\t{line}",
    "grep -n": lambda at, line: f"{at + 1}:{line}",
    "grep -A": lambda at, line: f"b/t-1.txt{':-'[at % 3 > 0]}{at + 1}{':-'[at % 3 > 0]}{line}",
    "patch": lambda _, line: f"+{line}",
}


def put(kind: str, text: list[str]) -> str:
    return "\n".join(PREFIXES[kind](at, line) for at, line in enumerate(text))


def is_prefixed(one: Capture) -> bool:
    return any("put before" in note for note in one.header()["notes"])


def names_of(one: Capture, event: str) -> list[tuple[str, int]]:
    return [(row["common_comm"], row["common_pid"]) for row in rows(one.events(event))]


# Every second one as clients that take away the blanks of a line's beginning leave it.
@pytest.mark.parametrize("kind", sorted(LINES))
def test_every_kind_of_text_is_read_behind_its_prefix(tmp_path: Path, kind: str) -> None:
    for number, prefix in enumerate(sorted(PREFIXES), sorted(LINES).index(kind)):
        whole = lines(kind)
        if number % 2 and kind != "latency":
            whole = [line.lstrip() for line in whole]
        text = put(prefix, whole)
        assert flat(tables(tmp_path, text)) == flat(tables(tmp_path, "\n".join(whole))), prefix
        one = capture(tmp_path, text)
        scan = one.scan()
        assert (scan["records"]["event"], scan["records"]["losses"]) == (EVENTS, 1)
        assert is_prefixed(one)
        plain = capture(tmp_path, "\n".join(whole), "plain.txt")
        for event in ("sched:sched_switch", "irq:softirq_entry"):
            assert names_of(one, event) == names_of(plain, event)


# One task is one victim, whatever the time of day at which it was pasted.
def test_the_ledger_is_the_same(tmp_path: Path) -> None:
    for prefix in sorted(PREFIXES):
        whole = [line.lstrip() for line in lines("perf")]
        capture(tmp_path, "\n".join(whole))
        plain = Answer(tmp_path / "trace.txt")
        capture(tmp_path, put(prefix, whole))
        shown = Answer(tmp_path / "trace.txt")
        assert shown.sums == plain.sums
        assert shown.segments == plain.segments


def test_quoted_chains_stay_with_their_samples(tmp_path: Path) -> None:
    text = small_texts()["text-chains"].decode()
    plain, quoted = capture(tmp_path, text), capture(tmp_path, put("quoted", text.split("\n")), "b")
    for name in ("cycles:u", "cpu-clock"):
        assert rows(quoted.samples(name)) == rows(plain.samples(name))
    assert quoted.header()["clock"] == plain.header()["clock"] == "monotonic"


# Words around a quoted text, and one line in it that was not quoted.
def test_what_is_not_quoted_is_read_as_it_is(tmp_path: Path) -> None:
    whole = lines("ftrace")
    quoted = put("quoted", whole[:-1])
    text = f"Hello,\n\nyou wrote:\n{quoted}\n{whole[-1]}\nthanks\n"
    assert flat(tables(tmp_path, text)) == flat(tables(tmp_path, "\n".join(whole)))


# What programs call their threads, and trace-cmd its buffers.
def test_names_keep_what_they_begin_with(tmp_path: Path) -> None:
    for names in (("Web A", "Web B"), ("a: b", "a: b"), ("<idle>", "<idle>"), ("[k] x", "[k] x")):
        line = "{} {} [000] 1.00000{}: irq:softirq_entry: vec=3 [action=NET_RX]\n"
        tids = (7, 7) if names[0] == names[1] else (7, 8)
        text = "".join(
            line.format(name, tid, at)
            for at, (name, tid) in enumerate(zip(names, tids, strict=True))
        )
        one = capture(tmp_path, text)
        assert names_of(one, "irq:softirq_entry") == list(zip(names, tids, strict=True))
        assert not is_prefixed(one)


# A reply in which some lines are quoted and some are not.
@pytest.mark.parametrize("every", [2, 3, 7])
def test_some_lines_that_are_quoted(every: int, tmp_path: Path) -> None:
    whole = lines("ftrace")
    text = [f"> {line}" if at % every == 0 else line for at, line in enumerate(whole)]
    assert flat(tables(tmp_path, "\n".join(text))) == flat(tables(tmp_path, "\n".join(whole)))
    one, plain = (
        capture(tmp_path, "\n".join(text)),
        capture(tmp_path, "\n".join(whole), "plain.txt"),
    )
    for event in ("sched:sched_switch", "irq:softirq_entry"):
        assert names_of(one, event) == names_of(plain, event)
    assert is_prefixed(one)
