"""Whose softirqs these are: the process they ran in, the process whose traffic they worked on.

softirq_time tells in whose context softirqs ran, traffic_owners and traffic_pairs for whose
packets. Where two processes talk on one host, client_and_server compares them, and skb_frees tells
in whose time their packets were freed. context_switches and run_queue tell how the scheduler
treated them: how often each left a CPU and why, and how long it waited for one.
"""

from .client_and_server import client_and_server, softirq_time
from .scheduling import context_switches, run_queue, scheduler_rates
from .skb_frees import skb_frees
from .traffic import traffic_owners, traffic_pairs

__all__ = [
    "client_and_server",
    "context_switches",
    "run_queue",
    "scheduler_rates",
    "skb_frees",
    "softirq_time",
    "traffic_owners",
    "traffic_pairs",
]
