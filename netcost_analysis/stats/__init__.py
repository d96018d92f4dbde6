"""Intervals, fits and quantiles: pure functions of arrays, each once."""
