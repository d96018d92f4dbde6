"""The questions: each is a function of what was opened."""
