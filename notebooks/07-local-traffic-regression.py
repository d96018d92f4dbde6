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
# # Local traffic became slower: is it true, where did the time go, and what was it not?
#
# A client and a server talk over loopback or veth. A change in the kernel (here: when a packet's
# buffer is freed, and on which CPU its receive path runs) changes their throughput. **Is there a
# change at all? Whose CPU time explains it? Was work added or only moved? Can the scheduler,
# migrations or interrupts be excluded as causes?**

# %% tags=["parameters"]
repeats = "../sample-data/local-regression"  # untraced repeats: what throughput is judged by
traced = "../sample-data/local-regression-traced"  # traced repeats: where the time went
where = {"network": "loopback", "protocol": "udp", "cpus": "two", "skb_defer_max": 0}
base = {"rps": "off"}
new = {"rps": "on"}

# %%
import netcost_analysis as netcost

untraced = netcost.compare(repeats, where=where, base_where=base, new_where=new)
recorded = netcost.compare(traced, where=where, base_where=base, new_where=new)

# %% [markdown]
# ## Is there a change?
#
# Only the repeats that were not traced are judged: tracing slows local traffic down, and perhaps
# one side more than the other. *~*: cannot be told from chance.

# %%
untraced.ask.comparison.changes()

# %% [markdown]
# ## May the sides be compared?
#
# The checks cover the machine, its clock, the order of the runs, drift, other programs, and the
# load. A finding that is *refused* means that no verdict is given.

# %%
recorded.ask.comparison.comparability()

# %% [markdown]
# ## What a packet costs on each side

# %%
recorded.ask.comparison.changes()

# %% [markdown]
# ## Where the CPU time went
#
# All time of all CPUs, divided by the packets that passed. Work that one process does less and
# another does more was moved; the rest of the change was added or saved.

# %%
recorded.ask.comparison.cost_tree()

# %% [markdown]
# ## Does that explain the throughput?
#
# The process that is always busy limits the throughput. Its extra time per packet predicts the
# change in throughput; the untraced repeats show the change that was measured.

# %%
recorded.ask.comparison.throughput_prediction()

# %% [markdown]
# ## What was it not?
#
# Each other possible cause, with its rate on both sides and the most that it can explain.

# %%
recorded.ask.comparison.other_causes()

# %% [markdown]
# The control: where client and server share one CPU, no work can move to another CPU. A change that
# is still there does not come from moved work.

# %%
netcost.open_experiment(repeats).ask.comparison.one_cpu_control(
    compared=next(iter(base)), base=str(*base.values()), new=str(*new.values())
)

# %% [markdown]
# ## How this was measured
#
# A figure is a ratio of sums over a run. With 6 repeats or more it is the mean over repeats, its
# interval has all changes that a permutation of these does not reject. The primary
# metric was named beforehand; all others are corrected for multiple comparisons. Full definitions:
# `docs/definitions.md`. `netcost compare` writes the same as a page, a text or JSON.

# %%
recorded.ask.comparison.runs_compared()

# %% [markdown]
# How to record both experiments again:

# %%
netcost.open_experiment(repeats).ask.sweep.made_by()

# %%
netcost.open_experiment(traced).ask.sweep.made_by()
