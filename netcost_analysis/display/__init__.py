"""Formats frames and figures as text, HTML, CSV and Parquet."""
