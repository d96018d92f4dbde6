"""The pictures. Each function draws tidy DataFrames on Axes; none opens a capture.

All share one palette (palette.py): blues for where time was spent, warm colours for at whose cost.
A module is imported on its first use, and matplotlib with it.
"""

from ..stubs import attach

__getattr__, __dir__ = attach(__name__, __file__)
__all__ = __dir__()
