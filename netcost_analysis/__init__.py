"""What networking costs a host's CPUs, and which tasks pay for it.

>>> import netcost_analysis as netcost
>>> capture = netcost.open_capture("sample-data/nic-stolen-time")
>>> capture.ask                               # every question, and what each one lacks here
>>> capture.ask.stolen_time.stolen().frame    # where each victim's time on CPU went

open_capture opens a perf.data, a trace.dat, a copy of tracefs, the text output of `perf script`,
`trace-cmd report` or ftrace, and a bundle, packed or not. The rest of the API is the same for all
of them. mask rewrites any of them without the names of its host and tasks.

The public names are in __init__.pyi and load on first use, so that a command that does not need
pandas does not import it.
"""

from .stubs import attach

__getattr__, __dir__ = attach(__name__, __file__)
__all__ = __dir__()
