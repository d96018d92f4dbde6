"""Intervals, fits, tests and quantiles: pure functions of arrays."""
