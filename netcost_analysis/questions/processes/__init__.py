"""Whose softirqs these are: the process they ran in, the process whose traffic they worked on.

Document 003's question. Softirq time stands beside a process twice: in whose context it ran
(softirq_time), and for whose packets (traffic_owners, traffic_pairs). Where two processes talk on
one host, client_and_server sets the one against the other, and skb_frees says in whose time their
packets were freed. context_switches and run_queue say how the scheduler treated them: how often
each left a CPU and why, how long it waited for one.
"""

from .client_and_server import client_and_server
from .context_switches import context_switches
from .run_queue import run_queue
from .scheduler_rates import scheduler_rates
from .skb_frees import skb_frees
from .softirq_time import softirq_time
from .traffic_owners import traffic_owners
from .traffic_pairs import traffic_pairs

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
