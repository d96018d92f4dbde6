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


# What the lab's streams do is seen: the larger the writes, the more of it is copying.
def test_copying_grows_with_the_size_of_the_writes() -> None:
    def copy_share(name: str) -> float:
        capture = open_capture(SAMPLES / "io-sizes" / f"{name}.netcost.tar.zst")
        rows = capture.ask.functions.components()["components"].set_index("component")
        return float(rows.loc["copy", "busy_share"])

    assert copy_share("udp-64") < copy_share("udp-16384") < copy_share("udp-65507")


# Of the other samples none has functions: where one gets them, it belongs above.
def test_samples_with_functions_are_those() -> None:
    assert len(SAMPLED) == 9
    folders = [path for path in SAMPLES.iterdir() if path.is_dir() and path.name != "io-sizes"]
    for folder in folders:
        for path in sorted(folder.glob("*.netcost.tar.zst"))[:1]:
            assert open_capture(path).ask.functions.components().refusal is not None, path
