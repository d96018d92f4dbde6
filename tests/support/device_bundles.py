# Bundles made by hand for the questions about devices: a drawn recording with counters around it.

import json
from functools import cache
from pathlib import Path
from typing import Any

import netcost_analysis as netcost
from netcost_analysis.capture.bundle import Bundle
from support.host import write_files
from support.perfdata import Cpu, recording

S = 1_000_000_000
STAMP = "".join(
    f"{name} {{0}} {{0}}\n"
    for name in ("net_dev", "tc_qdisc.json", "ethtool/eth0/statistics", "net_softnet_stat")
)
HEAD = "Inter-|   Receive  |  Transmit\n face |bytes packets ...\n"


@cache
def opened(path: Path) -> netcost.Timeline:
    # A sample, unpacked and read once for all tests: questions change no timeline.
    return netcost.open_capture(path).timeline()


def net_dev(**counts: "tuple[int, int, int, int] | list[int]") -> str:
    # By interface (rx bytes, rx packets, tx bytes, tx packets), or all sixteen.
    lines = []
    for name, given in counts.items():
        row = list(given)
        if len(row) == 4:
            rx_bytes, rx_packets, tx_bytes, tx_packets = row
            row = [rx_bytes, rx_packets, 0, 0, 0, 0, 0, 0, tx_bytes, tx_packets, *[0] * 6]
        lines.append(f"  {name}: {' '.join(map(str, row))}\n")
    return HEAD + "".join(lines)


def full_stamps() -> dict[str, str]:
    return {
        f"{side}/{name}": text
        for at, side in ((S, "before"), (3 * S, "after"))
        for name, text in (("stamp", STAMP.format(at)), ("net_dev", net_dev(eth0=(at, 1, 0, 0))))
    }


def link(name: str, *flags: str, **fields: Any) -> dict[str, Any]:
    shown = {"ifname": name, "flags": list(flags or ("UP", "LOWER_UP")), "promiscuity": 0}
    return shown | {"address": f"02:00:00:00:00:{len(name):02x}"} | fields


def addressed(name: str, *scopes: str) -> dict[str, Any]:
    # Of link scope is a link-local one.
    nets = {scope: "169.254.2" if scope == "link" else "192.0.2" for scope in scopes}
    local = [
        {"family": "inet", "local": f"{nets[s]}.{i}", "scope": s} for i, s in enumerate(scopes)
    ]
    return {"ifname": name, "addr_info": local}


def bundle(folder: Path, files: dict[str, Any], *cpus: Cpu, **settings: Any) -> Bundle:
    # files: path to text, or to what is written as JSON.
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {"netcost_bundle": 1, "trace": "trace.perf.data"}
    files = {"manifest.json": manifest, **files}
    texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in files.items()}
    write_files(folder, texts)
    if cpus:
        known = tuple(one.first_task for one in cpus)
        recording(*cpus, known=known, **settings).write(folder / "trace.perf.data")
    return Bundle(folder)
