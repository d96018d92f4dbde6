# Timelines of drawn CPUs, opened as a user does.

from pathlib import Path

import netcost_analysis as netcost
from support.perfdata import Cpu, recording
from support.told import KSOFTIRQD, OPENSSL, UDPSINK


def timeline(path: Path, *cpus: Cpu, **settings: object) -> netcost.Timeline:
    tasks = (OPENSSL, UDPSINK, KSOFTIRQD)
    file = recording(*cpus, known=tasks, **settings).write(path / "perf.data")
    return netcost.open_capture(file).timeline()
