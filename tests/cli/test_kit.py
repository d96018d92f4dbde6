# netcost kit writes what is in capture/, as a folder and as one file.

import subprocess
import tarfile
from pathlib import Path

from support.host import ROOT
from support.run_cli import Netcost

KIT = ROOT / "capture"


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("[!.]*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_a_folder_and_one_file(netcost: Netcost, tmp_path: Path) -> None:
    folder, archive = tmp_path / "kit", tmp_path / "there.tar.gz"
    said = netcost("kit", str(folder), "--json").json
    assert files(folder) == files(KIT)
    assert said["files"] == len(files(KIT))
    assert netcost("kit", str(archive)).code == 0
    with tarfile.open(archive) as packed:
        assert {member.uid for member in packed} == {0}
        packed.extractall(tmp_path, filter="data")
    assert files(tmp_path / "there") == files(KIT)
    for kit in (folder, tmp_path / "there"):
        shown = subprocess.run([kit / "netcost-record", "--help"], capture_output=True, text=True)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert "netcost-record" in shown.stdout


def test_what_is_there_stays(netcost: Netcost, tmp_path: Path) -> None:
    for name in ("kit", "kit.tar.gz"):
        there = tmp_path / name
        there.write_text("mine")
        assert netcost("kit", str(there)).code == 2
        assert there.read_text() == "mine"
    assert netcost("kit", str(tmp_path / "none" / "kit")).code == 1
    for name in ("/", "..", ".tar.gz"):
        assert netcost("kit", name).code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kit", "kit.tar.gz"]
