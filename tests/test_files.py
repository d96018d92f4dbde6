# What cannot be written is told of the file that was asked for, and nothing is left beside it.

import errno
import os
import resource
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from netcost_analysis.files import replacing
from support.host import ROOT
from support.run_cli import Netcost

NIC = str(ROOT / "sample-data" / "nic-stolen-time")
WRITERS = {
    "x.csv": ("events", NIC, "napi:napi_poll"),
    "x.parquet": ("events", NIC, "napi:napi_poll"),
    "ledger.csv": ("ask", "ledger", NIC, "--table", "ns"),
    "x.perfetto-trace": ("convert", NIC),
    "x.md": ("report", NIC, "--notebook", "long.ipynb"),
}


# Executed sooner than one of the project's.
@pytest.fixture
def notebook(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("notebook")
    cells = [new_code_cell("path = ''", metadata={"tags": ["parameters"]})]
    cells += [new_markdown_cell("long " * 200)]
    nbformat.write(new_notebook(cells=cells), folder / "long.ipynb")
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_told_of_the_file(
    netcost: Netcost, name: str, tmp_path: Path, notebook: None
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # None of these files is as small.
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
    try:
        run = netcost(*WRITERS[name], "-o", str(tmp_path / name))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert run.code == 1
    assert run.err.endswith(f"{tmp_path / name}: {os.strerror(errno.EFBIG)}\n")
    assert list(tmp_path.iterdir()) == []


def test_what_is_read_meanwhile_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as failed, replacing(tmp_path / "out"):
        (tmp_path / "capture").read_bytes()
    assert failed.value.filename == str(tmp_path / "capture")
    with pytest.raises(FileNotFoundError) as failed, replacing(tmp_path / "no" / "out"):
        pass
    assert failed.value.filename == str(tmp_path / "no" / "out")
    assert list(tmp_path.iterdir()) == []
