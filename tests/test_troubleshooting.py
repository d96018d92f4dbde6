# docs/troubleshooting.md has an entry for whatever a user can be told: kinds of errors, verdicts,
# notes, checks and refusals. An entry that nobody is told any more is none.

import re
from collections.abc import Iterable
from functools import cache

import pytest

from netcost_analysis.questions.completeness.verdicts import Compared, CounterRow, judged
from support import messages
from support.host import ROOT

PAGE = ROOT / "docs" / "troubleshooting.md"
# What a user's own recording or request meets; other refusals are of arguments in code.
_OF_USERS = (
    "ledger/refuse.rs",
    "packed/bounded.rs",
    "packed/mod.rs",
    "packed/sums.rs",
    "wrapped.rs",
    "perf/open.rs",
    "perf/newest_first.rs",
    "recording.rs",
)


def entries(*heads: str) -> list[str]:
    """The code spans of the first cells of tables with one of these heads."""
    found, head = [], ""
    for line in PAGE.read_text().splitlines():
        cell = line.split(" | ")[0].removeprefix("| ") if line.startswith("| ") else ""
        head = (head or cell) if cell else "" if not line.startswith("|") else head
        if cell != head and head in heads:
            found += re.findall(r"`([^`]+)`", cell)
    return found


def expression(entry: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, entry.split("…"))), re.DOTALL)


def assert_told(told: Iterable[str], heads: tuple[str, ...]) -> None:
    sentences = {one for one in told if one.strip(messages.GAP)}
    assert sentences
    listed = [expression(one) for one in entries(*heads)]
    missing = [one for one in sentences if not any(entry.search(one) for entry in listed)]
    assert not missing, "no entry in docs/troubleshooting.md for these"


@cache
def refused_to_users() -> list[str]:
    of_users = [
        text
        for file, kind, text in messages.native_refusals()
        if kind != "Refused" or file in _OF_USERS or text.startswith("nothing to account for")
    ]
    return [*of_users, *messages.ledger_refusals(), *messages.package_refusals()]


@cache
def noted() -> list[str]:
    found = [*messages.native_notes(), *messages.package_notes(), *messages.kit_notes()]
    return [text for _, text in found]


def test_every_note_is_explained() -> None:
    assert_told(noted(), ("note",))


def test_every_refusal_is_explained() -> None:
    assert_told(refused_to_users(), ("message",))


def test_every_check_is_explained() -> None:
    assert_told((text for _, text in messages.kit_checks()), ("check says",))


def test_every_reason_for_an_unknown_verdict_is_explained() -> None:
    assert_told(messages.unknown_verdicts(), ("unknown because",))


ROWS = [
    CounterRow("softirq", "NET_RX", 1, 100, 87, 87),
    CounterRow("switches", "ctxt", None, 1000, 993, 993),
]


@pytest.mark.parametrize(
    "compared",
    [
        judged([], 0),
        judged([], 1),
        judged([], 86_172),
        judged([], 0, some_lost=True),
        judged(ROWS[:1], 0),
        judged(ROWS[1:], 0),
    ],
)
def test_every_verdict_is_explained(compared: Compared) -> None:
    assert_told([compared.verdict.verdict], ("verdict",))


def test_every_kind_is_explained() -> None:
    known = re.findall(r'=> "(\w+)"', (ROOT / "native" / "src" / "error.rs").read_text())
    # Who stops a pass from Python gets the exception that did.
    assert sorted(one for one in entries("`kind`") if "_" in one or one.isalpha()) == sorted(
        {*known} - {"interrupted"}
    )


def test_no_entry_is_out_of_date() -> None:
    told = [*noted(), *refused_to_users(), *messages.unknown_verdicts()]
    told += [text for _, text in messages.kit_checks()]
    listed = entries("note", "message", "check says", "unknown because")
    stale = [one for one in listed if not any(expression(one).search(text) for text in told)]
    assert not stale


def test_what_native_hands_to_its_notes_is_looked_through() -> None:
    assert not list(messages.native_handed())
