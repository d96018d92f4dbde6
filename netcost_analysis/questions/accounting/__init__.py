"""Accounting: every account of the same CPU time, and what each leaves out.

How much of its CPU did the victim get? Its own clock, top, mpstat, the trace and the work it got
done give five different answers. accounts compares them, and account_reasons tells why each can be
wrong under this kernel's configuration. hidden_cost estimates what an interrupt takes outside every
pair of tracepoints. hidden_cost_predictions tells whether that explains runs that it was not fitted
to. Hidden cost is shown beside traced time, and is never added to it.
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
