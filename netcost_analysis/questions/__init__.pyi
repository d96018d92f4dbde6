# The topics, each imported on its first use.

from . import accounting as accounting
from . import batches as batches
from . import completeness as completeness
from . import counters as counters
from . import devices as devices
from . import energy as energy
from . import functions as functions
from . import ledger as ledger
from . import migration as migration
from . import network_cost as network_cost
from . import processes as processes
from . import stolen as stolen
from . import stolen_time as stolen_time
from . import tracing_overhead as tracing_overhead
