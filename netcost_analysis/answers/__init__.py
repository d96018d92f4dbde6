"""How a question is declared, how it is asked, and how its answer is shown."""
