"""Asking many captures with Dask; the answers become a fleet's dataset.

sources.py lists the captures, ask_capture.py asks one, cluster.py runs that on Dask's workers, and
gather.py writes the results.
"""
