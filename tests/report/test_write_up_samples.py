# The write-up of recordings of samples alone: components in the place of the ledger's changes.

import json
from pathlib import Path

import pytest

from support.host import ROOT, SAMPLES
from support.run_cli import Netcost
from support.stacks import capture_of, stack

BASE, NEW = (
    str(SAMPLES / "io-sizes" / f"{name}.netcost.tar.zst") for name in ("tcp-1024", "tcp-16384")
)


def test_the_verdict_is_of_components(netcost: Netcost) -> None:
    run = netcost("compare", BASE, NEW)
    assert (run.code, run.err) == (0, "")
    text = " ".join(run.out.split())
    assert "what a packet costs rose by" in text.partition("What changed for each packet")[0]
    assert "Of samples alone: no ledger" in text
    assert "samples alone (note): the recordings have samples of functions and no ledger" in text
    assert "No verdict" not in text
    assert "Where CPU time went" not in text
    rows = [line for line in run.out.splitlines() if line.startswith("copy ")]
    assert rows[0].split()[1] == "ns"


@pytest.mark.parametrize("ending", [".txt", ".md", ".html"])
def test_every_form_has_it(netcost: Netcost, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"w{ending}"
    assert netcost("compare", BASE, NEW, "-o", str(target)).code == 0
    text = target.read_text()
    assert "What changed for each packet" in text
    assert "interrupts to other CPUs" in text
    assert ending != ".html" or "data:image/png" in text


def test_json_has_it_among_others(netcost: Netcost) -> None:
    found = netcost("compare", BASE, NEW, "--json").json
    assert found["verdict"].startswith("From ")
    assert (found["changes"], found["cost_tree"]) == ([], None)
    rows = found["others"]["component_changes"]["changes"]
    assert {row["weight_unit"] for row in rows} == {"ns"}
    declared = json.loads((ROOT / "docs" / "compare.schema.json").read_text())
    assert set(found) == set(declared["$defs"]["Document"]["properties"])


# What is of the ledger's changes has none to judge, in a line.
@pytest.mark.parametrize("words", [("--bench",), ("--fail-if", "victim_share < 40%")])
def test_what_needs_the_ledger_says_so(netcost: Netcost, words: tuple[str, ...]) -> None:
    run = netcost("compare", BASE, NEW, *words)
    assert run.code == 1
    assert len(run.err.splitlines()) == 1
    assert "no ledger" in run.err


# Without packets that were counted there is neither.
def test_bare_recordings_have_nothing_to_compare(netcost: Netcost, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a", "b")]
    for path in paths:
        capture_of(Path(path), stack("tcp_ack"))
    run = netcost("compare", *paths)
    assert run.code == 1
    assert len(run.err.splitlines()) == 1


# A trace is no samples: what the sides do not share cannot be compared.
def test_samples_and_a_trace_are_not_compared(netcost: Netcost) -> None:
    run = netcost("compare", BASE, str(SAMPLES / "veth-stolen-time"))
    assert run.code == 1
    assert len(run.err.splitlines()) == 1


# Where both are, both are shown.
def test_components_stand_behind_the_ledgers_changes(netcost: Netcost, tmp_path: Path) -> None:
    base = SAMPLES / "stolen-time-functions.netcost.tar.zst"
    other = tmp_path / "other.netcost.tar.zst"
    other.write_bytes(base.read_bytes())
    text = netcost("compare", str(base), str(other)).out
    assert text.index("Where CPU time went") < text.index("Component changes")
