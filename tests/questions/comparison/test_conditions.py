# More than two sides: a planted case is found under its load, and nothing else is. And the control:
# is the change there too where client and server share one CPU?

import json
import re
from pathlib import Path

import numpy as np
import pytest

import netcost_analysis as netcost
from netcost_analysis import Run, RunSet
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.comparison.conditions import cases
from netcost_analysis.report.case_table import CaseTable
from netcost_analysis.units import signed_share
from support.texts import HOSTILE

METRIC = "received_bits_per_second"


def runs(planted: tuple[str, str] = ("64", "udp"), times: float = 0.5) -> RunSet:
    draw = np.random.default_rng(1)
    made = []
    for defer in ("0", "64", "128"):
        for protocol in ("udp", "tcp"):
            for at in range(7):
                value = 1e9 * (1 + 0.01 * draw.standard_normal())
                value *= times if (defer, protocol) == planted else 1.0
                labels = {"skb_defer_max": defer, "protocol": protocol, "repeat": str(at)}
                made.append(Run(f"{defer}/{protocol}/{at}", labels, {METRIC: value}))
    return RunSet(made)


def test_a_planted_case_differs_under_its_load() -> None:
    frame = cases(runs(), "skb_defer_max", 0)
    assert len(frame) == 4
    told = frame[frame["differs"] == "yes"]
    assert told[["case", "load"]].values.tolist() == [["64", "protocol udp"]]
    assert told["change"].iloc[0] == pytest.approx(-0.5, abs=0.02)
    # One correction over all.
    assert (frame["p_adjusted"] >= frame["p_value"]).all()


def test_a_base_may_be_any_case() -> None:
    frame = cases(runs(), "skb_defer_max", "64")
    assert set(frame["case"]) == {"0", "128"}
    assert set(frame.loc[frame["differs"] == "yes", "load"]) == {"protocol udp"}


@pytest.mark.parametrize(
    ("by", "base", "said"),
    [("skb_defer", "0", "skb_defer_max"), ("skb_defer_max", "1", "64"), ("repeat", "0", "repeat")],
)
def test_what_there_is_not_is_refused(by: str, base: str, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        cases(runs(), by, base)


def test_the_table_has_a_row_a_case_and_a_column_a_load() -> None:
    table = CaseTable(cases(runs(), "skb_defer_max", 0), "skb_defer_max", "0", ["netcost"])
    lines = table.text().splitlines()
    assert max(map(len, lines)) <= 72
    change = signed_share(table.rows.loc[table.rows["differs"] == "yes", "change"].iloc[0])
    rows = table.rows.set_index(["case", "load"])
    marks = {key: "=" if row["is_unchanged"] else "~" for key, row in rows.iterrows()} | {
        ("64", "protocol udp"): change
    }
    assert set(marks.values()) == {"=", change}
    for case in ("64", "128"):
        cells = [marks[case, f"protocol {name}"] for name in ("tcp", "udp")]
        assert [case, *" ".join(cells).split()] in [line.split() for line in lines]
    # The subject has the figure, the first sentence its interval and where it is.
    assert change in table.title
    assert change in table.verdict
    assert "skb_defer_max=64 in B" in table.verdict
    assert f"<title>{table.title}</title>" in table.html()
    assert change in table.markdown()


# One recording a side says nothing about other runs.
def test_cells_by_blocks_of_time_are_counted() -> None:
    rows = cases(runs(), "skb_defer_max", 0)
    repeats = CaseTable(rows, "skb_defer_max", "0", ["netcost"]).verdict
    rows.loc[rows["differs"] == "yes", "observed_in"] = "blocks"
    blocks = CaseTable(rows, "skb_defer_max", "0", ["netcost"]).verdict
    assert ("1 cell:" in repeats, "1 cell:" in blocks) == (False, True)


# What lasts a repeat, and moves both sides, hides a change that pairs show.
def test_cases_are_compared_by_pairs_where_asked() -> None:
    several = runs(times=0.97).where(protocol="udp")
    drift = {str(at): 1 + 0.1 * at for at in range(7)}
    drifting = RunSet(
        Run(run.name, run.labels, {METRIC: run.figures[METRIC] * drift[run.labels["repeat"]]})
        for run in several
    )
    told = [
        (cases(drifting, "skb_defer_max", 0, paired=paired)["differs"] == "yes").sum()
        for paired in (False, True)
    ]
    assert told == [0, 1]


# A label's name and its value are whatever somebody wrote into a table of steps.
@pytest.mark.parametrize("name", HOSTILE)
def test_a_table_of_cases_prints_no_control_characters(name: str) -> None:
    table = CaseTable(cases(runs(), "skb_defer_max", 0), name, name, ["netcost", name])
    for made in (table.text(), table.markdown(), table.html()):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", made)


def experiment(
    path: Path,
    two: float,
    one: float,
    count: int = 8,
    noise: float = 0.01,
    others: int = 0,
    label: str = "protocol",
) -> netcost.Experiment:
    # Defer 64 makes it so many times the throughput of defer 0, on two CPUs and on one. others:
    # values of the label of which it changes nothing.
    draw = np.random.default_rng(3)
    lines = [f"folder\trepeat\t{label}\tskb_defer_max\tcpus\treceived_bits_per_second"]
    for protocol in ("udp", *(f"other{number}" for number in range(others))):
        for cpus, whole, times in (("two", 2e9, two), ("one", 1e9, one)):
            for value, factor in ((0, 1.0), (64, times if protocol == "udp" else 1.0)):
                for repeat in range(count):
                    rate = whole * factor * np.exp(draw.normal(0, noise))
                    folder = f"repeats/{protocol}-{cpus}-{value}/{repeat}"
                    lines.append(f"{folder}\t{repeat}\t{protocol}\t{value}\t{cpus}\t{rate}")
    (path / "steps.tsv").write_text("\n".join(lines) + "\n")
    told = {"netcost_experiment": 1, "name": "control", "table": "steps.tsv"}
    (path / "experiment.json").write_text(json.dumps(told))
    return netcost.open_experiment(path)


@pytest.mark.parametrize(
    ("two", "one", "verdict"),
    [
        (0.87, 1.0, "gone"),
        (0.87, 0.87, "stays"),
        (0.87, 1.2, "reversed"),
        (1.0, 1.0, "nothing to explain"),
        (1.0, 0.8, "on one CPU only"),
    ],
)
def test_planted_changes_are_told(tmp_path: Path, two: float, one: float, verdict: str) -> None:
    found = experiment(tmp_path, two, one).ask.comparison.one_cpu_control()
    (row,) = found.frame.to_dict("records")
    assert (row["labels"], row["verdict"]) == ("udp", verdict)
    assert row["apart_low"] < one - two < row["apart_high"]
    changes = found.tables["changes"].set_index("control")["change"]
    assert changes.to_list() == pytest.approx([two - 1, one - 1], abs=0.02)
    assert f"**{verdict}**" in found.words


# Programs, say: two of them are no repeats of one condition.
def test_any_text_is_a_condition(tmp_path: Path) -> None:
    found = experiment(tmp_path, 0.8, 1.0, others=1, label="cable").ask.comparison.one_cpu_control()
    told = found.frame.set_index("labels")["verdict"]
    assert told.to_dict() == {"udp": "gone", "other0": "nothing to explain"}


def test_the_label_and_its_values_are_chosen(tmp_path: Path) -> None:
    ask = experiment(tmp_path, 0.8, 0.9).ask.comparison
    found = ask.one_cpu_control(base="64", new="0")
    assert (found["base_name"], found["new_name"]) == ("64", "0")
    changes = found.tables["changes"].set_index("control")["change"]
    assert changes.to_list() == pytest.approx([1 / 0.8 - 1, 1 / 0.9 - 1], abs=0.02)
    # The other way round: what one CPU changes, with deferral off and on.
    found = ask.one_cpu_control(compared="cpus", control="skb_defer_max", one="64", two="0")
    changes = found.tables["changes"].set_index("control")["change"]
    assert changes.to_list() == pytest.approx([2 - 1, 2 * 0.8 / 0.9 - 1], abs=0.02)


def test_few_repeats_and_wide_intervals_claim_nothing(tmp_path: Path) -> None:
    few = experiment(tmp_path, 0.5, 0.5, count=5).ask.comparison.one_cpu_control()
    assert few.frame["verdict"].to_list() == ["too few"]
    wide = experiment(tmp_path, 0.7, 1.0, noise=0.2).ask.comparison.one_cpu_control()
    assert wide.frame["verdict"].to_list() in (["unknown"], ["nothing to explain"])


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"compared": "skb_defer"}, "'skb_defer'.*skb_defer_max"),
        ({"base": "32"}, "skb_defer_max '32'.*0, 64"),
        ({"base": "64", "new": "64"}, "two values.*skb_defer_max"),
        ({"metric": "received"}, "'received'.*received_bits_per_second"),
        ({"one": "single"}, "cpus 'single'.*one, two"),
    ],
)
def test_what_there_is_not_is_said(tmp_path: Path, given: dict[str, str], wrong: str) -> None:
    with pytest.raises(ArgumentError, match=wrong):
        experiment(tmp_path, 1.0, 1.0, count=2).ask.comparison.one_cpu_control(**given)


# Alone its interval would exclude no change; of all conditions together that is chance.
def test_a_change_that_many_conditions_make_uncertain_is_not_called_none(tmp_path: Path) -> None:
    found = experiment(tmp_path, 0.83, 1.0, noise=0.08, others=7).ask.comparison
    control = found.one_cpu_control()
    rows = control.tables["changes"]
    first = rows[rows["labels"] == "udp"].set_index("control").loc["two"]
    assert first["change_high"] < 0
    assert (first["differs"], first["p_adjusted"] > 0.05) == ("no", True)
    assert control.frame.set_index("labels").loc["udp", "verdict"] == "unknown"
    # The reason has both chances, and how far one CPU is from two.
    assert f"of 16: p {first['p_adjusted']:.3f}" in control.words
    assert f"{first['p_value']:.3f}." in control.words
