"""Run sets, which are recordings compared as one side, and comparisons of two."""
