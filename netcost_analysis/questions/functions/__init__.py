"""In which functions the CPUs were, and to which part of the kernel's work these belong.

Of samples with call graphs (netcost-record --profile functions, perf record -g), beside the
tracepoints or alone.
"""

from .components import components
from .functions import functions
from .unclassified import unclassified

__all__ = ["components", "functions", "unclassified"]
