"""Writes a capture's tables as Parquet files, which other programs read without netcost."""
