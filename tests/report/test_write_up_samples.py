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
    assert "each packet" in text
    assert "samples alone (note):" in text
    assert "No verdict" not in text
    assert "CPU time went" not in text
    rows = [line for line in run.out.splitlines() if line.startswith("copy ")]
    assert rows[0].split()[1] == "ns"


@pytest.mark.parametrize("ending", [".md", ".html"])
def test_every_form_has_it(netcost: Netcost, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"w{ending}"
    assert netcost("compare", BASE, NEW, "-o", str(target)).code == 0
    text = target.read_text()
    assert "each packet" in text
    assert "interrupts to other" in text
    assert ending != ".html" or "data:image/png" in text


def test_json_has_it_among_others(netcost: Netcost) -> None:
    found = netcost("compare", BASE, NEW, "--json").json
    assert found["verdict"].startswith("From ")
    assert (found["changes"], found["cost_tree"]) == ([], None)
    rows = found["others"]["component_changes"]["changes"]
    assert {row["weight_unit"] for row in rows} == {"ns"}
    declared = json.loads((ROOT / "docs" / "compare.schema.json").read_text())
    assert set(found) == set(declared["$defs"]["Document"]["properties"])


# Without packets that were counted there is neither.
def test_bare_recordings_have_nothing_to_compare(netcost: Netcost, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a", "b")]
    for path in paths:
        capture_of(Path(path), stack("tcp_ack"))
    run = netcost("compare", *paths)
    assert run.code == 1
    assert len(run.err.splitlines()) == 1


# Where both are, both are shown.
def test_components_stand_behind_the_ledgers_changes(netcost: Netcost, tmp_path: Path) -> None:
    base = SAMPLES / "stolen-time-functions.netcost.tar.zst"
    other = tmp_path / "other.netcost.tar.zst"
    other.write_bytes(base.read_bytes())
    text = netcost("compare", str(base), str(other)).out
    assert text.index("CPU time went") < text.index("Component changes")
