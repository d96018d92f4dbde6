# Experiments under a locale whose numbers have a comma, as mawk then writes them, and of a kit in a
# folder of any name.

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from support.host import ROOT, missing, require_tool
from support.kit.lab import nothing_of_the_lab_left, require_lab, series
from support.kit.record import ended, manifest_of

pytestmark = [pytest.mark.alone, pytest.mark.slow]

NAME = "kit 'x' *[a]$(y);"


@pytest.fixture
def german(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "locales"
    folder.mkdir()
    made = subprocess.run(
        [require_tool("localedef"), "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"],
        capture_output=True,
        text=True,
    )
    if not (folder / "de_DE.UTF-8").is_dir():
        missing(f"needs the sources of the locale de_DE: {made.stderr.strip()[:200]}")
    locale = {"LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8"}
    said = subprocess.run(["printf", "%.1f", "1,5"], env=locale, capture_output=True, text=True)
    assert said.stdout == "1,5"
    return locale


def test_numbers_have_points_and_the_kits_folder_any_name(
    tmp_path: Path, german: dict[str, str]
) -> None:
    require_lab("iperf3", "ethtool")
    kit = tmp_path / NAME
    shutil.copytree(ROOT / "capture", kit)
    run = tmp_path / "run"
    run.mkdir()
    with nothing_of_the_lab_left(run) as environment:
        words = ["--duration", "2", "--intervals", "0.2,0.4", "--tool", "tracefs"]
        command = [kit / "lab/quiet-interface", "-o", run / "b *'", *words]
        done = ended(command, env={**environment, **german})
        assert done.returncode == 0, done.stderr
        manifest = manifest_of(run / "b *'")
        assert "sample-unevenly.sh" in manifest["load"]["command"]
        copies = (run / "b *'" / "files" / "net_dev").read_text().splitlines()
        assert sum(line.startswith("@ ") for line in copies) >= 3
        shutil.rmtree(run / "b *'")
        shutil.rmtree(run / "tmp")
        (run / "tmp").mkdir()


def test_a_series_in_german_can_be_read(tmp_path: Path, german: dict[str, str]) -> None:
    require_lab("cc", "openssl")
    with nothing_of_the_lab_left(tmp_path) as environment:
        words = ["--rates", "5000", "--repeats", "1", "--tool", "tracefs"]
        command = [ROOT / "capture/lab/hidden-cost", "-o", tmp_path / "out", *words]
        done = ended(command, env={**environment, **german})
        assert done.returncode == 0, done.stderr
    _, [row] = series(tmp_path / "out")
    for name, value in row.items():
        assert name == "bundle" or value.isdigit(), (name, value)
    for manifest in (tmp_path / "out").rglob("manifest.json"):
        assert json.loads(manifest.read_text())["netcost_bundle"] == 1
