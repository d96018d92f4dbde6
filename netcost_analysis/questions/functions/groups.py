# Groups of components, as Liao and Bhuyan part the work of a packet, and what is beside it.

from typing import Any

import pandas as pd

from ..samples.interrupts import HIDDEN, is_interrupt

# G. Liao, L. Bhuyan, J. Parallel Distrib. Comput. 72 (2012); and groups of the rest.
GROUPS = {
    "driver": ("driver rx", "driver tx"),
    "buffer release": ("buffer release",),
    "copy": ("copy",),
    "allocation": ("allocation",),
    "protocol": ("TCP", "UDP", "IP and routing"),
    "socket and calls": ("socket", "poll and epoll", "system call entry", "file descriptors"),
    "softirq and interrupts": (
        *("NAPI and softirq", "GRO", "interrupt entry", "interrupts to other CPUs"),
        *("qdisc", "timers"),
    ),
    HIDDEN: (HIDDEN,),
    "application": ("application",),
}
OTHER = "other"
# Not on a packet's way: what else runs on the host, the recorder's own programs among it.
ASIDE = ("file system", "block devices", "memory management", "processes", "tracing")
# What they found to be the largest, those of a NIC first.
NIC = ("driver", "buffer release")
MAJOR = (*NIC, "copy")
# How interrupts off are drawn: by what ran without them.
IPI, INTERRUPT, PATH = "another CPU's interrupt", "other interrupts", "the path's own"
_IPIS = ("call_function_single interrupt", "call_function interrupt", "reschedule interrupt")


def group_of(component: str) -> str:
    return next((name for name, of in GROUPS.items() if component in of), OTHER)


def is_aside(rows: pd.DataFrame) -> "pd.Series[bool]":
    # Whether a component is beside a packet's way; of interrupts off by what they were off in.
    return rows["component"].isin(ASIDE) | rows["interrupts_off_in"].isin(ASIDE)


def off_part(name: Any) -> str:
    # The part of interrupts off that a name in interrupts_off_in belongs to.
    if name in _IPIS:
        return IPI
    return INTERRUPT if is_interrupt(name) else PATH
