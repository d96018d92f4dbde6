"""How questions are declared and asked, and how answers are shown."""
