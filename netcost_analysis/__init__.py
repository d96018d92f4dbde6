"""What networking costs a host's CPUs, and whom it takes the time from.

>>> import netcost_analysis as netcost
>>> capture = netcost.open_capture("sample-data/nic-stolen-time")
>>> capture.ask                               # every question, and what is missing for it
>>> capture.ask.stolen_time.stolen().frame    # per victim, where its time on CPU went

open_capture takes a perf.data, a trace.dat, a copy of tracefs, a text of `perf script`, `trace-cmd
report` or ftrace, and a bundle, packed or not: from there on, all is the same for each of them.
mask writes any of them anew without the names of its host and tasks.

The public names are in __init__.pyi and load on first use, so that a command which needs no pandas
pays for none.
"""

from .stubs import attach

__getattr__, __dir__ = attach(__name__, __file__)
__all__ = __dir__()
