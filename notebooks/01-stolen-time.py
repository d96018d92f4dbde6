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
# # Stolen time: who used the CPU while your task was on it?
#
# Linux processes packets on top of whatever task is running when the interrupt arrives, and most
# kernels charge that task for it. **How much of its CPU time did packet processing take, and which
# device took it?** Every figure below is computed from one recording of the kernel's own
# tracepoints.

# %% tags=["parameters"]
path = "../sample-data/nic-stolen-time"  # what netcost.open_capture takes
victim = None  # a task by name or tid; None: the one the bundle names, else the one that lost most
window = "auto"  # "victim", "load" (while it ran) or "trace"; "auto": the first that is known
buffer = None  # the ftrace instance of a trace.dat to read; None: the top one
beside = {}  # what lies beside it, as open_capture takes it: {"victim_output": "victim.txt"}

# %%
import netcost_analysis as netcost

capture = netcost.open_capture(path, buffer, **beside)
run = capture.timeline(victim=victim, window=window)
run.ask.prepare("stolen_time", "provenance")  # a large capture is read once for all of these
part = run.excerpt  # of a large capture a part from its middle, for what shows single rows
part.ask.prepare("device_batches", "softirq_sizes")

# %% [markdown]
# ## The answer

# %%
run.ask.stolen_time.headline()

# %%
run.ask.stolen_time.network_cost()

# %%
run.ask.tracing_overhead.network_overhead()

# %%
run.ask.stolen_time.thieves()

# %% [markdown]
# ## What was recorded

# %%
run.ask.completeness.recording()

# %% [markdown]
# ## All of its time
#
# The task's lifetime, on and off CPU: how long it lived, what it did with that time, and which
# tasks it waited for.

# %%
run.ask.stolen_time.lifetimes()

# %%
run.ask.stolen_time.waited_for()

# %% [markdown]
# ## One interrupt

# %%
run.ask.stolen_time.example()

# %% [markdown]
# ## Victims and thieves
#
# Columns are the tasks that lost time; rows are what took it. Shares are of the victim's time on
# CPU.

# %%
run.ask.stolen_time.ledger()

# %% [markdown]
# The same time by cost class, which says who paid for it. The tables also show how long tasks
# waited off CPU for network work, and compare what a monitor shows for each task with the time that
# it really had.

# %%
run.ask.stolen_time.cost_classes()

# %%
run.ask.stolen_time.effective_share()

# %% [markdown]
# ## Over time

# %%
run.ask.stolen_time.over_time()

# %%
run.ask.stolen_time.rolling_stolen()

# %% [markdown]
# ## Episodes: time lost at a stretch
#
# A total hides how long the task was held up at a stretch, which decides its latency. In JupyterLab
# `run.ask.stolen_time.episodes().view(3)` opens the timeline at row 3.

# %%
run.ask.stolen_time.episodes()

# %% [markdown]
# ## Handed over
#
# The kernel hands softirqs that take too long to ksoftirqd. From then on a monitor shows them as a
# task, and the other tasks on that CPU wait.

# %%
run.ask.stolen_time.handovers()

# %% [markdown]
# ## Batches
#
# The more packets an interrupt brings, the less each one costs. A NAPI poll takes the packets that
# have arrived, up to its budget. A NET_RX softirq makes one poll after another. A hollow bar stands
# for no packets at all.

# %%
part.ask.batches.device_batches()

# %%
part.ask.batches.softirq_sizes()

# %% [markdown]
# ## Three estimates of what the victim got
#
# A program that only computes gives two estimates. One is its own clock, which counts ticks. The
# other is the number of blocks that it completed, divided by that of the same run without the load.
# The trace gives a third: the time in which nothing else had its CPU. The three disagree, for the
# reasons below.

# %%
run.ask.accounting.estimates()

# %% [markdown]
# ## Before you use these figures

# %%
run.ask.tracing_overhead.tracing_cost()

# %%
run.ask.tracing_overhead.corrected_stolen()

# %%
run.ask.completeness.caveats()

# %% [markdown]
# **Words.** *On CPU*: from switch-in to switch-out, whatever ran on the CPU in between. *Stolen*:
# interrupt-context time on top of a task that came from an interrupt, for any task's traffic. *Its
# own traffic* (synchronous): a softirq that the task raised itself, on its own send or receive
# path. *Perhaps network*: inter-processor and shared interrupts, which carry network work among
# other things. *Scheduled*: network work in kernel threads such as ksoftirqd, which a monitor does
# show. *Unknown*: time that the capture cannot account for; it never counts as anything else. Every
# nanosecond of a CPU has one owner, and the owners add up to the window. A poll has no begin event.
# It begins at its softirq's entry, or at the end of the previous poll. Full definitions:
# `docs/definitions.md`.

# %% [markdown]
# ## What this capture cannot answer, and how this page was made

# %%
capture.ask.completeness.unanswered()

# %%
capture.ask.completeness.provenance()
