# speedscope's own page opens what is written for it, in a browser without a window.

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from netcost_analysis.questions.samples.flame import graph, paths
from netcost_analysis.questions.samples.flame_formats import speedscope
from support.stacks import Called, write

# It takes a package from the index, and a browser its time.
pytestmark = pytest.mark.live

PACKAGE = "speedscope@1.25.0"
SHA512 = (
    "7297fd1d64d97f58a32d7049ae4f3b55eff9e2d9d8c7aae57f48144e1be7de8a"
    "24ea1eb784b5d539088c7f8e0f4fe5e8579d3770f7ef7e24f980fe6fa23a7a02"
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("speedscope")
    if shutil.which("npm") is None or not any(map(shutil.which, BROWSERS)):
        pytest.skip("no npm, or no browser")
    got = subprocess.run(["npm", "pack", PACKAGE], cwd=folder, capture_output=True, timeout=120)
    if got.returncode:
        pytest.skip("speedscope cannot be had from the package index")
    [packed] = folder.glob("*.tgz")
    assert hashlib.sha512(packed.read_bytes()).hexdigest() == SHA512
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package" / "dist" / "release" / "index.html"


# Of each function its total and its own, as the page's table of functions has them.
def shown(page: Path, folder: Path, profile: str) -> dict[str, tuple[str, str]]:
    data = json.dumps(base64.b64encode(profile.encode()).decode())
    script = folder / "load.js"
    script.write_text(f'speedscope.loadFileFromBase64("x.speedscope.json", {data})')
    command = [
        *(str(next(filter(None, map(shutil.which, BROWSERS)))), "--headless", "--no-sandbox"),
        *("--enable-unsafe-swiftshader", "--allow-file-access-from-files", "--dump-dom"),
        *(f"--user-data-dir={folder / 'browser'}", "--host-resolver-rules=MAP * ~NOTFOUND"),
        *("--virtual-time-budget=8000", f"file://{page}#view=sandwich&localProfilePath={script}"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "<title>mine - speedscope</title>" in done.stdout, done.stdout[-500:] + done.stderr
    words = [html.unescape(one) for one in re.findall(r">([^<>]+)<", done.stdout)]
    words = words[words.index("Symbol Name") + 1 :]
    share = re.compile(r"\S+ \([<\d.]+%\)")
    return {
        name: (total, own)
        for total, own, name in zip(words, words[1:], words[2:], strict=False)
        if share.fullmatch(total) and share.fullmatch(own)
    }


def test_speedscope_opens_it(page: Path, tmp_path: Path) -> None:
    told = [
        Called(("user", "asm_sysvec_x", "<b>f</b>", "leaf"), times=3),
        Called(("asm_sysvec_x",), comm="b;</script>", tid=9),
    ]
    side = paths(open_capture(write(tmp_path / "mine", *told)))
    found = shown(page, tmp_path, speedscope(graph([side]), ["mine"], "ns"))
    assert found == {
        "leaf": ("3.00ms (75%)", "3.00ms (75%)"),
        "asm_sysvec_x": ("4.00ms (100%)", "1.00ms (25%)"),
        "<b>f</b>": ("3.00ms (75%)", "0.00ns (<0.01%)"),
        "openssl": ("3.00ms (75%)", "0.00ns (<0.01%)"),
        "b:</script>": ("1.00ms (25%)", "0.00ns (<0.01%)"),
    }
