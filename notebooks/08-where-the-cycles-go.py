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
# # Where the cycles go: what a packet costs, part by part
#
# The CPUs were sampled with call graphs. **Which part of the kernel's work do the samples belong
# to? What does each part cost per packet, and how does that change with the size of a write and
# read?** A sample belongs to the innermost function on its call path that a rule names
# (`netcost_analysis/questions/functions/components.toml`). So a sample in a lock, in a copy loop or
# in an allocator belongs to the caller.

# %% tags=["parameters"]
path = "../sample-data/io-sizes/tcp-1024.netcost.tar.zst"  # a capture with samples
buffer = None  # the ftrace instance of a trace.dat to read; None: the top one
beside = {}  # what lies beside it, as open_capture takes it: {"before": "before"}
experiment = "../sample-data/io-sizes"  # recordings over sizes of write and read; None: none
traced = "../sample-data/stolen-time-functions.netcost.tar.zst"  # tracepoints beside; None: path
base = "../sample-data/io-sizes/tcp-64.netcost.tar.zst"  # what to compare path with; None: nothing

# %%
import netcost_analysis as netcost

capture = netcost.open_capture(path, buffer, **beside)

# %% [markdown]
# ## The answer

# %%
capture.ask.functions.components()

# %% [markdown]
# ## What each packet cost
#
# A cost is all samples between two readings of the interface's counters, divided by the packets
# that it counted between them. A packet is one that the stack handles: up to 64 KiB with GSO, GRO
# or a veth.

# %%
capture.ask.functions.packet_components()

# %% [markdown]
# ## The functions
#
# Functions are counted by the sample's own address, as in `perf report --no-children`, and shown
# with the component that their call paths belong to. Below them are the paths in interrupts, under
# the task that had the CPU (or all paths, if no sample hit an interrupt). `netcost flame` draws the
# same to click through.

# %%
capture.ask.functions.functions()

# %% [markdown]
# ## What no rule names
#
# Rules in your own file (`rules=`) take precedence over netcost's.

# %%
capture.ask.functions.unclassified()

# %% [markdown]
# ## Over sizes of write and read
#
# [Liao and Bhuyan (2012)](https://doi.org/10.1016/j.jpdc.2012.02.016) divided the work on 10 Gbit/s
# NICs like this. Driver, copy and buffer release were most of it. Here packets go from one
# namespace to another over a veth, which has no NIC, no DMA and hardly a driver.

# %%
sizes = netcost.open_experiment(experiment) if experiment else None
asked = sizes or capture  # a capture says what it lacks for this
asked.ask.functions.components_by_size()

# %% [markdown]
# ## Which findings of that paper hold here
#
# Its figures come from a 10 Gbit/s NIC in 2012, with the processor's counters and power meters.

# %%
asked.ask.functions.findings()

# %% [markdown]
# ## What changed from one recording to another
#
# The change per packet, component by component. Here writes have 64 and 1,024 bytes, so packets
# differ in size as well.

# %%
netcost.compare(base, capture).ask.functions.component_changes() if base else None

# %% [markdown]
# ## Which interrupts the samples hit
#
# If tracepoints were recorded with the samples, the ledger knows the context and the device of each
# sample, and which task paid for it.

# %%
both = netcost.open_capture(traced) if traced else capture
both.ask.functions.interrupt_components()

# %%
both.ask.energy.idle_wakeups()

# %% [markdown]
# ## What the processor counted, and how much energy it used
#
# Most virtual machines have neither counters nor energy meters, and then this part is empty.

# %%
capture.ask.counters.cpu_counters()

# %%
asked.ask.energy.energy_by_size()

# %% [markdown]
# ## Before you use these figures
#
# - Sampling is random, and an interval says how far a figure may be off for that reason alone.
# - A timer cannot interrupt code that runs with interrupts off. Its samples come where interrupts
#   are enabled again, and are a component of their own.
# - After a `call_function_single` interrupt, which RPS sends, that component is the cost of
#   receiving it. On a virtual machine this includes its delivery by the host. How much it is on
#   hardware was not measured.
# - `packet_components` includes whatever else the CPUs did in that time; `components_by_size`
#   leaves out what is not on a packet's path.
