# The rules on what comes with the repository.

from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.host import SAMPLES

BESIDE = SAMPLES / "stolen-time-functions.netcost.tar.zst"
SAMPLED = [*sorted((SAMPLES / "io-sizes").glob("*.netcost.tar.zst")), BESIDE]


@pytest.mark.parametrize("path", SAMPLED, ids=lambda path: path.name.split(".")[0])
def test_rules_name_nearly_all_of_a_sample(path: Path) -> None:
    capture = open_capture(path)
    found = capture.ask.functions.components()
    assert found["kernel_samples"] > 2000
    assert found["unclassified_share"] < 0.05
    assert found["components"]["samples"].sum() == found["samples"]
    assert found["components"]["busy_share"].sum() == pytest.approx(1)
    rows = capture.ask.functions.functions().frame
    by = rows.groupby("component", observed=True)[["samples", "weight"]].sum()
    parts = found["components"].set_index("component")[["samples", "weight"]]
    assert by.to_dict() == parts.to_dict()
