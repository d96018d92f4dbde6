# The wheel as each installer takes it, and the one for aarch64 under emulation. They need a package
# index; the second needs `make wheel-aarch64` and qemu-aarch64-static as well.

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from support.host import ROOT

pytestmark = pytest.mark.slow

SAMPLE = ROOT / "sample-data" / "nic-stolen-time"
ARM = "aarch64"
QEMU = "qemu-aarch64-static"
# What Python is in Debian, and what its interpreter loads.
ARM_PYTHON = (
    *("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libc6", "libexpat1"),
    *("libffi8", "libgcc-s1", "zlib1g", "libbz2-1.0", "liblzma5", "libuuid1"),
)
BASE = ("click>=8.1", "msgspec>=0.19", "rich>=13", "tqdm>=4.66")


def program(name: str) -> str:
    # Beside this Python, else wherever it is.
    place = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    found = shutil.which(name, path=place)
    assert found is not None, f"no {name} here"
    return found


def run(*words: str | Path, **environment: str) -> str:
    # Nobody is to find this repository's package.
    known = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    known |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment}
    known.pop("PIP_CONSTRAINT", None)
    done = subprocess.run(words, capture_output=True, text=True, env=known)
    assert done.returncode == 0, (words, done.stderr[-2000:])
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = sorted((ROOT / "build" / "wheels").glob(f"*_{platform.machine()}.whl"))
    if not made:
        # Not stripped, it is what `make` has built already.
        out = tmp_path_factory.mktemp("wheel")
        maturin = [program("maturin"), "build", "--quiet", "--release", "--strip=false"]
        manifest = ROOT / "native" / "python" / "Cargo.toml"
        run(*maturin, "--manifest-path", manifest, "--out", out, PYO3_PYTHON=sys.executable)
        made = [*out.glob("*.whl")]
    return made[-1]


def by_pip(wheel: Path, home: Path) -> list[str | Path]:
    run(sys.executable, "-m", "venv", home / "venv")
    run(home / "venv/bin/pip", "install", "--quiet", wheel)
    return [home / "venv/bin/netcost"]


def by_pipx(wheel: Path, home: Path) -> list[str | Path]:
    where = {"PIPX_HOME": str(home / "pipx"), "PIPX_BIN_DIR": str(home / "bin")}
    run(program("pipx"), "install", "--quiet", "--python", sys.executable, wheel, **where)
    return [home / "bin/netcost"]


def by_uv(wheel: Path, home: Path) -> list[str | Path]:
    where = {"UV_TOOL_DIR": str(home / "tools"), "UV_TOOL_BIN_DIR": str(home / "bin")}
    run(program("uv"), "tool", "install", "--quiet", "--python", sys.executable, wheel, **where)
    return [home / "bin/netcost"]


def by_uvx(wheel: Path, home: Path) -> list[str | Path]:
    return [program("uvx"), "--quiet", "--python", sys.executable, "--from", wheel, "netcost"]


@pytest.mark.parametrize("installed", [by_pip, by_pipx, by_uv, by_uvx])
def test_a_ledger_and_the_kit(
    installed: Callable[[Path, Path], list[str | Path]], wheel: Path, tmp_path: Path
) -> None:
    netcost = installed(wheel, tmp_path)
    ledger = run(*netcost, "ledger", SAMPLE, "--json")
    here = run(sys.executable, "-P", "-m", "netcost_analysis", "ledger", SAMPLE, "--json")
    assert ledger == here
    run(*netcost, "kit", tmp_path / "kit")
    assert "Usage" in run(tmp_path / "kit" / "netcost-record", "--help")


def test_the_wheel_holds_kit_and_notebooks(wheel: Path) -> None:
    with ZipFile(wheel) as packed:
        names = packed.namelist()
    notebooks = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
    assert sorted(Path(name).name for name in names if name.endswith(".ipynb")) == notebooks
    tracked = run("git", "-C", ROOT, "ls-files", "capture").splitlines()
    kit = {name for name in tracked if "/." not in name}
    there = {name.replace("netcost_analysis/kit", "capture") for name in names}
    assert kit <= there
    assert not [name for name in names if "sample-data" in name or name.endswith(".pyc")]


def test_aarch64_says_the_same(tmp_path: Path) -> None:
    made = sorted((ROOT / "build" / "wheels").glob(f"*_{ARM}.whl"))
    if not made or shutil.which(QEMU) is None:
        pytest.skip(f"make wheel-{ARM}, and {QEMU} (apt install qemu-user-static)")
    run(ROOT / ".ci" / "debian-root", tmp_path, *(f"{name}:arm64" for name in ARM_PYTHON))
    root, packages = tmp_path / "root", tmp_path / "packages"
    platforms = ("manylinux_2_17_aarch64", "manylinux2014_aarch64", "manylinux_2_28_aarch64")
    of_arm = [word for one in platforms for word in ("--platform", one)]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", packages]
    run(*pip, "--only-binary", ":all:", "--python-version", "3.11", *of_arm, made[-1], *BASE)
    python = [QEMU, "-L", root, root / "usr/bin/python3.11", "-P"]
    where = {"PYTHONHOME": str(root / "usr"), "PYTHONPATH": str(packages)}
    words = ["-m", "netcost_analysis", "ledger", SAMPLE, "--json"]
    assert run(*python, *words, **where) == run(sys.executable, "-P", *words)
