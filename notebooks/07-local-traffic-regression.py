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
# A client and a server talk over loopback or veth. Since Linux 5.19 a reader leaves the buffers
# that it is done with to the CPU that allocated them (`net.core.skb_defer_max`): those of TCP at
# first, since 6.18 those of UDP too. On a local interface that is the client's CPU, and the client
# limits the throughput. *Performance of Local IP Traffic* found 10 % less TCP throughput by it.
# **Is there a change here, with UDP? Whose CPU time explains it? Was work added or moved? Can the
# scheduler be excluded as the cause? Does receive packet steering (RPS) undo it?**

# %% tags=["parameters"]
repeats = "../sample-data/local-regression"  # untraced repeats: what throughput is judged by
traced = "../sample-data/local-regression-sockperf"  # traced repeats: where the time went
where = {"network": "veth", "protocol": "udp", "cpus": "two", "program": "sockperf"}
base = {"skb_defer_max": 0, "rps": "off"}
new = {"skb_defer_max": 64, "rps": "off"}
remedy = {"skb_defer_max": 64, "rps": "on"}
crowded = {**where, "program": "iperf3"}  # its server has no time to spare; untraced alone

# %%
import netcost_analysis as netcost

throughput = "received_bits_per_second"
both = [repeats, traced]
change = netcost.compare(both, where=where, base_where=base, new_where=new, primary=throughput)

# %% [markdown]
# ## Is there a change?
#
# Throughput is judged by the repeats that were not traced: tracing slows local traffic down, and
# perhaps one side more than the other. Throughput was named beforehand; all other metrics are
# corrected for being many. The condition is one of those under *The control* below, which corrects
# for that. Where a change cannot be told, the words say how many repeats would tell 5 %.

# %%
change.ask.comparison.changes()

# %% [markdown]
# ## Did the switch switch?
#
# The sysctl reads as it was written even where the kernel no longer defers anything: on Linux from
# 6.18 to late 2026, packets that are read while the limit is 0 stay counted as deferred for ever.
# So ask who freed the packets' data, on the base first: the server in its system calls, or a
# softirq on top of the client. `client_frees_share` above has it of all repeats.

# %%
change.base.recorded[0].timelines()[0].ask.processes.skb_frees()

# %%
change.new.recorded[0].timelines()[0].ask.processes.skb_frees()

# %% [markdown]
# ## May the sides be compared?
#
# The checks cover the machine, its clock, the order of the runs, drift, other programs, and the
# load. A finding that is *refused* means that no verdict is given on what it concerns.

# %%
change.ask.comparison.comparability()

# %% [markdown]
# ## Where the CPU time went
#
# The time of client and server, and of interrupts on top of others, divided by the packets that
# passed. Work that one process does less and another does more was moved; the rest of the change
# was added or saved. Time without a known owner is in no branch.

# %%
change.ask.comparison.cost_tree()

# %% [markdown]
# ## Does that explain the throughput?
#
# The process that never sleeps limits the throughput. Its extra softirq time per packet predicts
# the change of throughput; the untraced repeats show the change that was measured. This is one
# figure, asked for beforehand; the table of changes above corrects it for being one of many.

# %%
change.ask.comparison.throughput_prediction()

# %% [markdown]
# ## What was it not?
#
# Migrations, context switches and idle time: each with its rate on both sides, and the most that it
# can explain of the time of a packet. They are counted in the traced repeats, so they exclude a
# cause as far as tracing leaves the load as it was.

# %%
change.ask.comparison.other_causes()

# %% [markdown]
# ## The control: one CPU
#
# Where client and server share one CPU, no work can move to another. A change that is still there
# does not come from moved work. The table has all conditions that were measured, with one
# correction over them, so a change that one condition shows alone need not be told here. sockperf
# over loopback is this write-up's experiment without a veth pair.

# %%
netcost.open_experiment(repeats).ask.comparison.one_cpu_control(
    compared="skb_defer_max", base=str(base["skb_defer_max"]), new=str(new["skb_defer_max"])
)

# %% [markdown]
# ## The remedy: RPS
#
# RPS runs the receive path on another CPU than the client's. What it takes from the client's
# softirqs is the bound: the prediction says how much faster the client could send. The measured
# change says what arrived.
#
# **Two CPUs show the gain only where the server has time left.** The paper had 80 CPUs, and 30 %
# more throughput. Here the only other CPU is the server's, which runs the softirqs beside its own
# work. sockperf's server leaves most of its CPU idle.

# %%
steered = netcost.compare(both, where=where, base_where=new, new_where=remedy, primary=throughput)
steered.ask.comparison.changes()

# %%
steered.ask.comparison.throughput_prediction()

# %%
steered.ask.comparison.cost_tree()

# %% [markdown]
# iperf3's server has little time left, and drops what it cannot read. How much RPS would give with
# a third CPU, two CPUs cannot show.

# %%
netcost.compare(
    repeats, where=crowded, base_where=new, new_where=remedy, primary=throughput
).ask.comparison.changes()

# %% [markdown]
# ## How this was measured
#
# A figure is a ratio of sums over a run. With 6 repeats or more it is the mean over repeats, and
# its interval has all changes that a permutation of these does not reject. Full definitions:
# `docs/definitions.md`. `netcost compare` writes the same as a page, a text or JSON.

# %%
change.ask.comparison.runs_compared()

# %% [markdown]
# How to record both experiments again:

# %%
netcost.open_experiment(repeats).ask.sweep.made_by()

# %%
netcost.open_experiment(traced).ask.sweep.made_by()
