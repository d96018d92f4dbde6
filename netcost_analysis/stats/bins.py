"""Integers in bins whose counts add up: the same bins in every recording."""

import numpy as np

from .resampling import Ints

# Of an octave. A bin is at most an eighth of its lower end wide.
PARTS = 8
_POWERS = np.int64(1) << np.arange(63)


def bins(values: Ints, parts: int = PARTS) -> tuple[Ints, Ints]:
    """The bin of each value, 0 or more: its lowest and its highest integer, both within it.

    parts: of an octave, a power of two. Below twice the parts each integer has a bin of its own;
    above, each power of two is parted into so many bins of the same width. These are log-linear
    bins, as HdrHistogram has them.
    """
    whole = np.asarray(values, dtype="int64")
    # The place of the highest bit; floats would round what is just below a power of two.
    exponent = np.searchsorted(_POWERS, whole, side="right") - 1
    shift = np.maximum(exponent - (parts.bit_length() - 1), 0)
    low = (whole >> shift) << shift
    return low, low + (np.int64(1) << shift) - 1
