# What every question is asked of: the samples, and what is made where no sample has it.

import shutil
from collections.abc import Callable
from functools import cache
from typing import Any

from netcost_analysis import compare, open_capture, open_experiment, open_fleet
from netcost_analysis.answers.ask import Ask
from support.counter_captures import kept_counters
from support.energy_bundles import kept_energy
from support.host import SAMPLES, kept_folder
from support.kept import kept, kept_comparison, kept_experiment, kept_sizes
from support.load_captures import kept_loads

# A bundle whose list of the host's tasks puts its victim into a container: no sample has one.
SAMPLE = "veth-stolen-time"
CONTAINER = "/system.slice/docker-0123456789abcdef.scope"


@cache
def kept_cgroups() -> str:
    folder = kept_folder() / SAMPLE
    shutil.copytree(SAMPLES / SAMPLE, folder)
    told = kept(SAMPLE).timeline().sums()[["tid", "comm"]].dropna().drop_duplicates()
    lines = []
    for tid, comm in told.itertuples(index=False):
        lines += [f"{tid} ({comm}) S 1", f"{tid} threads {tid}"]
        lines += [f"{tid} cgroup {CONTAINER if comm == 'openssl' else '/user.slice'}"]
    for side in ("before", "after"):
        (folder / side / "settings").mkdir(parents=True, exist_ok=True)
        (folder / side / "settings" / "tasks").write_text("\n".join(lines) + "\n")
    return str(folder)


PACKED = ".netcost.tar.zst"
RECORDINGS = {
    "nic-stolen-time": "nic-stolen-time",
    "veth-stolen-time": "veth-stolen-time",
    "stolen-time-tcp": f"stolen-time-tcp{PACKED}",
    "stolen-time-top": f"stolen-time-top{PACKED}",
    "stolen-time-functions": f"stolen-time-functions{PACKED}",
    "local-migrations": f"local-migrations{PACKED}",
    "attached-service": f"attached-service{PACKED}",
    "quiet-interface": f"quiet-interface{PACKED}",
    "nic-guest-6.12": f"nic-guest/6.12-nic-2-flows{PACKED}",
    "io-sizes-tcp-64": f"io-sizes/tcp-64{PACKED}",
    "local-regression-udp": f"local-regression-traced/loopback-udp-defer64-rpsoff-twocpu-1{PACKED}",
}
# The samples that a question about every task is asked on.
ALL = [
    "nic-stolen-time",
    "stolen-time-tcp.netcost.tar.zst",
    "stolen-time-top.netcost.tar.zst",
    "veth-stolen-time",
    "local-migrations.netcost.tar.zst",
    "quiet-interface.netcost.tar.zst",
    "nic-guest/6.12-nic-1-flows.netcost.tar.zst",
    "local-regression-traced/loopback-udp-defer0-rpson-twocpu-1.netcost.tar.zst",
]
EXPERIMENTS = (
    *("datapath-sweep", "local-regression", "local-regression-traced", "io-sizes"),
    *("hidden-cost", "nic-guest", "flows"),
)
# No sample has an energy meter, a processor's counters or a list of the host's tasks.
MADE = {"cgroups": kept_cgroups, "counters": kept_counters, "memory-loads": kept_loads}


def kernels() -> Any:
    folder = SAMPLES / "nic-guest"
    base, new = (open_capture(folder / f"{one}-nic-1-flows{PACKED}") for one in ("6.1", "6.12"))
    return compare(base, new)


SUBJECTS: dict[str, Callable[[], Any]] = {
    # Opened anew: what a pass found out is noted once it was made.
    **{name: lambda path=path: open_capture(SAMPLES / path) for name, path in RECORDINGS.items()},
    **{name: lambda make=make: open_capture(make()) for name, make in MADE.items()},
    "energy": lambda: open_capture(kept_energy()[0]),
    "energy-by-size": lambda: open_experiment(kept_energy()[1]),
    **{f"{name}-steps": lambda name=name: kept_experiment(name) for name in EXPERIMENTS},
    "rps-off-and-on": kept_comparison,
    "two-sizes": kept_sizes,
    "two-kernels": kernels,
    "fleet": lambda: open_fleet(SAMPLES / "fleet"),
}


def asked_of(name: str) -> Ask:
    ask: Ask = SUBJECTS[name]().ask
    return ask
