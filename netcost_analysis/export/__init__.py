"""A capture's tables as a dataset of Parquet files, which other programs read without netcost."""
