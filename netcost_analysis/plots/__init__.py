"""The pictures: each takes tidy DataFrames and an Axes, and draws; none opens a capture.

One palette (palette.py): blues for where time was spent, warm colours for at whose cost.
"""
