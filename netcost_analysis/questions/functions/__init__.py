"""Which functions the CPUs ran, and which part of the kernel's work each belongs to.

Of samples with call graphs (netcost-record --profile functions, perf record -g), beside the
tracepoints or alone.
"""

from .component_changes import component_changes
from .components import components, functions, unclassified
from .components_by_size import components_by_size
from .counters_by_component import counters_by_component
from .findings import findings
from .interrupt_components import interrupt_components
from .memory_loads import memory_loads
from .packet_components import packet_components

__all__ = [
    "component_changes",
    "components",
    "components_by_size",
    "counters_by_component",
    "findings",
    "functions",
    "interrupt_components",
    "memory_loads",
    "packet_components",
    "unclassified",
]
