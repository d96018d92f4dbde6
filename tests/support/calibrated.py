# A recording with its calibration: the runs before it, each of its victim's outputs and counters.

import json
from pathlib import Path

import netcost_analysis as netcost
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK

SPEED = "Doing sha256 for 1s on {size} size blocks: {blocks} sha256's in 1.00s\n"
RUNS = {
    "idle": {1024: 1_000_000},
    "idle_traced": {1024: 995_000},
    "load": {1024: 600_000},
    "load_traced": {1024: 550_000},
}


# openssl | irq 32: raise | NET_RX | openssl                | waking  (end)
#      0 1000     1100  1500 1600    3000                      9000
# events at 0, 1000, 1100, 1500, 1600, 3000, 9000
def told(until: int = 9_000) -> Cpu:
    return cpu(
        0,
        h.Waking(0, UDPSINK),
        h.IrqEntry(1_000, 32),
        h.SoftirqRaise(1_100, NET_RX),
        h.IrqExit(1_500, 32),
        h.SoftirqEntry(1_600, NET_RX),
        h.SoftirqExit(3_000, NET_RX),
        h.Waking(until, UDPSINK),
        task=OPENSSL,
    )


# As many events as a calibration has, one in 13 us.
SPARSE = told(until=90_000)


# Of a run of a second the counters around it: packets and NET_RX on CPU 0.
def counted(folder: Path, packets: int, net_rx: int | None = None) -> None:
    readings = {"before": (0, 0, 0), "after": (10**9, packets, net_rx or packets)}
    for side, (at_ns, received, softirqs) in readings.items():
        (folder / side).mkdir(parents=True, exist_ok=True)
        columns = [f"{received:08x}", *["00000000"] * 14]
        (folder / side / "net_softnet_stat").write_text(" ".join(columns) + "\n")
        text = f"                    CPU0\n      NET_RX: {softirqs:>10}\n"
        (folder / side / "softirqs").write_text(text)
        stamp = [f"{name} {at_ns} {at_ns + 500_000}\n" for name in ("softirqs", "net_softnet_stat")]
        (folder / side / "stamp").write_text("".join(stamp))


# A bundle with its four runs, each of the victim's outputs given as blocks by size. loads: packets
# a second in the loaded runs, untraced and traced. cpus: what is recorded.
def calibrated(
    path: Path,
    loads: tuple[int, int] | None = (100_000, 100_000),
    cpus: tuple[Cpu, ...] = (SPARSE,),
    **runs: dict[int, int],
) -> netcost.Capture:
    folders = {
        "idle": "baseline",
        "idle_traced": "calibration/idle-traced",
        "load": "calibration/load",
        "load_traced": ".",
    }
    for name, blocks in runs.items():
        folder = path / folders[name]
        folder.mkdir(parents=True, exist_ok=True)
        output = "".join(SPEED.format(size=size, blocks=each) for size, each in blocks.items())
        (folder / "victim.txt").write_text(output)
        manifest: dict[str, object] = {
            "netcost_bundle": 1,
            "trace": None,
            "victim": {"command": "openssl speed", "cpu": 0, "output": "victim.txt"},
        }
        if name.endswith("traced"):
            known = tuple(one.first_task for one in cpus)
            recording(*cpus, known=known).write(folder / "trace.perf.data")
            manifest["trace"] = "trace.perf.data"
            manifest["victim"] |= {"start_ns": None, "end_ns": None}  # type: ignore[operator]
        if name == "load_traced":
            manifest["calibration"] = {key: f"{value}/" for key, value in folders.items()}
        (folder / "manifest.json").write_text(json.dumps(manifest))
    if loads:
        counted(path / folders["load"], loads[0])
        counted(path, loads[1])
    return netcost.open_capture(path)
