"""Accounting doctor: every account of the same CPU time, and what each of them leaves out.

How much of its CPU did the victim get? Its own clock, top, mpstat, the trace and the work it got
done say five different things. accounts puts them side by side, each with the reason why it can be
wrong under this kernel's configuration; hidden_cost says what an interrupt takes that no pair of
tracepoints encloses, and whether that explains runs it was not learnt from. What they say of hidden
cost stands beside traced time, never in it.
"""

from ...parsers.iperf3 import Iperf3, parse_iperf3
from ...parsers.mpstat import parse_mpstat
from ...parsers.netperf import Netperf, parse_netperf
from ...parsers.pidstat import parse_pidstat
from ...parsers.proc_text import TaskStat, parse_schedstat, parse_task_stat
from .cpu_kinds import cpu_accounts
from .estimates import estimates
from .hidden import HiddenCost, hidden_cost
from .side_by_side import accounts

__all__ = [
    "HiddenCost",
    "Iperf3",
    "Netperf",
    "TaskStat",
    "accounts",
    "cpu_accounts",
    "estimates",
    "hidden_cost",
    "parse_iperf3",
    "parse_mpstat",
    "parse_netperf",
    "parse_pidstat",
    "parse_schedstat",
    "parse_task_stat",
]
