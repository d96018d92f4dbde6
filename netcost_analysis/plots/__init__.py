"""The pictures: each takes tidy DataFrames and an Axes, and draws; none opens a capture.

One palette (palette.py): blues for where time was spent, warm colours for at whose cost. A module
is imported on its first use, and matplotlib with it.
"""

from ..stubs import attach

__getattr__, __dir__ = attach(__name__, __file__)
__all__ = __dir__()
