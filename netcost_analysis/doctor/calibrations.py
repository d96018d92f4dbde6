"""Which calibration of the hidden cost is for a capture."""

from pathlib import Path
from typing import TYPE_CHECKING

from .._native import CaptureError
from ..series import Series, is_series, open_series

if TYPE_CHECKING:
    from ..bundle import Bundle

# The source tree's; an installed wheel has no samples.
_SAMPLE = Path(__file__).resolve().parents[2] / "sample-data" / "hidden-cost"
# What two hosts have to have in common for one's price of an interrupt to be the other's.
_SAME = ("kernel", "arch", "cpu_model", "virtualization")


def calibration(path: str | None) -> Series:
    """The series at path, or the project's own sample. Raises CaptureError where there is none."""
    if path is None and not is_series(_SAMPLE):
        raise CaptureError(
            "no calibration is at hand: capture/lab/hidden-cost -o DIR records one, and the "
            "parameter series names it"
        )
    return open_series(_SAMPLE if path is None else path)


def same_host(bundle: "Bundle | None", series: Series) -> bool:
    """Whether a bundle is of such a host as the calibration: kernel, processor, virtualization."""
    if bundle is None or not len(series.steps):
        return False
    hosts = [one.manifest.get("host") for one in (bundle, first_bundle(series))]
    first, second = (host if isinstance(host, dict) else {} for host in hosts)
    return all(first.get(key) and first.get(key) == second.get(key) for key in _SAME)


def first_bundle(series: Series) -> "Bundle":
    return series.bundle(str(series.steps["bundle"].iloc[0]))
