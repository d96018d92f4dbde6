"""What networking costs a host's CPUs, and whom it takes the time from.

>>> import netcost_analysis as netcost
>>> timeline = netcost.open_capture("sample-data/nic-stolen-time").timeline()
>>> netcost.ledger(timeline).ns      # victim x thief, in nanoseconds
>>> netcost.stolen(timeline)         # per victim

The names below are the public ones. They load on first use, so that a command which needs no pandas
pays for none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._native import CaptureError, __version__
    from .accounting import Accounting
    from .bundle import Bundle
    from .capture import Capture, open_capture
    from .host import Snapshot
    from .ledger import Ledger, ledger
    from .stolen import stolen
    from .timeline import Timeline
    from .victim import SpeedRun, estimates, parse_openssl_speed

_HOME = {
    "Accounting": "accounting",
    "Bundle": "bundle",
    "Capture": "capture",
    "CaptureError": "_native",
    "Ledger": "ledger",
    "Snapshot": "host",
    "SpeedRun": "victim",
    "Timeline": "timeline",
    "__version__": "_native",
    "estimates": "victim",
    "ledger": "ledger",
    "open_capture": "capture",
    "parse_openssl_speed": "victim",
    "stolen": "stolen",
}

__all__ = [
    "Accounting",
    "Bundle",
    "Capture",
    "CaptureError",
    "Ledger",
    "Snapshot",
    "SpeedRun",
    "Timeline",
    "__version__",
    "estimates",
    "ledger",
    "open_capture",
    "parse_openssl_speed",
    "stolen",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # import_module binds the submodule under its own name here, and two of them (ledger, stolen)
    # share it with their function: the public name is bound after the import, so the function wins.
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
