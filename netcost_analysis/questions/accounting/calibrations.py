"""Which calibration of the hidden cost is for a capture."""

from typing import TYPE_CHECKING

from ..._native import CaptureError
from ...capture.experiment import Experiment, open_experiment

if TYPE_CHECKING:
    from ...capture.bundle import Bundle

# What two hosts have to have in common for one's price of an interrupt to be the other's.
_SAME = ("kernel", "arch", "cpu_model", "virtualization")


def calibration(path: str | None) -> Experiment:
    """The experiment at path. Raises CaptureError where there is none."""
    if path is None:
        raise CaptureError(
            "no calibration is at hand: capture/lab/hidden-cost -o DIR records one, and "
            "netcost report --experiment DIR takes it"
        )
    return open_experiment(path)


def same_host(bundle: "Bundle | None", series: Experiment) -> bool:
    """Whether a bundle is of such a host as the calibration: kernel, processor, virtualization."""
    if bundle is None or not len(series.steps):
        return False
    hosts = [one.manifest.get("host") for one in (bundle, first_bundle(series))]
    first, second = (host if isinstance(host, dict) else {} for host in hosts)
    return all(first.get(key) and first.get(key) == second.get(key) for key in _SAME)


def first_bundle(series: Experiment) -> "Bundle":
    return series.bundle(str(series.steps["bundle"].iloc[0]))
