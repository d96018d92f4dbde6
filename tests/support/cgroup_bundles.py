# A bundle whose list of the host's tasks puts its victim into a container: no sample has one.

import atexit
import shutil
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from support.host import ROOT
from support.kept import kept

SAMPLE = "veth-stolen-time"
CONTAINER = "/system.slice/docker-0123456789abcdef.scope"
_folders = ExitStack()
atexit.register(_folders.close)


@cache
def kept_cgroups() -> str:
    folder = Path(_folders.enter_context(TemporaryDirectory())) / SAMPLE
    shutil.copytree(ROOT / "sample-data" / SAMPLE, folder)
    told = kept(SAMPLE).timeline().sums()[["tid", "comm"]].dropna().drop_duplicates()
    lines = []
    for tid, comm in told.itertuples(index=False):
        lines += [f"{tid} ({comm}) S 1", f"{tid} threads {tid}"]
        lines += [f"{tid} cgroup {CONTAINER if comm == 'openssl' else '/user.slice'}"]
    for side in ("before", "after"):
        (folder / side / "settings").mkdir(parents=True, exist_ok=True)
        (folder / side / "settings" / "tasks").write_text("\n".join(lines) + "\n")
    return str(folder)
