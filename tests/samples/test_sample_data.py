# The bundles that come with the repository: conserved, counted as perf counts, with the thief they
# are there for.

import json
from pathlib import Path

import pytest

from support.host import ROOT, require_tool
from support.native_tables import Answer, assert_conserved
from support.oracle import perf_script_counts

BUNDLES = sorted(path.parent for path in (ROOT / "sample-data").glob("*/manifest.json"))


def trace(bundle: Path) -> Path:
    return bundle / json.loads((bundle / "manifest.json").read_text())["trace"]


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.name)
def test_a_sample_bundle_conserves_and_names_its_thief(bundle: Path) -> None:
    got = Answer(trace(bundle))
    assert_conserved(got)
    robbed = [row for row in got.sums if (row["comm"] or "").startswith("openssl")]
    network = [
        row for row in robbed if row["is_network"] == "yes" and row["cost_class"] == "stolen"
    ]
    assert sum(row["ns"] for row in network) > 0.005 * sum(row["ns"] for row in robbed)
    assert got.scan["notes"] == [], "a sample is whole"


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.name)
def test_a_sample_bundle_is_counted_as_perf_counts_it(bundle: Path) -> None:
    require_tool("perf")
    counts = {
        name: count for name, count in Answer(trace(bundle), []).scan["events"].items() if count
    }
    assert counts == perf_script_counts(trace(bundle))


def test_there_are_two_and_each_is_small() -> None:
    assert len(BUNDLES) >= 2
    for bundle in BUNDLES:
        size = sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file())
        assert size < 3_000_000, bundle.name
