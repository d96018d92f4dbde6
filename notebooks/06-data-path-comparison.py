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
# # Data paths compared: which costs less, at which rate, and where does it end?
#
# A bridge, XDP and Open vSwitch forward packets, at one rate after another. **Which path leaves
# more of its CPU to other tasks, and how much more at each rate? What does a second destination
# add? What limits the highest rate: the path, the CPU or the sender?**

# %% tags=["parameters"]
path = "../sample-data/datapath-sweep"  # what netcost.open_experiment takes

# %%
import netcost_analysis as netcost

sweep = netcost.open_experiment(path)

# %% [markdown]
# ## The answer
#
# The cost of a packet is the network's time on the CPU that works on it, in any context, divided by
# the packets that passed. Shares of a CPU are not compared, because at the highest rates one path
# forwards more packets than another, and so uses more CPU. *~*: cannot be distinguished from
# chance.

# %%
sweep.ask.sweep.cheaper_path()

# %% [markdown]
# ## What each rate costs
#
# Each step is measured on its victim's CPU while the victim ran. A colour is a data path. Dashed
# lines have two destinations, and hollow marks no victim. Bars are 95 % intervals.

# %%
sweep.ask.sweep.by_rate()

# %% [markdown]
# ## The same according to mpstat
#
# mpstat charges time by ticks, unless the kernel was built to measure it (see the notebook
# `accounting`). A softirq that interrupts a task for less than a tick is often charged to the
# task. `network share` comes from the trace.

# %%
sweep.ask.sweep.cpu_by_rate()

# %% [markdown]
# ## Where the curves end
#
# A path is saturated if packets are lost, if networking has all of the CPU, or if the victim is
# left with the half that the scheduler gives it. Saturation is predicted from what polls and
# packets cost at lower rates.

# %%
sweep.ask.sweep.saturation()

# %% [markdown]
# ## One destination and two

# %%
sweep.ask.sweep.destinations()

# %% [markdown]
# ## Why the curves bend
#
# For each rate there is the measured share, and the share expected from what polls and packets cost
# in the other steps of the curve.

# %%
sweep.ask.batches.rate_curve()

# %% [markdown]
# ## How this was measured
#
# A step's figures are ratios of sums over blocks of its time, with intervals by permutation of
# blocks. With 6 repeats or more a figure is the mean over repeats, and its interval is over
# these. Differences are tested by permutation and corrected for multiple comparisons. Counters of
# what was sent, received and dropped cover the load's whole run, and the trace covers the part in
# which the victim ran. The figures of all paths include the cost of tracing. Full definitions:
# `docs/definitions.md`.

# %%
sweep.ask.sweep.made_by()
