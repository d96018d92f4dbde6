"""Integers in bins whose counts add up: the same bins in every recording."""

import numpy as np
import numpy.typing as npt

from .resampling import Ints

# Of an octave. A bin is at most an eighth of its lower end wide.
PARTS = 8


def bins(values: Ints, parts: int = PARTS) -> tuple[Ints, Ints]:
    """The bin of each value: its lowest and its highest integer.

    Parameters
    ----------
    values : numpy.ndarray
        Integers, 0 or more.
    parts : int
        Of an octave, a power of two: a bin is at most one of so many parts of its lower end wide.

    Returns
    -------
    tuple of numpy.ndarray
        low and high, both within the bin. Below twice the parts each integer has a bin of its own;
        above, each power of two is parted into so many bins of the same width.

    Notes
    -----
    Log-linear bins, as HdrHistogram has them: they depend on nothing but the value, so that
    histograms of several recordings merge by adding their counts.
    """
    whole = np.asarray(values, dtype="int64")
    # The place of the highest bit; floats would round what is just below a power of two.
    exponent = np.zeros(whole.shape, dtype="int64")
    rest: npt.NDArray[np.int64] = whole.copy()
    for step in (32, 16, 8, 4, 2, 1):
        more = rest >= (np.int64(1) << step)
        exponent[more] += step
        rest[more] >>= step
    shift = np.maximum(exponent - (parts.bit_length() - 1), 0)
    low = (whole >> shift) << shift
    return low, low + (np.int64(1) << shift) - 1
