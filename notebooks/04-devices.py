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
# # Devices: which interface costs what, and does anybody need it?
#
# A network interface costs CPU time in its interrupts and in the polls that follow them, on
# whichever CPU they run. No kernel counter shows that time by interface. **Which device takes how
# much of which CPU, for how many packets, and is one of them an interface that nobody uses?** Times
# come from the kernel's tracepoints and packets from its counters, over the same stretch of time.

# %% tags=["parameters"]
path = "../sample-data/quiet-interface.netcost.tar.zst"  # what netcost.open_capture takes
buffer = None  # the ftrace instance of a trace.dat to read; None: the top one
beside = {}  # what lies beside it, as open_capture takes it: {"victim_output": "victim.txt"}
interval_s = 1.0  # what a monitor would believe that its interval is

# %%
import netcost_analysis as netcost

capture = netcost.open_capture(path, buffer, **beside)
run = capture.timeline()
run.ask.prepare("devices", "provenance")  # a large capture is read once for all of these

# %% [markdown]
# ## The answer

# %%
run.ask.devices.device_summary()

# %% [markdown]
# ## What was recorded

# %%
run.ask.completeness.recording()

# %% [markdown]
# ## Devices by CPUs
#
# Solaris had `intrstat`, which shows the share of each CPU that each device's interrupts take, and
# how many there are. On Linux the interrupt only requests work, and a softirq then does it by
# polling the device. So a device's time here is that of its interrupts and its polls. Interrupt
# lines of other devices have rows of their own.

# %%
run.ask.devices.device_matrix()

# %%
run.ask.devices.device_lines()

# %% [markdown]
# ## What each device carried, and its CPU time
#
# Packets and bytes are the growth of the interface's counters between two readings.

# %%
run.ask.devices.device_totals()

# %%
run.ask.devices.device_traffic()

# %%
run.ask.devices.device_time_series()

# %% [markdown]
# ## What a packet costs
#
# Time is divided by packets, both taken between the first and the last reading of the counters. A
# poll's time includes the part of the stack that runs in it, such as IP and TCP receive. It also
# includes the poll's other work, such as completing sent packets, which the poll does not count.

# %%
run.ask.devices.device_cost()

# %% [markdown]
# ## Over the true interval
#
# A tool that asks to sleep for a second on a loaded host wakes up later. If it then divides by the
# interval it asked for, it shows rates that never occurred, even a link that is more than 100 %
# busy.

# %%
run.ask.devices.assumed_rates(interval_s=interval_s)

# %% [markdown]
# ## Where packets found queues full

# %%
run.ask.devices.device_saturation()

# %% [markdown]
# ## What looks wrong

# %%
run.ask.devices.device_flags()

# %% [markdown]
# ## Before you use these figures

# %%
run.ask.completeness.caveats()

# %% [markdown]
# **Words.** *Poll*: a device's driver taking packets, up to a budget, in a softirq. *Backlog*: the
# polls that have no device; receive packet steering, veth without NAPI and loopback use them.
# *Packets polled*: the packets that polls received (`work` of the event). *Utilisation*: the busier
# direction over the link's speed, unknown if the speed is unknown; a veth reports a nominal speed
# of 10 Gbit/s. A device's time includes neither what its packets cost in system calls nor what the
# softirq did outside its polls. Full definitions: `docs/definitions.md`.

# %% [markdown]
# ## What this capture cannot answer, and how this page was made

# %%
capture.ask.completeness.unanswered()

# %%
capture.ask.completeness.provenance()
