# How busy the machine was, as experiments note it: by the times of its programs.

import subprocess
from pathlib import Path

from support.host import ROOT

CAPTURE = ROOT / "capture"


# Whose parent has ended is init's child when it ends, and so are an experiment's own.
def test_what_init_reaped_is_not_its_own(tmp_path: Path) -> None:
    script = f'. {CAPTURE}/lib/processes.sh; . {CAPTURE}/lab/lib/busy.sh; host_times "$1"'
    subprocess.run(["sh", "-c", script, "sh", tmp_path / "times"], check=True)
    rows = [line.split() for line in (tmp_path / "times").read_text().splitlines()]
    programs = {row[1].partition("-")[0]: row[2:] for row in rows if row[0] == "program"}
    assert programs["1"][1] == "0"
    assert len(programs) > 1
