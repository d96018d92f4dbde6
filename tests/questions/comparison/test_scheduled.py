# What the scheduler did to tasks, block by block, adds up to what is said of the whole.

from typing import Any

import pytest

from netcost_analysis.questions.comparison.run_blocks import Blocks
from netcost_analysis.questions.comparison.tasks import scheduled
from support.asked import context_switches, run_queue
from support.kept import kept

WIDTH_NS = 20_000_000


@pytest.mark.parametrize(
    ("sample", "window"),
    [
        ("local-migrations.netcost.tar.zst", {"start_s": 0.2, "end_s": 0.5}),
        ("nic-guest/6.12-nic-2-flows.netcost.tar.zst", {}),
    ],
)
def test_blocks_add_up_to_the_whole(sample: str, window: dict[str, Any]) -> None:
    timeline = kept(sample).timeline(**window)
    start_ns, end_ns = (int(timeline.summary[name]) for name in ("start_ns", "end_ns"))
    first = start_ns // WIDTH_NS
    blocks = Blocks(WIDTH_NS, first, -(-end_ns // WIDTH_NS) - first)
    found = scheduled(timeline, blocks)
    assert found is not None
    assert found["block"].nunique() > 1
    sums = found.groupby("what")[["count", "ns"]].sum()
    switches = context_switches(timeline)
    for kind in ("voluntary", "involuntary"):
        assert sums["count"].get(kind, 0) == switches[kind].sum()
    waits = run_queue(timeline).groupby("waited_after")[["waits", "waited_ns"]].sum()
    for kind in ("wake-up", "runnable"):
        assert sums.loc[kind].to_list() == waits.loc[kind].to_list()
    slept = found[found["what"] == "asleep"]
    assert (slept.groupby("block")["ns"].sum() >= 0).all()
