# What is found is carried on: into the verdict, into words of every form, into one table.

from dataclasses import replace
from pathlib import Path

import pytest

from netcost_analysis.comparison.run_set import RunSet
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.comparison.comparability import MEASURED, RULES, findings
from netcost_analysis.questions.comparison.rules_recording import unreadable
from support.host import ROOT
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.run_sets import compared, measured, only, plain, polling, recorded

HOSTILE = "<script>alert(1)</script>| `x` **b** \x1b[31m\n# {{ 7 * 7 }}"
STEADY = [100, 103, 99, 101, 98, 102]


def test_a_refused_comparison_has_no_verdict(tmp_path: Path) -> None:
    base = recorded(tmp_path / "a", polling(1_000))
    alike = compared(base, recorded(tmp_path / "b", polling(4_000))).ask.comparison.changes()
    assert alike["refusals"] == ()
    assert alike.frame["differs"].iloc[0] == "yes"
    other = recorded(tmp_path / "c", polling(4_000), host={"cpu_model": "Xeon"})
    refused = compared(base, other).ask.comparison.changes()
    (why,) = refused["refusals"]
    assert "EPYC" in why
    assert "Xeon" in why
    assert set(refused.frame["differs"]) == {"refused"}
    assert set(refused.frame["outcome"]) == {""}
    # Its figures are there all the same.
    assert refused.frame["change"].iloc[0] == alike.frame["change"].iloc[0]


def test_warnings_are_counted_beside_the_verdict(tmp_path: Path) -> None:
    base = plain()
    found = compared(base, recorded(tmp_path / "b", mhz=2_650)).ask.comparison.changes()
    assert found["warnings"] == 1
    quiet = compared(base, plain("b")).ask.comparison.changes()
    assert quiet["warnings"] == 0


def test_the_gravest_come_first(tmp_path: Path) -> None:
    other = recorded(tmp_path / "b", mhz=2_650, host={"cpu_model": "Xeon"})
    answer = compared(plain(), other).ask.comparison.comparability()
    assert list(answer.frame["severity"]) == ["refused", "warning", "note", "note"]
    assert list(answer.frame["code"][:2]) == ["processor", "clock_speed"]
    assert answer.parts["refusals"] == [answer.frame["why"].iloc[0]]
    assert answer.parts["warnings"] == 1


def test_nothing_found_is_said() -> None:
    places = range(0, 12, 2), range(1, 12, 2)
    sides = (measured(name, STEADY, rows) for name, rows in zip("ab", places, strict=True))
    answer = compared(*sides).ask.comparison.comparability()
    assert answer.frame.empty
    columns = ["code", "severity", "side", "of_run", "found", "limit", "why"]
    assert list(answer.frame.columns) == columns
    assert not answer["refusals"]


def test_runs_that_are_alike_are_counted_not_listed(tmp_path: Path) -> None:
    first = recorded(tmp_path / "a", ticks=(100, 50, 50))
    base = RunSet(replace(first, name=f"a{at}") for at in range(5))
    found = compared(base, recorded(tmp_path / "b")).ask.comparison.comparability()
    rows = found.frame[found.frame["code"] == "hypervisor"]
    assert (rows["found"].tolist(), set(rows["limit"])) == ([0.25] * 5, {0.01})
    assert found.words.count("- **hypervisor** (warning): the hypervisor took") == 3
    assert "- **hypervisor** (warning): the same of 2 more runs." in found.words


def test_hostile_names_are_text_in_every_form(tmp_path: Path) -> None:
    bad = h.Task(700, "<b>`|[x](y)\x1b")
    busy = cpu(0, h.Switch(10_000, bad), h.Switch(900_000, h.idle(0)), h.Switch(910_000, bad))
    host = {"cpu_model": HOSTILE, "sysctls": {HOSTILE: HOSTILE}}
    labels = {"kernel": HOSTILE, "data_path": HOSTILE}
    new = recorded(tmp_path / "b", busy, host=host, command=HOSTILE, labels=labels)
    base = recorded(
        tmp_path / "a", host={"sysctls": {HOSTILE: 1}}, labels=dict.fromkeys(labels, "plain")
    )
    comparison = compared(base, new)
    assert {"processor", "settings", "labels", "load_command", "neighbour"} <= {
        one.code for one in findings(comparison)
    }
    for question in ("comparability", "changes", "runs_compared"):
        answer = comparison.ask(question)
        markdown, html = answer.words, answer._repr_html_()
        assert "<script>" not in markdown.replace("\\<script>", "")
        assert "<script>" not in html
        assert "<b>" not in html
        for text in (markdown, html, repr(answer)):
            assert "\x1b" not in text
            assert "\n# " not in text
            assert "# 49" not in text


# Each rule has a name, a severity and a sentence, and the definitions say what it takes.
def test_every_rule_is_defined() -> None:
    text = (ROOT / "docs" / "definitions.md").read_text()
    section = text[text.index("### Comparisons") :]
    rules = [rule.__name__ for rule in (unreadable, *RULES, *MEASURED)]
    assert not [name for name in rules if f"| `{name}` |" not in section]


@pytest.mark.parametrize("option", [{"primary": "nothing_ns"}, {"per": "furlong"}])
def test_a_metric_or_unit_that_is_none_is_an_error(tmp_path: Path, option: dict[str, str]) -> None:
    comparison = compared(plain(), recorded(tmp_path / "b"), **option)
    with pytest.raises(ArgumentError):
        comparison.ask.comparison.comparability()


def test_the_clock_speeds_limit_is_given(tmp_path: Path) -> None:
    found = only(compared(plain(), recorded(tmp_path / "b", mhz=2_900)), "clock_speed")
    assert (round(found.found, 4), found.limit) == (0.1154, 0.05)
