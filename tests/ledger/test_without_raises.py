# Recordings without softirq_raise: common_preempt_count at softirq_entry tells where a softirq
# comes from, once sched_switch of the same recording has shown how the recorder counts.

from pathlib import Path

import pytest

from support.drawn import drawn, ledger_of
from support.perfdata.tracepoints import FORMATS

# An interrupt, NET_RX at its exit; NET_RX at the local_bh_enable of a send; an interrupt when idle.
TOLD = drawn(
    "CPU 0: 10 switch openssl, "
    "100 irq 25, 110 end irq 25, 120 NET_RX, 160 poll eth0 1, 170 end NET_RX, "
    "200 bh off, 210 NET_RX, 250 poll eth0 1, 260 end NET_RX, 270 bh on, 400 switch idle, "
    "500 irq 25, 510 end irq 25, 520 NET_RX, 560 poll eth0 1, 570 end NET_RX"
)
TAKEN = [("irq", "stolen"), ("unknown", "stolen_or_synchronous"), ("irq", "from_idle")]


@pytest.mark.parametrize("preemption", ["perf", "ftrace", "none"])
@pytest.mark.parametrize("missing", [(), ("sched:sched_switch",)], ids=["switches", "none"])
def test_the_depth_of_preemption_tells_the_origin(
    preemption: str, missing: tuple[str, ...], tmp_path: Path
) -> None:
    formats = tuple(one for one in FORMATS if one.event not in ("irq:softirq_raise", *missing))
    got = ledger_of(tmp_path, *TOLD, preemption=preemption, formats=formats)
    if missing:
        assert {row["origin"] for row in got.softirqs} == {"unknown"}
    else:
        assert [(row["origin"], row["cost_class"]) for row in got.softirqs] == TAKEN
