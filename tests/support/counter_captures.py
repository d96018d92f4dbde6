# Captures of several sampled events with known answers: no machine that tests run on has such
# counters.

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

from netcost_analysis import Capture, open_capture
from support.device_bundles import bundle, net_dev
from support.host import kept_folder
from support.perfdata import Attr
from support.perfdata.attr import TYPE_CACHE, TYPE_HARDWARE
from support.stacks import CYCLES, Stack, capture_of, stack

S, MS = 1_000_000_000, 1_000_000
BEFORE, AFTER = (1 * S, 1 * S + MS), (3 * S, 3 * S + MS)
PACKETS = 1_000
NAMES = ("cycles", "instructions", "cache-misses", "dTLB-load-misses", "stalled-cycles-backend")


def attrs(*names: str, clock: str | None = "monotonic") -> list[Attr]:
    kinds = {"dTLB-load-misses": TYPE_CACHE}
    made = replace(CYCLES, clock=clock)
    return [
        replace(
            made,
            name=name,
            config=place,
            ids=(10 + place,),
            type=kinds.get(name.partition(":")[0], TYPE_HARDWARE),
        )
        for place, name in enumerate(names)
    ]


# Of 4 s those between 1 s and 3 s are between the readings of net/dev. Each 10 ms a sample of each
# event, in turns in the copy, in TCP twice, and idle. periods: of each event what a sample of the
# copy, of TCP and of idle stands for.
PERIODS = {
    "cycles": (1_000_000, 1_000_000, 1_000_000),
    "instructions": (500_000, 2_000_000, 1_000_000),
    "cache-misses": (30_000, 10_000, 1),
    "dTLB-load-misses": (1_000, 2_000, 1),
    "stalled-cycles-backend": (800_000, 250_000, 1),
}


def told(*names: str) -> list[Stack]:
    paths = (("_copy_to_iter", 0), ("tcp_v4_rcv", 1), ("tcp_v4_rcv", 1), ("default_idle", 2))
    return [
        stack(
            path,
            time_ns=number * 10 * MS,
            period=PERIODS[name.partition(":")[0]][column],
            event=place,
        )
        for number in range(400)
        for path, column in [paths[number % 4]]
        for place, name in enumerate(names)
    ]


# files: what else is in the bundle, or other texts of what is.
def bundle_of(folder: Path, *stacks: Stack, attrs_: list[Attr], **files: str) -> Capture:
    capture_of(folder / "made", *stacks, attrs=attrs_)
    path, stamps = folder / "b", {"before": BEFORE, "after": AFTER}
    readings = {f"{side}/stamp": f"net_dev {at[0]} {at[1]}\n" for side, at in stamps.items()}
    bundle(
        path,
        {
            "manifest.json": json.dumps({"netcost_bundle": 1, "trace": "functions.perf.data"}),
            "before/net_dev": net_dev(eth0=(0, 10, 0, 0), lo=(0, 0, 0, 0)),
            "after/net_dev": net_dev(eth0=(2_500_000, 10 + PACKETS, 500, 5), lo=(9, 9, 9, 9)),
            **readings,
            **files,
        },
    )
    (folder / "made").rename(path / "functions.perf.data")
    return open_capture(path)


def counted(folder: Path, *names: str) -> Capture:
    named = names or NAMES
    return bundle_of(folder, *told(*named), attrs_=attrs(*named))


# For tests that ask every question of something that answers it: a path.
@cache
def kept_counters() -> str:
    return str(counted(kept_folder()).path)
