# softnet_stat of a kernel before Linux 5.10, whose lines do not name their CPUs: all that is asked
# of it is answered as today's, and without a file that tells the CPUs nothing is said of one.

import shutil
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import open_capture
from support.host import ROOT

SAMPLE = ROOT / "sample-data" / "veth-stolen-time"
FILE = "net_softnet_stat"
ASKED = (
    ("batches", "squeezes"),
    ("batches", "rps_dispatch"),
    ("completeness", "completeness"),
    ("devices", "device_saturation"),
)


def of_old_kernel(folder: Path, *without: str) -> Any:
    shutil.copytree(SAMPLE, folder)
    for side in ("before", "after"):
        text = (folder / side / FILE).read_text()
        short = [" ".join(line.split()[:11]) for line in text.splitlines()]
        (folder / side / FILE).write_text("\n".join(short) + "\n")
        for name in without:
            (folder / side / name).unlink()
    return open_capture(folder).ask


@pytest.mark.parametrize(("topic", "name"), ASKED)
def test_lines_are_of_the_cpus_that_are_online(topic: str, name: str, tmp_path: Path) -> None:
    today = getattr(getattr(open_capture(SAMPLE).ask, topic), name)()
    old = getattr(getattr(of_old_kernel(tmp_path / "b"), topic), name)()
    assert (str(old.refusal), old.words) == (str(today.refusal), today.words)
    untold = getattr(getattr(of_old_kernel(tmp_path / "c", "stat", "interrupts"), topic), name)()
    assert str(untold.refusal) == str(today.refusal)
    assert set(untold.frame["cpu"].dropna()) <= set(today.frame["cpu"].dropna())
