# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Many captures: what costs most, where, and since when?
#
# Hosts are recorded each day, and `netcost fleet` asks all recordings the same questions. **On
# which hosts, kernels, devices and drivers does a packet cost most? Which captures differ from the
# others, and why? When did costs change?**

# %% tags=["parameters"]
path = "../sample-data/fleet"  # what netcost.open_fleet takes

# %%
import netcost_analysis as netcost

fleet = netcost.open_fleet(path)

# %% [markdown]
# ## What there is
#
# `sample-data/make-fleet` makes this notebook's own fleet of two samples: stretches of real
# recordings under other hosts' names, kernels and days. On one of the two kernels polls take 15 %
# longer from 11 March on.

# %%
fleet.ask.fleet.fleet_captures()

# %% [markdown]
# ## What changed, and when
#
# A series has the captures of one kernel and driver, in order of time. Each host's own level is
# subtracted first, so a host that is always expensive does not look like a change. If nothing
# changes, a series still has a change point in one case in a hundred.

# %%
fleet.ask.fleet.trend()

# %% [markdown]
# ## Captures far from others like them
#
# Each capture is compared with the others of its kernel and driver, by median and median absolute
# deviation.

# %%
fleet.ask.fleet.outliers()

# %% [markdown]
# ## What a packet costs, and how much time networking takes from tasks
#
# Figures are sums over all captures of a row. The line in a bar goes from its cheapest capture to
# its most expensive.

# %%
fleet.ask.fleet.by_kernel()

# %%
fleet.ask.fleet.by_driver()

# %%
fleet.ask.fleet.by_device()

# %%
fleet.ask.fleet.by_host()

# %% [markdown]
# ## All polls, all softirqs
#
# These are the histograms of all captures, added up. The sums are exact, because every capture has
# the same bins.

# %%
fleet.ask.fleet.fleet_poll_sizes()

# %%
fleet.ask.fleet.fleet_softirq_lengths()

# %% [markdown]
# ## What could not be read

# %%
fleet.ask.fleet.unreadable()

# %% [markdown]
# ## How this was made
#
# `netcost fleet PATH... -o DIR` asks each capture once and keeps its answers as Parquet tables,
# which pandas, Polars and DuckDB read as they are. `fleet.captures`, `.answers`, `.devices` and
# `.histograms` are these tables here. Full definitions: `docs/definitions.md`, `docs/scaling.md`.
