"""A question and its answer: one mechanism each for what is declared, asked and shown."""
