"""Accounting: every account of the same CPU time, and what each of them leaves out.

How much of its CPU did the victim get? Its own clock, top, mpstat, the trace and the work it got
done give five different answers. accounts compares them, and account_reasons tells why each can be
wrong under this kernel's configuration. hidden_cost estimates what an interrupt takes that no pair
of tracepoints encloses, and hidden_cost_predictions whether that explains other runs than those it
was fitted to. Hidden cost stands beside traced time, and is never added to it.
"""

from .accounts import account_reasons, accounts
from .cpu_accounts import cpu_accounts
from .estimates import estimates
from .hidden_cost import hidden_cost
from .hidden_cost_predictions import hidden_cost_predictions

__all__ = [
    "account_reasons",
    "accounts",
    "cpu_accounts",
    "estimates",
    "hidden_cost",
    "hidden_cost_predictions",
]
