"""Many captures asked on an existing engine, Dask: their answers become a fleet's dataset.

found.py names the captures, fetched.py brings one to where it is read, answered.py asks it,
cluster.py has Dask's workers do that, and gather.py writes what they return.
"""
