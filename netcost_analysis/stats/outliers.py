"""Which observations are far from most: by the median and the median absolute deviation."""

import numpy as np

from .resampling import Floats

# So that it is the standard deviation where observations are normal.
_SCALE = 1.4826
# A deviation below this part of the median is taken for this: what is measured is no finer.
_FINEST = 0.01


def deviations(values: Floats) -> Floats:
    """How many robust standard deviations each of several positive figures is from their median.

    Parameters
    ----------
    values : numpy.ndarray
        Figures above 0: factors between them count, so their logarithms are compared.

    Returns
    -------
    numpy.ndarray
        Below 0 for what is less than the median.

    Notes
    -----
    1.4826 x the median absolute deviation is the standard deviation of a normal distribution, and
    half of the figures may be anything without moving it. A deviation is 1 % at least.
    """
    logs = np.log(values)
    off = logs - np.median(logs)
    scale = max(_SCALE * float(np.median(np.abs(off))), _FINEST)
    found: Floats = off / scale
    return found
