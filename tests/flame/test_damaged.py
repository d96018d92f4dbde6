# Bytes changed at random: a graph that adds up and can be read, or a refusal.

import json
import random
from pathlib import Path

import pytest

from netcost_analysis import CaptureError, open_capture
from netcost_analysis.errors import ArgumentError
from netcost_analysis.questions.functions.flame import graph, paths
from netcost_analysis.questions.functions.flame_formats import folded, speedscope, svg
from support.called import Called, write
from support.svg import parsed

TOLD = (
    Called(("user", "asm_sysvec_x", "handle_softirqs", "net_rx_action"), times=5),
    Called(("do_idle", "default_idle"), "swapper", 0, times=3),
    Called(("user",), "iperf3", 9),
)


@pytest.mark.parametrize("seed", range(4))
def test_damaged(tmp_path: Path, seed: int) -> None:
    draw, path, drawn = random.Random(seed), Path(write(tmp_path / "x", *TOLD)), 0
    files = [path / "data", path / "kcore_dir" / "kallsyms"]
    whole = [file.read_bytes() for file in files]
    for _ in range(40):
        for file, data in zip(files, whole, strict=True):
            bad = bytearray(data)
            for _ in range(draw.choice((0, 1, 2, 5))):
                bad[draw.randrange(len(bad))] = draw.choice((0, 1, 127, 255, draw.randrange(256)))
            file.write_bytes(bad)
        try:
            found = graph([paths(open_capture(path), "all")])
        except (CaptureError, ArgumentError):
            continue
        drawn += 1
        total = int(found.weights[0, 0])
        assert sum(int(line.rsplit(" ", 1)[1]) for line in folded(found)) == total
        [profile] = json.loads(speedscope(found, ["x"], "ns"))["profiles"]
        assert sum(profile["weights"]) == profile["endValue"] == total
        parsed(svg(found, "title", "sub", "ns"))
    # Most are read: otherwise little was tried.
    assert drawn > 20
