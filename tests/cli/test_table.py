# What a terminal shows of a table: the columns that fit it, the important ones first.

import re
from collections.abc import Callable

import pytest

from netcost_analysis.answers.registry import questions
from netcost_analysis.cli.table import by_importance, fitting
from netcost_analysis.display.tables import Table
from support.host import ROOT
from support.kept import kept
from support.run_cli import Netcost, Run

NIC = str(ROOT / "sample-data" / "nic-stolen-time")
VETH = str(ROOT / "sample-data" / "veth-stolen-time")
Terminal = Callable[..., Run]
QUIET = str(ROOT / "sample-data" / "quiet-interface.netcost.tar.zst")


@pytest.fixture
def terminal(netcost: Netcost, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    def run(columns: int, *words: str) -> Run:
        monkeypatch.setenv("COLUMNS", str(columns))
        with monkeypatch.context() as only:
            only.setattr("sys.stdout.isatty", lambda: True)
            made = netcost(*words)
        return Run(made.code, re.sub(r"\x1b\[\d+m", "", made.out), made.err)

    return run


def head(run: Run, first: str) -> list[str]:
    assert run.code == 0, run.err
    return next(names_in(line) for line in run.out.splitlines() if line.startswith(first))


def names_in(line: str) -> list[str]:
    # Instants are headed "start, s".
    return line.replace(", s", ",s").split()


def titles(run: Run, column: str) -> list[str]:
    # Of the first table with that column; above it may stand its name.
    lines = map(names_in, run.out.splitlines())
    return next(names for names in lines if column in names)


@pytest.mark.parametrize(
    ("question", "path", "stays"),
    [
        ("stolen", NIC, ["comm", "stolen_share"]),
        ("device_traffic", QUIET, ["device", "rx_bytes_per_s"]),
        ("poll_costs", VETH, ["device", "fixed_ns", "marginal_ns"]),
    ],
)
def test_columns_are_chosen_by_width(
    terminal: Terminal,
    netcost: Netcost,
    monkeypatch: pytest.MonkeyPatch,
    question: str,
    path: str,
    stays: list[str],
) -> None:
    # Computed once.
    answer = kept(path).ask(question)
    monkeypatch.setattr("netcost_analysis.answers.ask.Ask.__call__", lambda *_, **__: answer)
    plain = netcost("ask", question, path)
    whole = titles(plain, stays[0])
    assert max(map(len, plain.out.splitlines())) > 110
    before: list[str] = []
    for columns in (80, 120, 200, 600):
        run = terminal(columns, "ask", question, path)
        assert max(map(len, run.out.splitlines())) <= columns
        shown = titles(run, stays[0])
        # A wider terminal has what a narrower one has, all in the table's own order.
        assert set(before) | set(stays) <= set(shown)
        assert shown == [name for name in whole if name in shown]
        left = len(whole) - len(shown)
        assert (f"({left} of {len(whole)} " in run.err) == (left > 0)
        assert all(len(line) <= 80 for line in run.err.splitlines())
        before = shown
    assert before == whole
    assert head(terminal(80, "ask", question, path, "--wide"), whole[0]) == whole


def test_a_pipe_has_every_column(netcost: Netcost, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = netcost("ask", "stolen", NIC).out
    monkeypatch.setenv("COLUMNS", "40")
    assert netcost("ask", "stolen", NIC).out == plain
    assert netcost("ask", "stolen", NIC, "--wide").out == plain


def test_a_narrow_terminal_keeps_what_questions_answer(terminal: Terminal) -> None:
    run = terminal(60, "ask", "--list")
    assert max(map(len, run.out.splitlines())) <= 60
    assert (head(run, "question"), run.err) == (["question", "answers"], "")


def test_chosen_columns(terminal: Terminal, netcost: Netcost) -> None:
    words = ("ask", "stolen", NIC, "--columns", "stolen_max_share, comm")
    # Of several tables the one that answers the question.
    for run in (terminal(20, *words), netcost(*words)):
        assert run.out.splitlines()[1] == "victims:"
        assert titles(run, "comm") == ["stolen_max_share", "comm"]
        assert "hidden" not in run.err
    [rows] = netcost(*words, "--json").json.values()
    assert list(rows[0]) == ["stolen_max_share", "comm"]
    assert 0 < rows[0]["stolen_max_share"] < 1
    matrix = ("ask", "ledger", NIC, "--table", "ns", "--columns", "NET_RX,comm")
    assert netcost(*matrix).out.split()[1:7] == [
        "comm",
        "NET_RX",
        "openssl",
        "9.16",
        "ms",
        "sh",
    ]
    events = ("events", NIC, "napi:napi_poll", "--columns", "work,time_ns", "--limit", "1")
    assert netcost(*events).out.split()[:3] == ["work", "time", "(s)"]
    assert netcost(*events, "--json").json == [{"work": 8, "time_ns": 17141481115}]


def test_events_fit_too(terminal: Terminal) -> None:
    words = ("events", NIC, "napi:napi_poll", "--limit", "1")
    run = terminal(80, *words)
    assert {"work", "dev_name"} <= set(head(run, "time"))
    assert "common_preempt_count" not in run.out
    assert max(map(len, run.out.splitlines())) <= 80
    assert "columns hidden" in run.err
    assert "common_preempt_count" in terminal(80, *words, "--wide").out


def test_stolen_fits_and_its_sentences_wrap_between_words(terminal: Terminal) -> None:
    run = terminal(80, "stolen", NIC)
    assert max(map(len, run.out.splitlines())) <= 80
    assert {"task", "share", "itself", "monitor"} <= set(head(run, "task"))
    assert re.match(r"\(\d of \d ", run.err)
    wide = terminal(80, "stolen", NIC, "--wide")
    assert ("displaced" in wide.out, wide.err) == (True, "")
    # A figure stays with its unit, a word whole, a note under itself.
    assert "31.5 %" in run.out
    assert re.search(r"^note: .*\n {6}\w", run.out, re.MULTILINE)


# The tutorial's reader sees the tutorial's columns, as far as there is room for them.
def test_a_ledger_has_the_same_victims_at_every_width(terminal: Terminal, netcost: Netcost) -> None:
    whole = head(netcost("ledger", NIC), "thief")
    for columns in (40, 80, 200, 300):
        run = terminal(columns, "ledger", NIC)
        shown = head(run, "thief")
        assert shown == whole[: len(shown)]
        assert ("columns hidden" in run.err) == (columns < 100)
    assert len(head(netcost("ledger", NIC, "--wide"), "thief")) > len(whole)


# Sentences of a table stand below their row: a pipe has no lines that nobody reads.
def test_a_pipe_wraps_sentences(netcost: Netcost) -> None:
    run = netcost("ask", "remedies", NIC)
    sentences = [line for line in run.out.splitlines() if re.match(r"  (\w+:|  )", line)]
    assert len(sentences) > 4
    assert max(map(len, sentences)) <= 80
    rows = netcost("ask", "remedies", NIC, "--json").json
    said = " ".join(run.out.split())
    assert all(" ".join(row["assumption"].split()) in said for row in rows)


def test_figures_by_name_keep_their_values(terminal: Terminal, netcost: Netcost) -> None:
    words = ("ask", "headline", NIC)
    run = terminal(40, *words)
    assert netcost(*words).out.split() == run.out.split()
    assert max(map(len, run.out.splitlines())) <= 40


def test_sentences_in_a_table_wrap(terminal: Terminal) -> None:
    run = terminal(80, "ask", "device_flags", QUIET)
    assert max(map(len, run.out.splitlines())) <= 80
    said = " ".join(run.out.split())
    assert re.search(r"same-mac warning busy0\b.*?quiet0", said)


def test_what_says_nothing_goes_first_and_the_first_column_last() -> None:
    table = Table(
        ["cpu", "blank", "zero", "ns", "ns_max", "share"],
        [["0", "", "0", "1 ms", "2 ms", "5.0 %"], ["0", "", "0", "3 ms", "4 ms", "<0.1 %"]],
    )
    names = [table.header[place] for place in by_importance(table, ["share", "blank"])]
    assert names == ["share", "cpu", "ns", "ns_max", "blank", "zero"]
    assert fitting(table, by_importance(table), 1) == [0]
    assert fitting(table, by_importance(table), 3 + 2 + 4) == [0, 3]


def test_shares_are_percent_and_fractions_to_programs(
    netcost: Netcost, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Computed once.
    answer = kept("local-migrations.netcost.tar.zst").ask("migration_effect")
    with monkeypatch.context() as only:
        only.setattr("netcost_analysis.answers.ask.Ask.__call__", lambda *_, **__: answer)
        rows = netcost("ask", "migration_effect", NIC).out.splitlines()
        fractions = netcost("ask", "migration_effect", NIC, "--json").json
    assert rows[1].count(" %") == 7
    assert abs(fractions[0]["effect"]) < 1
    for name in questions():
        assert not [one for one in questions()[name].shares if one.endswith("_share")]
