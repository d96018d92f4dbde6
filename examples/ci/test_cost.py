"""What a project's test looks like: head must not need more of the CPU for a message than base."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

BENCH = f"{sys.executable} {Path(__file__).with_name('bench.py')} 1"
# In how many datagrams head sends a message; 1 is what base does, 2 is a regression.
PIECES = os.environ.get("HEAD_PIECES", "1")


def test_a_message_costs_no_more(netcost_gate: Callable[..., None]) -> None:
    netcost_gate(
        base=f"{BENCH} 1",
        head=f"{BENCH} {PIECES}",
        condition="change(network_ns_per_work) > 20%",
        record="""--sidecars none --work 'cat "$NETCOST_FILES/done" 2>/dev/null || echo 0'""",
        compare="--per work --primary network_ns_per_work",
    )
