"""Which calibration of the hidden cost is for a capture."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...capture.bundle import Bundle
    from ...opening.experiment import Experiment

# What two hosts have to have in common for one's price of an interrupt to be the other's.
_SAME = ("kernel", "arch", "cpu_model", "virtualization")


def same_host(bundle: "Bundle | None", experiment: "Experiment") -> bool:
    """Whether a bundle is of such a host as the calibration: kernel, processor, virtualization."""
    if bundle is None or not len(experiment.steps):
        return False
    first, second = (
        [getattr(one.manifest.host, key) for key in _SAME]
        for one in (bundle, first_bundle(experiment))
    )
    return all(first) and first == second


def first_bundle(experiment: "Experiment") -> "Bundle":
    """The bundle of its first step."""
    return experiment.bundle(str(experiment.steps["bundle"].iloc[0]))
