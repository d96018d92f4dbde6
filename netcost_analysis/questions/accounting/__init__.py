"""Accounting: every account of the same CPU time, and what each of them leaves out.

How much of its CPU did the victim get? Its own clock, top, mpstat, the trace and the work it got
done say five different things. accounts puts them side by side, each with the reason why it can be
wrong under this kernel's configuration (account_reasons); hidden_cost says what an interrupt takes
that no pair of tracepoints encloses, and hidden_cost_predictions whether that explains runs it was
not learnt from. What they say of hidden cost stands beside traced time, never in it.
"""

from .account_reasons import account_reasons
from .accounts import accounts
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
