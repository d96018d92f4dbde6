# A line is judged by its shape, not by its indentation; what cannot be read and stands between
# events may have been one, so that nothing is said of the CPU's time around it.

from pathlib import Path

import pytest

import netcost_analysis
from support.bounded import bounded
from support.native_tables import Answer, assert_conserved, gaps, rows
from support.run_cli import Netcost
from support.small_texts import small_texts
from support.text_capture import capture, flat, only, tables
from support.text_mutants import EVENTS, LINES, lines
from support.text_steps import BEFORE, BEHIND, ENTRY, EXIT, step


@pytest.mark.parametrize("indent", ["\t", "\t\t", " \t", "\t  "])
def test_indented_lines_are_the_same_events(tmp_path: Path, indent: str) -> None:
    for kind in sorted(LINES):
        whole = lines(kind)
        found = tables(tmp_path, "\n".join(f"{indent}{line}" if line else "" for line in whole))
        assert flat(found) == flat(tables(tmp_path, "\n".join(whole)))
        scan = capture(tmp_path, "\n".join(indent + line for line in whole)).scan()
        assert scan["records"]["event"] == EVENTS
        assert scan["records"]["losses"] == 1


# A function's address is a number, and its name may hold what separates events' parts.
def test_chains_are_still_chains(tmp_path: Path) -> None:
    chain = "\tffffffff82 std::map<int, a>::at(int) const+0x65 (/b (deleted))\n\t 12 a: b (/c)\n"
    text = f"sh 7/8 [000] 1.000001: 250000 cycles:u:\n{chain}\tmain+0x1 (/d)\n\n"
    scan = capture(tmp_path, text + text.replace("1.0", "2.0")).scan()
    assert scan["records"] == {"event": 2, "call chain": 6, "blank": 2}


# An indented text of perf script keeps its chains.
def test_indented_chains(tmp_path: Path) -> None:
    text = small_texts()["text-chains"].decode()
    whole = capture(tmp_path, text)
    indented = capture(tmp_path, "".join(f"\t{line}" for line in text.splitlines(True)), "b.txt")
    for name in ("cycles:u", "cpu-clock"):
        assert rows(indented.samples(name)) == rows(whole.samples(name))


PLACES = [
    *("0x00000001", "0xffffffffa0340042", "0", "ffffffffa0340042", ""),
    *("ip_rcv+0x1c/0x40", "handler+0x1c/0x40 [nic]", "f [nic]", "f+0x1", "f+0x1/0x2 [a] <ffff81>"),
    *("f <ffffffffa0340042>", "[<ffffffffa0340042>] f"),
]


def test_what_trace_printk_left_is_no_chain(tmp_path: Path) -> None:
    for place in PLACES:
        for context in ("d.s2. ", ""):
            said = f"{place}: packet 7: dropped"
            line = f"            sh-8     [001] {context}76.211513: {said}"
            name, row = only(tmp_path, line)
            assert name == "ftrace:print"
            assert row["text"] == said
            assert (row["common_pid"], row["common_cpu"], row["time_ns"]) == (8, 1, 76_211_513_000)


# CPU 0  100 [softirq] 200 ......... ?? ......... 700 [softirq] 900 ... 1100
# CPU 1                   300 [ ......... ?? ......... ] 800 ......... 1100
@pytest.mark.parametrize(
    "between",
    ["[ 4 lines snipped ]\n", "x" * 70_000 + "\n", "y" * 3_000_000 + "\n", "sh-8 [0\nz\n"],
)
def test_what_stands_between_events_may_have_been_one(tmp_path: Path, between: str) -> None:
    scan = capture(tmp_path, BEFORE + between + BEHIND).scan()
    wanted = [(0, 200_000, 700_000, 0), (1, 300_000, 800_000, 0)]
    assert gaps(scan) == wanted
    assert len({row["why"] for row in rows(scan["coverage"])}) == 1
    answer = Answer(tmp_path / "trace.txt")
    assert_conserved(answer)
    told = [(row["cpu"], row["start_ns"], row["end_ns"], row["lost"]) for row in answer.coverage]
    assert set(wanted) <= set(told)
    for cpu, start, end, _ in wanted:
        assert (start, end, "unknown") in answer.lane(cpu)
    assert any("between events" in note for note in scan_notes(answer))
    opened = netcost_analysis.open_capture(tmp_path / "trace.txt")
    assert opened.info["recorded"] == pytest.approx(0.5)
    assert opened.timeline().unknown_cpu_share == pytest.approx(0.5, abs=0.11)


def scan_notes(answer: Answer) -> list[str]:
    return list(answer.summary["notes"])


# Mails begin and end with words, recorders say what they do, and a message may have several lines.
def test_what_was_no_event_is_no_loss(tmp_path: Path) -> None:
    for text in (
        "From: me\n\nHere it is\n" + BEFORE + BEHIND + "-- \nbye\n",
        BEFORE + "\n# a comment\nCPU 7 is empty\n" + BEHIND,
        BEFORE + step(1, 400, "print: tracing_mark_write: first") + "second line\n" + BEHIND,
    ):
        assert gaps(capture(tmp_path, text).scan()) == []
        answer = Answer(tmp_path / "trace.txt")
        assert not any("between events" in note for note in scan_notes(answer))
        # At most what was before a CPU's first entry.
        assert all(row["start_ns"] == answer.window[0] for row in answer.coverage)


# The event of a damaged line is missing on its CPU alone, and there until the next one.
def test_a_damaged_line_is_a_gap_of_its_cpu(tmp_path: Path) -> None:
    damaged = step(0, 500, ENTRY.replace("vec=3", "v"))
    scan = capture(tmp_path, BEFORE + damaged + BEHIND).scan()
    assert [count for what, count in scan["records"].items() if "damaged" in what] == [1]
    assert gaps(scan) == [(0, 200_000, 700_000, 0)]


# The last event of a CPU, behind it a line that nobody can read, and events of others: what the CPU
# did until the end is not known.
def test_a_line_behind_a_cpus_last_event_reaches_to_the_end(tmp_path: Path) -> None:
    text = step(0, 100, ENTRY) + step(0, 200, EXIT) + step(1, 300, ENTRY) + "??\n"
    scan = capture(tmp_path, text + step(1, 800, EXIT)).scan()
    assert sorted(gaps(scan)) == [(0, 200_000, 800_000, 0), (1, 300_000, 800_000, 0)]


# Where no time is known, nothing has a length.
def test_a_text_without_times_has_gaps_of_no_length(netcost: Netcost, tmp_path: Path) -> None:
    for between in ("??", "CPU:0 [LOST 5 EVENTS]", "CPU:1 [LOST EVENTS]"):
        calls = " 0)               |  sys_open() {\n 1)   0.382 us    |    __might_sleep();\n"
        (tmp_path / "calls.txt").write_text(f"{calls}{between}\n{calls}")
        shown = netcost("info", str(tmp_path / "calls.txt"), "--json").json
        assert (shown["coverage"], shown["recorded"]) == ([], None)
        assert netcost("info", str(tmp_path / "calls.txt")).code == 0


# Every second line of millions on many CPUs: neither time nor memory grows with their product.
def test_many_such_lines_cost_little(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    cpus = "".join(step(cpu, 1, ENTRY) for cpu in range(1000))
    path.write_text(cpus + "".join(f"?\n{step(0, at, ENTRY)}" for at in range(2, 100_000)))
    assert bounded(path, "capture().scan()", seconds=5, megabytes=512) == "read"
