"""What networking costs a host's CPUs, and whom it takes the time from.

>>> import netcost_analysis as netcost
>>> timeline = netcost.open_capture("sample-data/nic-stolen-time").timeline()
>>> netcost.ledger(timeline).ns      # victim x thief, in nanoseconds
>>> netcost.stolen(timeline)         # per victim

open_capture takes a perf.data, a trace.dat, a copy of tracefs, a text of `perf script`, `trace-cmd
report` or ftrace, and a bundle, packed or not: from there on, all is the same for each of them.
mask writes any of them anew without the names of its host and tasks.

The names below are the public ones. They load on first use, so that a command which needs no pandas
pays for none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._native import CaptureError, __version__
    from .accounting import Accounting
    from .batches import (
        Exhaustion,
        KernelLimits,
        batch_sizes,
        irq_gaps,
        kernel_limits,
        long_softirqs,
        packet_costs,
        poll_costs,
        raise_delays,
        rps_dispatch,
        softirq_chains,
        softirq_runs,
        softirq_sizes,
        squeezes,
    )
    from .batches.rates import rate_curve
    from .bundle import Bundle
    from .capture import Capture, open_capture
    from .devices import (
        DeviceMatrix,
        assumed_rates,
        device_cost,
        device_flags,
        device_lines,
        device_matrix,
        device_saturation,
        device_time,
        device_traffic,
        interfaces,
    )
    from .doctor import (
        Iperf3,
        Netperf,
        TaskStat,
        accounts,
        cpu_accounts,
        parse_iperf3,
        parse_mpstat,
        parse_netperf,
        parse_pidstat,
        parse_schedstat,
        parse_task_stat,
    )
    from .doctor.hidden import HiddenCost, hidden_cost
    from .host import Snapshot
    from .looking import corrected_stolen, event_cost, tracing_cost
    from .losses import stolen
    from .masking import Masked, mask
    from .matrix import Ledger, ledger
    from .migration import migration_effect, migration_rates, migration_verdict, migrations
    from .processes import (
        client_and_server,
        context_switches,
        run_queue,
        softirq_time,
        traffic_owners,
        traffic_pairs,
    )
    from .series import Series, open_series
    from .stolen_time import (
        Episodes,
        Handovers,
        cost_classes,
        effective_share,
        episodes,
        handovers,
        queues,
        rolling_stolen,
        thieves,
    )
    from .timeline import Timeline
    from .victim import SpeedRun, estimates, parse_openssl_speed

# No module may be named as a public function: importing it would bind the module in its place.
_HOME = {
    "Accounting": "accounting",
    "Bundle": "bundle",
    "Capture": "capture",
    "CaptureError": "_native",
    "DeviceMatrix": "devices",
    "Episodes": "stolen_time",
    "Exhaustion": "batches",
    "Handovers": "stolen_time",
    "HiddenCost": "doctor.hidden",
    "Iperf3": "doctor",
    "KernelLimits": "batches",
    "Ledger": "matrix",
    "Masked": "masking",
    "Netperf": "doctor",
    "Snapshot": "host",
    "SpeedRun": "victim",
    "TaskStat": "doctor",
    "Series": "series",
    "Timeline": "timeline",
    "__version__": "_native",
    "accounts": "doctor",
    "assumed_rates": "devices",
    "batch_sizes": "batches",
    "client_and_server": "processes",
    "context_switches": "processes",
    "corrected_stolen": "looking",
    "cost_classes": "stolen_time",
    "cpu_accounts": "doctor",
    "device_cost": "devices",
    "device_flags": "devices",
    "device_lines": "devices",
    "device_matrix": "devices",
    "device_saturation": "devices",
    "device_time": "devices",
    "device_traffic": "devices",
    "effective_share": "stolen_time",
    "episodes": "stolen_time",
    "estimates": "victim",
    "event_cost": "looking",
    "handovers": "stolen_time",
    "hidden_cost": "doctor.hidden",
    "interfaces": "devices",
    "irq_gaps": "batches",
    "kernel_limits": "batches",
    "ledger": "matrix",
    "long_softirqs": "batches",
    "mask": "masking",
    "migration_effect": "migration",
    "migration_rates": "migration",
    "migration_verdict": "migration",
    "migrations": "migration",
    "open_capture": "capture",
    "open_series": "series",
    "packet_costs": "batches",
    "parse_iperf3": "doctor",
    "parse_mpstat": "doctor",
    "parse_netperf": "doctor",
    "parse_openssl_speed": "victim",
    "parse_pidstat": "doctor",
    "parse_schedstat": "doctor",
    "parse_task_stat": "doctor",
    "poll_costs": "batches",
    "queues": "stolen_time",
    "raise_delays": "batches",
    "rate_curve": "batches.rates",
    "rolling_stolen": "stolen_time",
    "rps_dispatch": "batches",
    "run_queue": "processes",
    "softirq_chains": "batches",
    "softirq_runs": "batches",
    "softirq_sizes": "batches",
    "softirq_time": "processes",
    "squeezes": "batches",
    "stolen": "losses",
    "thieves": "stolen_time",
    "tracing_cost": "looking",
    "traffic_owners": "processes",
    "traffic_pairs": "processes",
}

__all__ = [
    "Accounting",
    "Bundle",
    "Capture",
    "CaptureError",
    "DeviceMatrix",
    "Episodes",
    "Exhaustion",
    "Handovers",
    "HiddenCost",
    "Iperf3",
    "KernelLimits",
    "Ledger",
    "Masked",
    "Netperf",
    "Series",
    "Snapshot",
    "SpeedRun",
    "TaskStat",
    "Timeline",
    "__version__",
    "accounts",
    "assumed_rates",
    "batch_sizes",
    "client_and_server",
    "context_switches",
    "corrected_stolen",
    "cost_classes",
    "cpu_accounts",
    "device_cost",
    "device_flags",
    "device_lines",
    "device_matrix",
    "device_saturation",
    "device_time",
    "device_traffic",
    "effective_share",
    "episodes",
    "estimates",
    "event_cost",
    "handovers",
    "hidden_cost",
    "interfaces",
    "irq_gaps",
    "kernel_limits",
    "ledger",
    "long_softirqs",
    "mask",
    "migration_effect",
    "migration_rates",
    "migration_verdict",
    "migrations",
    "open_capture",
    "open_series",
    "packet_costs",
    "parse_iperf3",
    "parse_mpstat",
    "parse_netperf",
    "parse_openssl_speed",
    "parse_pidstat",
    "parse_schedstat",
    "parse_task_stat",
    "poll_costs",
    "queues",
    "raise_delays",
    "rate_curve",
    "rolling_stolen",
    "rps_dispatch",
    "run_queue",
    "softirq_chains",
    "softirq_runs",
    "softirq_sizes",
    "softirq_time",
    "squeezes",
    "stolen",
    "thieves",
    "tracing_cost",
    "traffic_owners",
    "traffic_pairs",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
