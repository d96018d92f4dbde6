"""A fleet: answers to many captures, kept as Parquet tables that any program reads.

dataset.py says what they hold and how they are written and read, fleet.py is what is asked.
Captures are read and asked in netcost_analysis.gathering, above the questions.
"""
