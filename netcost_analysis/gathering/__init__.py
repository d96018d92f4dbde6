"""Many captures asked on an existing engine, Dask: their answers become a fleet's dataset.

sources.py lists the captures, ask_capture.py asks one, cluster.py has Dask's workers do that, and
gather.py writes what they return.
"""
