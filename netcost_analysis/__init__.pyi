# The public names, once: __init__.py loads each from here on its first use.

from ._native import CaptureError as CaptureError
from ._native import __version__ as __version__
from .accounting import Accounting as Accounting
from .batches import (
    Exhaustion as Exhaustion,
)
from .batches import (
    KernelLimits as KernelLimits,
)
from .batches import (
    batch_sizes as batch_sizes,
)
from .batches import (
    irq_gaps as irq_gaps,
)
from .batches import (
    kernel_limits as kernel_limits,
)
from .batches import (
    long_softirqs as long_softirqs,
)
from .batches import (
    packet_costs as packet_costs,
)
from .batches import (
    poll_costs as poll_costs,
)
from .batches import (
    raise_delays as raise_delays,
)
from .batches import (
    rps_dispatch as rps_dispatch,
)
from .batches import (
    softirq_chains as softirq_chains,
)
from .batches import (
    softirq_runs as softirq_runs,
)
from .batches import (
    softirq_sizes as softirq_sizes,
)
from .batches import (
    squeezes as squeezes,
)
from .batches.rates import rate_curve as rate_curve
from .bundle import Bundle as Bundle
from .capture import Capture as Capture
from .capture import open_capture as open_capture
from .covering import Coverages as Coverages
from .covering import coverages as coverages
from .devices import (
    DeviceMatrix as DeviceMatrix,
)
from .devices import (
    assumed_rates as assumed_rates,
)
from .devices import (
    device_cost as device_cost,
)
from .devices import (
    device_flags as device_flags,
)
from .devices import (
    device_lines as device_lines,
)
from .devices import (
    device_matrix as device_matrix,
)
from .devices import (
    device_saturation as device_saturation,
)
from .devices import (
    device_time as device_time,
)
from .devices import (
    device_traffic as device_traffic,
)
from .devices import (
    interfaces as interfaces,
)
from .doctor import (
    Iperf3 as Iperf3,
)
from .doctor import (
    Netperf as Netperf,
)
from .doctor import (
    TaskStat as TaskStat,
)
from .doctor import (
    accounts as accounts,
)
from .doctor import (
    cpu_accounts as cpu_accounts,
)
from .doctor import (
    parse_iperf3 as parse_iperf3,
)
from .doctor import (
    parse_mpstat as parse_mpstat,
)
from .doctor import (
    parse_netperf as parse_netperf,
)
from .doctor import (
    parse_pidstat as parse_pidstat,
)
from .doctor import (
    parse_schedstat as parse_schedstat,
)
from .doctor import (
    parse_task_stat as parse_task_stat,
)
from .doctor.hidden import HiddenCost as HiddenCost
from .doctor.hidden import hidden_cost as hidden_cost
from .host import Snapshot as Snapshot
from .looking import (
    corrected_stolen as corrected_stolen,
)
from .looking import (
    event_cost as event_cost,
)
from .looking import (
    tracing_cost as tracing_cost,
)
from .losses import stolen as stolen
from .masking import Masked as Masked
from .masking import mask as mask
from .matrix import Ledger as Ledger
from .matrix import ledger as ledger
from .migration import (
    migration_effect as migration_effect,
)
from .migration import (
    migration_rates as migration_rates,
)
from .migration import (
    migration_verdict as migration_verdict,
)
from .migration import (
    migrations as migrations,
)
from .missed import Completeness as Completeness
from .missed import completeness as completeness
from .processes import (
    client_and_server as client_and_server,
)
from .processes import (
    context_switches as context_switches,
)
from .processes import (
    run_queue as run_queue,
)
from .processes import (
    softirq_time as softirq_time,
)
from .processes import (
    traffic_owners as traffic_owners,
)
from .processes import (
    traffic_pairs as traffic_pairs,
)
from .series import Series as Series
from .series import open_series as open_series
from .stolen_time import (
    Episodes as Episodes,
)
from .stolen_time import (
    Handovers as Handovers,
)
from .stolen_time import (
    NetworkCost as NetworkCost,
)
from .stolen_time import (
    cost_classes as cost_classes,
)
from .stolen_time import (
    effective_share as effective_share,
)
from .stolen_time import (
    episodes as episodes,
)
from .stolen_time import (
    handovers as handovers,
)
from .stolen_time import (
    lifetimes as lifetimes,
)
from .stolen_time import (
    network_cost as network_cost,
)
from .stolen_time import (
    queues as queues,
)
from .stolen_time import (
    rolling_stolen as rolling_stolen,
)
from .stolen_time import (
    thieves as thieves,
)
from .stolen_time import (
    waited_for as waited_for,
)
from .timeline import Timeline as Timeline
from .victim import (
    SpeedRun as SpeedRun,
)
from .victim import (
    estimates as estimates,
)
from .victim import (
    parse_openssl_speed as parse_openssl_speed,
)
