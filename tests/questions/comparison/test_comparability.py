# What rules find is carried on: into the verdict, into words of every form, into one table.

import json
from dataclasses import replace
from pathlib import Path

from netcost_analysis import compare
from netcost_analysis.comparison.run_set import RunSet
from netcost_analysis.questions.comparison.comparability import MEASURED, RULES, findings
from netcost_analysis.questions.comparison.rules_recording import unreadable
from support.host import ROOT
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.run_sets import compared, plain, recorded
from support.talking import Talk

HOSTILE = "<script>alert(1)</script>| `x` **b** \x1b[31m\n# {{ 7 * 7 }}"


def test_nothing_decides_what_comparability_refuses(tmp_path: Path) -> None:
    base = Talk(packets=800, hog_every=200, hog_ns=3_000, sleep_every=200, asleep_ns=2_000)
    new = replace(base, softirq_ns=4_500, move_every=10)
    paths = []
    for model, talk in (("EPYC", base), ("Xeon", new)):
        folder = tmp_path / model
        folder.mkdir()
        talk.write(folder / "perf.data")
        manifest = {"netcost_bundle": 1, "trace": "perf.data", "host": {"cpu_model": model}}
        (folder / "manifest.json").write_text(json.dumps(manifest))
        paths.append(folder)
    refused = compare(*paths).ask
    alike = compare(*(path / "perf.data" for path in paths)).ask
    columns = {"changes": "differs", "throughput_prediction": "agrees", "other_causes": "verdict"}
    for name, column in columns.items():
        answer, allowed = refused(name), alike(name)
        rows = answer.frame
        if name == "changes":
            # Whose time a processor's is says nothing of what was counted.
            counts = rows["metric"].isin(["batch_mean", "migrations_per_packet"])
            counts |= rows["metric"].isin(["switches_per_packet", "client_frees_share"])
            counts |= rows["metric"].eq("packets_per_s")
            assert "refused" not in set(rows.loc[counts, column])
            rows = rows[~counts]
        assert set(rows[column]) == {"refused"}
        assert "refused" not in set(allowed.frame[column])
        (why,) = answer.parts["refusals"]
        assert "EPYC" in why
        assert "Xeon" in why
        assert not allowed.parts["refusals"]
    # Nor do words tell a change of times that cannot be compared.
    for name in ("cost_tree", "throughput_prediction"):
        assert refused(name).words.startswith("**No verdict: ")
        for part in ("moved", "was added", "predicts", " +"):
            assert part not in refused(name).words
    changes, allowed = refused("changes").frame, alike("changes").frame
    assert set(changes.loc[changes["differs"] == "refused", "outcome"]) == {""}
    # Its figures are there all the same.
    assert changes["change"].iloc[0] == allowed["change"].iloc[0]
    assert allowed["differs"].iloc[0] == "yes"


def test_the_gravest_come_first_and_warnings_are_counted(tmp_path: Path) -> None:
    other = recorded(tmp_path / "b", mhz=2_650, host={"cpu_model": "Xeon"})
    ask = compared(plain(), other).ask
    answer = ask("comparability")
    assert list(answer.frame["severity"]) == ["refused", "warning", "note", "note"]
    assert list(answer.frame["code"][:2]) == ["processor", "clock_speed"]
    assert answer.parts["refusals"] == [answer.frame["why"].iloc[0]]
    assert (answer.parts["warnings"], ask("changes")["warnings"]) == (1, 1)


def test_runs_that_are_alike_are_counted_not_listed(tmp_path: Path) -> None:
    first = recorded(tmp_path / "a", ticks=(100, 50, 50))
    base = RunSet(replace(first, name=f"a{at}") for at in range(5))
    found = compared(base, plain("b")).ask.comparison.comparability()
    rows = found.frame[found.frame["code"] == "hypervisor"]
    assert (rows["found"].tolist(), set(rows["limit"])) == ([0.25] * 5, {0.01})
    assert found.words.count("- **hypervisor** (warning): the hypervisor took") == 3
    assert "- **hypervisor** (warning): the same of 2 more runs." in found.words


def test_hostile_names_are_text_in_every_form(tmp_path: Path) -> None:
    bad = h.Task(700, "<b>`|[x](y)\x1b")
    busy = cpu(0, h.Switch(10_000, bad), h.Switch(900_000, h.idle(0)), h.Switch(910_000, bad))
    labels = {"kernel": HOSTILE, "data_path": HOSTILE}
    plainly = dict.fromkeys(labels, "plain")
    base = recorded(tmp_path / "a", host={"sysctls": {HOSTILE: 1}}, labels=plainly)
    host = {"cpu_model": HOSTILE, "sysctls": {HOSTILE: HOSTILE}}
    new = recorded(tmp_path / "b", busy, host=host, command=HOSTILE, labels=labels)
    comparison = compared(base, new)
    assert {"processor", "settings", "labels", "load_command", "neighbour"} <= {
        one.code for one in findings(comparison)
    }
    for question in ("comparability", "changes", "runs_compared"):
        answer = comparison.ask(question)
        markdown, html = answer.words, answer._repr_html_()
        assert "<script>" not in markdown.replace("\\<script>", "")
        assert not [one for one in ("<script>", "<b>") if one in html]
        for text in (markdown, html, repr(answer)):
            assert not [one for one in ("\x1b", "\n# ", "# 49") if one in text]


# The definitions say what each rule takes.
def test_every_rule_is_defined() -> None:
    text = (ROOT / "docs" / "definitions.md").read_text()
    section = text[text.index("### Comparisons") :]
    rules = [rule.__name__ for rule in (unreadable, *RULES, *MEASURED)]
    assert not [name for name in rules if f"| `{name}` |" not in section]
