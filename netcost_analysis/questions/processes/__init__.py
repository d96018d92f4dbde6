"""Whose softirqs these are: the process they ran in, and the process whose traffic it was.

softirq_time tells in which task's context softirqs ran, traffic_owners and traffic_pairs whose
packets they handled. If two processes of one host talk, client_and_server compares them, and
skb_frees tells in whose context their packets were freed. context_switches and run_queue tell how
the scheduler treated them: how often each left a CPU and why, and how long it waited for one.
"""

from .client_and_server import client_and_server as client_and_server
from .client_and_server import softirq_time as softirq_time
from .scheduling import context_switches as context_switches
from .scheduling import run_queue as run_queue
from .scheduling import scheduler_rates as scheduler_rates
from .skb_frees import skb_frees as skb_frees
from .traffic import traffic_owners as traffic_owners
from .traffic import traffic_pairs as traffic_pairs
