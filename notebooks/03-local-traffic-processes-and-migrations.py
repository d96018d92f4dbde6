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
# # Local traffic: whose softirqs are these, and do migrations explain anything?
#
# Two processes on one host talk to each other, and a new kernel makes them slower. Context
# switches, migrations, CPU time: everything has changed a little, and most of it is a red herring.
# **Which task's time does the network's work run in, and which task is it for? How did the
# scheduler treat the two, and is any of that enough to explain a difference?**

# %% tags=["parameters"]
path = "../sample-data/local-migrations.netcost.tar.zst"  # what netcost.open_capture takes
victim = None  # a task by name or tid; None: client and server, where two tasks exchange packets
buffer = None  # the ftrace instance of a trace.dat to read; None: the top one
beside = {}  # what lies beside it, as open_capture takes it: {"victim_output": "victim.txt"}

# %%
import netcost_analysis as netcost

capture = netcost.open_capture(path, buffer, **beside)
run = capture.timeline(victim=victim)
run.ask.prepare("processes", "migration", "provenance")  # a large one is read once for these
run.ask.completeness.recording()

# %% [markdown]
# ## Which task's time it runs in
#
# A softirq runs on top of whatever task is current, and most kernels charge that task. On loopback
# and veth that is usually the sender: its send raises NET_RX and runs it, up to the receiver's
# socket, before the send returns.

# %%
run.ask.processes.softirq_time()

# %% [markdown]
# ## Which task's traffic it is
#
# A softirq that a task raised itself is that task's own traffic. The owner of any other softirq is
# known from its packets, if they were followed. A socket's data or a wake-up is weaker evidence.
# Without any of these the owner stays unknown.

# %%
run.ask.processes.traffic_owners()

# %%
run.ask.processes.traffic_pairs()

# %% [markdown]
# ## Client against server

# %%
run.ask.processes.client_and_server()

# %% [markdown]
# ## Switches and waits
#
# A task leaves a CPU because it has nothing to do (voluntary), or while it is still runnable
# (involuntary). It waits for a CPU from its wake-up, or from the involuntary switch.

# %%
run.ask.processes.context_switches()

# %%
run.ask.processes.run_queue()

# %% [markdown]
# ## Migrations
#
# Which task moved to another CPU, when and why.

# %%
run.ask.migration.migrations()

# %% [markdown]
# ## Do migrations explain anything?
#
# A task that was migrated is compared with itself: just after the migration against just before it.
# Both are compared with moments at which the task was in the same state and stayed where it was.
# Without those moments every wake-up would look like a gain, because the task sleeps before it.
# What remains is the effect. Multiplied by the number of migrations, it is what they can have cost
# or gained in total.

# %%
run.ask.migration.migration_verdict()

# %% [markdown]
# ## Before you use these figures

# %%
run.ask.completeness.caveats()

# %% [markdown]
# **Words.** *In the time of* a task: while it was current, whichever task's packets were handled.
# *Own traffic*: a softirq that the task raised on its own send or receive path. *Voluntary*,
# *involuntary*: as `/proc/PID/status` and `pidstat -w` count switches. *Effect*: a difference that
# comes with a migration. The scheduler moves a task when another task wants its CPU, so the
# migration does not cause everything that follows it. Full definitions: `docs/definitions.md`.

# %% [markdown]
# ## What this capture cannot answer, and how this page was made

# %%
capture.ask.completeness.unanswered()

# %%
capture.ask.completeness.provenance()
