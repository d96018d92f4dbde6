# netcost compare: whom it compares, the forms it writes, JSON by its schema, Go's benchmarks, and
# conditions whose exit status is for CI.

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pandas as pd
import pytest

from netcost_analysis import compare
from netcost_analysis.cli.compare_formats import Document
from netcost_analysis.display.export import json_schema
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.thresholds import parsed
from support.compared import compared_once, recorded
from support.host import ROOT, SAMPLES
from support.run_cli import Netcost
from support.texts import HOSTILE

UNTRACED = str(SAMPLES / "local-regression")
WHERE = ("network=loopback", "protocol=udp", "cpus=two", "rps=off", "program=iperf3")
SIDES = ("--base-where", "skb_defer_max=0", "--new-where=skb_defer_max=64")
DEFERRED = (UNTRACED, *(word for one in WHERE for word in ("--where", one)), *SIDES)


# Polls that take longer on the new side, by a fifth of what a packet costs.
@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    path = tmp_path_factory.mktemp("compared")
    base = recorded(path / "base.data", 1, packets=600)
    return str(base), str(recorded(path / "new.data", 2, poll_ns=5_000, packets=600))


@pytest.fixture(autouse=True, scope="module")
def compared() -> Iterator[None]:
    with compared_once():
        yield


def test_a_file_has_what_its_ending_says(
    netcost: Netcost, sides: tuple[str, str], tmp_path: Path
) -> None:
    printed = netcost("compare", *sides)
    assert (printed.code, printed.err) == (0, "")
    for ending, start in (("txt", "Subject: "), ("md", "# "), ("htm", "<!D")):
        out = tmp_path / f"out.{ending}"
        run = netcost("compare", *sides, "-o", str(out))
        assert (run.code, run.out) == (0, f"write-up in {out}\n")
        text = out.read_text()
        assert text.startswith(start)
        assert "network_ns_per_packet" in text
        assert (text == printed.out) == (ending == "txt")


def test_a_side_may_be_several_paths(netcost: Netcost, tmp_path: Path) -> None:
    more = [str(recorded(tmp_path / f"{seed}.data", seed, packets=100)) for seed in range(4)]
    one = netcost("compare", "--base", *more[:2], "--new", *more[2:], "--json").json
    assert [len(one[side]["runs"]) for side in ("base", "new")] == [2, 2]
    other = netcost(
        *("compare", "--base", more[0], "--base", more[1], f"--new={more[2]}", "--new", more[3]),
        "--json",
    ).json
    assert other["changes"] == one["changes"]
    # What it says it was called with makes it again.
    words = one["commands"][0].split()
    assert netcost(*words[1:], "--json").json == one


def test_labels_choose_runs(netcost: Netcost) -> None:
    run = netcost("compare", *DEFERRED, "--json").json
    assert [len(run[side]["runs"]) for side in ("base", "new")] == [10, 10]
    assert run["base"]["called"].endswith("_max=0")
    assert run["cost_tree"] is None
    [again] = [one for one in run["commands"] if one.startswith("capture/lab/local-regression ")]
    words = "-o local-regression --programs iperf3,sockperf --repeats 10 --traced 0"
    assert again.split()[1:] == words.split()
    # Of a label that is given twice either value.
    refused = netcost("compare", *DEFERRED, "--where", "network=veth")
    assert (refused.code, " network is " in refused.err) == (2, True)
    few = netcost(
        *("compare", *DEFERRED, "--where", "repeat=1", "--where", "repeat=2"),
        *("--fail-if", "received_bits_per_second > 1"),
    )
    assert (few.code, few.err.count("\n")) == (4, 1)
    assert "received_bits_per_second > 1" in few.err


def test_labels_and_a_window_are_given(netcost: Netcost, sides: tuple[str, str]) -> None:
    words = (*sides, "--label", "old", "new one", "--window", "trace")
    run = netcost("compare", *words, "--json").json
    assert [run[side]["called"] for side in ("base", "new")] == ["old", "new one"]
    assert run["subject"].endswith(": old -> new one")
    # Bare recordings do not say when a load ran; what the line offers is an option here.
    refused = netcost("compare", *sides, "--window", "load")
    assert (refused.code, refused.err.count("\n"), "load" in refused.err) == (1, 1, True)
    assert "--start" not in refused.err
    assert netcost("compare", *sides, "--label", "a", "a").code == 2


_NOT_OF_CASES = (("--bench",), ("--new-where", "rps=on"), ("--label", "a", "b"), ("--closes", "u"))


def test_cases_by_loads(netcost: Netcost, tmp_path: Path) -> None:
    words = (UNTRACED, *(word for one in WHERE if one != "rps=off" for word in ("--where", one)))
    by = ("--by", "skb_defer_max", "--base-where", "skb_defer_max=0")
    found = netcost("compare", *words, *by, "--json").json
    assert {(row["case"], row["load"]) for row in found["cases"]} == {
        (case, f"rps {rps}") for case in ("64", "128") for rps in ("off", "on")
    }
    out = tmp_path / "cases.md"
    assert netcost("compare", *words, *by, "-o", str(out)).code == 0
    assert out.read_text().startswith("# 2 cases of ")
    for wrong in (by[:2], *((*by, *more) for more in _NOT_OF_CASES)):
        refused = netcost("compare", *words, *wrong)
        assert (refused.code, refused.out) == (2, "")


def test_commits_have_their_titles(
    netcost: Netcost, sides: tuple[str, str], tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    git = ("git", "-C", str(clone), "-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", "init", "-q", str(clone)], check=True)
    made = ("commit", "-q", "--allow-empty", "-m", "net: generalize *lists*")
    subprocess.run([*git, *made], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True).stdout[:12]
    tags = ("--reported-by", "Robot <robot@example.org>", "--closes", "https://example.org/1")
    run = netcost(
        *("compare", *sides, "--git", str(clone), "--new-commit", "HEAD"),
        *("--base-commit", head, *tags),
    )
    lines = run.out.splitlines()
    for side in ("base", "new"):
        assert f'{side}: {head} ("net: generalize *lists*")' in lines
    assert "Reported-by: Robot <robot@example.org>" in lines
    assert "Closes: https://example.org/1" in lines
    missing = netcost("compare", *sides, "--git", str(clone), "--new-commit", "--all")
    assert (missing.code, missing.out, missing.err.count("\n")) == (2, "", 1)
    plain = netcost("compare", *sides, "--new-commit", "v6.1").out
    assert "new: v6.1" in plain.splitlines()


def test_a_path_that_begins_with_a_dash_is_a_path(
    netcost: Netcost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (0, 1):
        recorded(tmp_path / f"-{number}.data", number, packets=50)
    monkeypatch.chdir(tmp_path)
    run = netcost("compare", "--json", "--", "-0.data", "-1.data").json
    assert run["commands"][0].split()[2:] == ["./-0.data", "./-1.data"]


def test_the_document_fits_its_schema(netcost: Netcost, sides: tuple[str, str]) -> None:
    declared = json.loads((ROOT / "docs" / "compare.schema.json").read_text())
    assert declared == json.loads(json_schema(Document))
    for words in ((*sides, "--fail-if", "batch_mean > 100"), DEFERRED):
        made = netcost("compare", *words, "--json").json
        jsonschema.validate(made, declared)
    broken = {**made, "changes": [{**made["changes"][0], "differs": "perhaps"}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, declared)


def test_the_document_has_the_answers(netcost: Netcost, sides: tuple[str, str]) -> None:
    made = netcost("compare", *sides, "--json").json
    first = made["changes"][0]
    assert (first["metric"], first["is_primary"]) == ("network_ns_per_packet", True)
    assert (first["differs"], first["outcome"]) == ("yes", "worse")
    tree = made["cost_tree"]["tree"]
    assert tree[0]["new_ns"] == sum(row["new_ns"] for row in tree if row["level"] == 1)
    [recording] = made["base"]["runs"][0]["recordings"]
    digest = subprocess.run(["sha256sum", recording["path"]], capture_output=True, text=True)
    assert recording["sha256"] == digest.stdout.split()[0]
    assert recording["command"] == "perf record -a"
    # Every number has a place in JSON: what has no end has none.
    assert "Infinity" not in json.dumps(made)


def test_names_of_strangers_are_values(
    netcost: Netcost, sides: tuple[str, str], tmp_path: Path
) -> None:
    table = tmp_path / "runs.tsv"
    named = [name for name in HOSTILE if "\n" not in name]
    heads = (f"label {number} {name}" for number, name in enumerate(named))
    rows = [("path", "side", *heads)]
    rows += [(path, side, *named) for side, path in zip("ab", sides, strict=True)]
    table.write_text("".join("\t".join(row) + "\n" for row in rows))
    words = ("compare", str(table), "--base-where", "side=a", "--new-where", "side=b")
    made = netcost(*words, "--json").json
    assert set(named) <= set(made["base"]["runs"][0]["labels"].values())
    lines = netcost(*words, "--bench").out
    assert_benchmarks(lines)
    values = set(re.findall(r": (\S+)", lines))
    assert {name.split()[0] for name in named if name.isprintable()} <= values
    # "side" is the comparison's own key, and the label another.
    assert "\nside: base\n" in lines
    assert "\nside-2: a\n" in lines


# golang.org/design/14313-benchmark-format: keys, units and results.
BENCHMARK_LINE = re.compile(
    r"[a-z][^\sA-Z:]*:( .*)?|Unit \S+( \w+=\w+)+|Benchmark[^\sa-z]\S* \d+( [-+.\de]+ \S+)+|#.*|"
)


def assert_benchmarks(text: str) -> None:
    for line in text.splitlines():
        assert line.isprintable()
        assert BENCHMARK_LINE.fullmatch(line), line


def test_each_observation_is_a_benchmark(netcost: Netcost) -> None:
    out = netcost("compare", *DEFERRED, "--bench").out
    assert_benchmarks(out)
    steps = pd.read_csv(Path(UNTRACED) / "steps.tsv", sep="\t")
    alike = " and ".join("{} == '{}'".format(*one.split("=")) for one in WHERE)
    for part, value in zip(out.split("side: new"), (0, 64), strict=True):
        found = re.findall(r"^BenchmarkReceived_bits_per_second 1 (\S+) \S+$", part, re.M)
        wanted = steps.query(f"{alike} and skb_defer_max == {value}")["received_bits_per_second"]
        assert sorted(map(float, found)) == sorted(wanted)
    assert "Unit Received_bits_per_second better=higher" in out


def test_times_are_seconds(netcost: Netcost, sides: tuple[str, str]) -> None:
    out = netcost("compare", *sides, "--bench").out
    assert_benchmarks(out)
    assert "ns/packet" not in out
    values = re.findall(r"^BenchmarkNetwork_ns_per_packet 1 (\S+) sec/packet$", out, re.M)
    assert 4e-6 < float(values[0]) < 7e-6


def test_what_is_no_condition_is_refused() -> None:
    wrong = "", "x", "x >", "> 5", "x = 5", "x > y", "x > 5 %%", "f(x) > 5", "x > nan", "x > 1; y"
    for text in wrong:
        with pytest.raises(ArgumentError):
            parsed(text)


@pytest.fixture(scope="module")
def found(sides: tuple[str, str]) -> pd.DataFrame:
    return compare(*sides).ask.comparison.changes().frame


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        # The new side's figure is about 6.2 us, a fifth more than the base's.
        ("network_ns_per_packet > 5000", True),
        ("network_ns_per_packet>=+7.0E3", False),
        ("network_ns_per_packet < 7000", True),
        ("change(network_ns_per_packet) > 10%", True),
        ("  change( network_ns_per_packet )>.4 ", False),
        # Within its interval: it may be more, and may be less.
        ("change(network_ns_per_packet) > 19.6%", False),
        ("change(network_ns_per_packet) < 19.6%", False),
        # No change is as sure as any other: all of its interval is beyond.
        ("change(network_irq_ns_per_packet) > -90%", True),
        ("change(network_irq_ns_per_packet) <= 90%", True),
        ("change(network_irq_ns_per_packet) > 0%", False),
        ("stolen_share < 50%", True),
        ("change(batch_mean) > 1e9%", False),
    ],
)
def test_only_what_is_sure_fails(found: pd.DataFrame, condition: str, is_met: bool) -> None:
    judged = parsed(condition).of_changes(found)
    assert judged.met == is_met, judged


def test_one_of_several_conditions_is_enough(netcost: Netcost, sides: tuple[str, str]) -> None:
    unmet = ("--fail-if", "batch_mean > 100")
    run = netcost("compare", *sides, *unmet)
    assert (run.code, run.err.count("\n")) == (0, 1)
    run = netcost("compare", *sides, *unmet, "--fail-if", "network_ns_per_packet > 1", "--json")
    assert run.code == 3
    assert run.err.count("\n") == 2
    judged = json.loads(run.out)["conditions"]
    assert [one["met"] for one in judged] == [False, True]
    assert judged[1]["low"] > 1


@pytest.mark.parametrize(
    ("options", "condition", "code"),
    [
        ((), "stolen_share > 99%", 0),
        (("--json",), "stolen_share > 5%", 3),
        (("--victim", "openssl"), "stolen_network_ns > 1", 3),
    ],
)
def test_stolen_fails_of_its_victim(
    netcost: Netcost, options: tuple[str, ...], condition: str, code: int
) -> None:
    words = ("stolen", str(SAMPLES / "nic-stolen-time"), *options, "--fail-if", condition)
    assert netcost(*words).code == code


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        ("stolen_ns > 5", True),
        ("stolen_ns > 15", False),
        ("stolen_ns < 15", False),
        ("stolen_ns < 25", True),
        ("task_ns > 15", False),
        ("task_ns < 25", True),
    ],
)
def test_a_range_is_met_where_all_of_it_is(condition: str, is_met: bool) -> None:
    row = {"stolen_ns": 10, "stolen_max_ns": 20, "task_ns": 20, "task_min_ns": 10, "comm": "x"}
    assert parsed(condition).of_row(row).met == is_met
