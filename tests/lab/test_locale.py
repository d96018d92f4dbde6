# Experiments under a locale whose numbers have a comma, as mawk then writes them, and of a kit in a
# folder of any name.

import json
import shutil
from pathlib import Path

import pytest

from support.host import ROOT
from support.kit.awk import decimal_comma
from support.kit.lab import nothing_of_the_lab_left, require_lab, series
from support.kit.record import ended, manifest_of

pytestmark = [pytest.mark.alone, pytest.mark.slow]

NAME = "kit 'x' *[a]$(y);"


def test_numbers_have_points_and_the_kits_folder_any_name(tmp_path: Path) -> None:
    require_lab("iperf3", "ethtool")
    comma = decimal_comma(tmp_path / "locales")
    kit = tmp_path / NAME
    shutil.copytree(ROOT / "capture", kit)
    run = tmp_path / "run"
    run.mkdir()
    with nothing_of_the_lab_left(run) as environment:
        words = ["--duration", "2", "--intervals", "0.2,0.4", "--tool", "tracefs"]
        command = [kit / "lab/quiet-interface", "-o", run / "b *'", *words]
        done = ended(command, env={**environment, **comma})
        assert done.returncode == 0, done.stderr
        manifest = manifest_of(run / "b *'")
        assert "sample-unevenly.sh" in manifest["load"]["command"]
        copies = (run / "b *'" / "files" / "net_dev").read_text().splitlines()
        assert sum(line.startswith("@ ") for line in copies) >= 3
        shutil.rmtree(run / "b *'")
        shutil.rmtree(run / "tmp")
        (run / "tmp").mkdir()


def test_a_series_with_decimal_commas_can_be_read(tmp_path: Path) -> None:
    require_lab("cc", "openssl")
    comma = decimal_comma(tmp_path / "locales")
    with nothing_of_the_lab_left(tmp_path) as environment:
        words = ["--rates", "5000", "--repeats", "1", "--tool", "tracefs"]
        command = [ROOT / "capture/lab/hidden-cost", "-o", tmp_path / "out", *words]
        done = ended(command, env={**environment, **comma})
        assert done.returncode == 0, done.stderr
    _, [row] = series(tmp_path / "out")
    for name, value in row.items():
        assert name == "bundle" or value.isdigit(), (name, value)
    for manifest in (tmp_path / "out").rglob("manifest.json"):
        assert json.loads(manifest.read_text())["netcost_bundle"] == 1
