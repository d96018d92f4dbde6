# What netcost-record says of itself; its scripts as text are looked at by `make lint`.

import re
import subprocess

from support.host import ROOT

CAPTURE = ROOT / "capture"


def test_help_names_every_profile() -> None:
    record = CAPTURE / "netcost-record"
    done = subprocess.run([record, "--help"], capture_output=True, text=True, check=True)
    profiles = re.search(r"of what each\s+consists: ([a-z -]+);", done.stdout)
    assert profiles
    kept = (CAPTURE / "profiles").iterdir()
    assert sorted(profiles[1].split()) == sorted(path.stem for path in kept)
