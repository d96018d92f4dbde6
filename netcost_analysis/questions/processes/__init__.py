"""Whose softirqs these are: the process they ran in, the process whose traffic they worked on.

softirq_time tells in whose context softirqs ran, traffic_owners and traffic_pairs for whose
packets. Where two processes talk on one host, client_and_server compares them, and skb_frees tells
in whose time their packets were freed. context_switches and run_queue tell how the scheduler
treated them: how often each left a CPU and why, and how long it waited for one.
"""

from .client_and_server import client_and_server as client_and_server
from .client_and_server import softirq_time as softirq_time
from .scheduling import context_switches as context_switches
from .scheduling import run_queue as run_queue
from .scheduling import scheduler_rates as scheduler_rates
from .skb_frees import skb_frees as skb_frees
from .traffic import traffic_owners as traffic_owners
from .traffic import traffic_pairs as traffic_pairs
