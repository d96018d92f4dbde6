"""Accounting: every account of the same CPU time, and what each of them leaves out.

How much of its CPU did the victim get? Its own clock, top, mpstat, the trace and the work it got
done say five different things. accounts puts them side by side, each with the reason why it can be
wrong under this kernel's configuration (account_reasons); hidden_cost says what an interrupt takes
that no pair of tracepoints encloses, and hidden_cost_predictions whether that explains runs it was
not learnt from. What they say of hidden cost stands beside traced time, never in it.
"""

from ...parsers.iperf3 import Iperf3, parse_iperf3
from ...parsers.mpstat import parse_mpstat
from ...parsers.netperf import Netperf, parse_netperf
from ...parsers.pidstat import parse_pidstat
from ...parsers.proc_text import TaskStat, parse_schedstat, parse_task_stat
from .account_reasons import account_reasons
from .accounts import accounts
from .cpu_accounts import cpu_accounts
from .estimates import estimates
from .hidden_cost import HiddenCost, hidden_cost
from .hidden_cost_predictions import Predictions, hidden_cost_predictions

__all__ = [
    "HiddenCost",
    "Iperf3",
    "Netperf",
    "Predictions",
    "TaskStat",
    "account_reasons",
    "accounts",
    "cpu_accounts",
    "estimates",
    "hidden_cost",
    "hidden_cost_predictions",
    "parse_iperf3",
    "parse_mpstat",
    "parse_netperf",
    "parse_pidstat",
    "parse_schedstat",
    "parse_task_stat",
]
