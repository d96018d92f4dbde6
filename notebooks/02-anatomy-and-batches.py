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
# # Anatomy and batches: from an interrupt to its packets, and what a packet costs
#
# A device interrupts the CPU, and the interrupt's handler does little more than raise the NET_RX
# softirq. The softirq polls the device, which hands over the packets that have arrived, up to a
# budget. **How many packets come in one batch, what ends it, and what does a packet cost alone and
# with others?** The fewer packets share an interrupt, a softirq and a poll, the more each packet
# costs.

# %% tags=["parameters"]
path = "../sample-data/nic-guest/6.12-nic-1-flows.netcost.tar.zst"  # a capture
buffer = None  # the ftrace instance of a trace.dat to read; None: the top one
beside = {}  # what lies beside it, as open_capture takes it: {"victim_output": "victim.txt"}
experiment = "../sample-data/datapath-sweep"  # recordings at several packet rates; None: none

# %%
import netcost_analysis as netcost

capture = netcost.open_capture(path, buffer, **beside)
whole = capture.timeline()
run = whole.excerpt  # all of it, unless the capture is very large
run.ask.prepare("batches", "provenance")  # a large one is read once for all of these

# %% [markdown]
# ## The answer

# %%
run.ask.batches.net_rx_totals()

# %% [markdown]
# ## What was recorded

# %%
whole.ask.completeness.recording()

# %%
whole.ask.batches.detail_window()

# %% [markdown]
# ## From the interrupt to the poll
#
# Each row is a NET_RX and what raised it. The time from the raise to the softirq's entry belongs to
# the task, or to whatever else had the CPU. All other time is taken from it.

# %%
run.ask.batches.softirq_chains()

# %%
run.ask.batches.irq_gaps()

# %%
run.ask.batches.raise_delays()

# %% [markdown]
# ## Batches
#
# `work` counts the packets that a poll received, and nothing else. Some of its values do not mean
# that so many packets arrived together.

# %%
run.ask.batches.poll_sizes()

# %% [markdown]
# ## What ends a NET_RX
#
# A NET_RX ends when nothing is left to poll, or when it reaches a limit.

# %%
capture.ask.batches.kernel_limits()

# %%
run.ask.batches.softirq_sizes()

# %%
run.ask.batches.squeezes()

# %% [markdown]
# ## Back to back
#
# Softirqs that are raised while others run follow at once, as the next round of the same run of
# `__do_softirq`. A run has at most ten rounds. Then ksoftirqd is woken, and tasks get their turn.

# %%
run.ask.batches.softirq_runs()

# %% [markdown]
# ## Long for few packets
#
# A softirq of 20 ms stalls everything else on its CPU. If it handled fewer than 64 packets, suspect
# the driver, or the code that handles the packets, unless a hypervisor took the CPU itself away.

# %%
run.ask.batches.long_softirqs()

# %% [markdown]
# ## Steered away
#
# With receive packet steering a CPU runs NET_RX softirqs that poll nothing: they only tell another
# CPU about packets. No figure per poll includes them.

# %%
run.ask.batches.rps_dispatch()

# %% [markdown]
# ## What a poll costs
#
# The interrupt and the softirq around polls are measured. A line is fitted to the polls' own time:
# a fixed part per poll, and a part per packet. The fit needs batches of different sizes.

# %%
run.ask.batches.poll_costs()

# %% [markdown]
# ## What a packet costs
#
# A packet costs its own part, plus its share of the poll, the softirq and the interrupt. The larger
# the batch, the smaller that share.

# %%
run.ask.batches.packet_costs()

# %% [markdown]
# ## Why the curve of CPU over packet rate bends
#
# Why can the CPU share stay flat while the packet rate grows? The share is the rate times a
# packet's cost: its own cost, plus the cost of poll, softirq and interrupt divided by the batch. It
# stays flat while batches grow as fast as the rate and the packets' own part is small. Each step
# below is predicted only from the costs in the other steps.
#
# This part needs several recordings at different packet rates; one recording is not enough.
# `capture/lab/datapath-sweep -o DIR` records such an experiment, and `netcost report CAPTURE
# --experiment DIR` takes it.

# %%
sweep = netcost.open_experiment(experiment) if experiment else None
asked = sweep or capture  # a capture says what it lacks for this
asked.ask.batches.rate_curve()

# %% [markdown]
# ## Before you use these figures

# %%
whole.ask.completeness.caveats()

# %% [markdown]
# **Words.** *Chain*: an interrupt, the NET_RX that it raised, its polls. *Batch*: the packets of
# one poll. *Work*: packets that a poll received; sent packets that it completed are not counted,
# and GRO may have merged several into one. *Budget*: the most packets that a poll may receive.
# *Squeeze*: a NET_RX that stopped because its packets or its time were used up. *Round*: one pass
# over the pending softirqs. *Run*: rounds that follow each other. A poll has no begin event. It
# begins at its softirq's entry, or at the end of the previous poll. So the first poll includes what
# NET_RX does before it, and frees of other sockets' buffers count in the poll that follows them.
# Full definitions: `docs/definitions.md`.

# %% [markdown]
# ## What this capture cannot answer, and how this page was made

# %%
capture.ask.completeness.unanswered()

# %%
capture.ask.completeness.provenance(experiment=sweep)
