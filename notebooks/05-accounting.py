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
# # Accounting: which figure of CPU time is right?
#
# top, mpstat, a program's own clock and a trace say different things about the same seconds. **How
# much of its CPU did the victim get? Which accounts are wrong, and why on this kernel? Can the time
# that the trace does not see be predicted?**

# %% tags=["parameters"]
path = "../sample-data/veth-stolen-time"  # what netcost.open_capture takes
buffer = None  # the ftrace instance of a trace.dat to read; None: the top one
beside = {}  # what lies beside it, as open_capture takes it: {"victim_output": "victim.txt"}
experiment = "../sample-data/hidden-cost"  # a calibration of capture/lab; None: there is none

# %%
import netcost_analysis as netcost

capture = netcost.open_capture(path, buffer, **beside)
calibration = netcost.open_experiment(experiment) if experiment else None

# %% [markdown]
# ## The answer
#
# Each account is the share of wall time that the victim got. *Work*: blocks per second against
# those of the same program alone, just before, on the same CPU. *Residual*: an account minus work.
# *Resolution*: one step of the account's unit, over the time that the account covers; the account
# cannot be more precise than that. *Steal*: time in which a hypervisor ran other guests.

# %%
capture.ask.accounting.accounts(calibration=calibration)

# %% [markdown]
# ## What was recorded

# %%
capture.ask.completeness.recording()

# %% [markdown]
# ## Why they differ
#
# The reasons below apply to this kernel's configuration.

# %%
capture.ask.accounting.account_reasons(calibration=calibration)

# %% [markdown]
# ## Where the CPU's time went
#
# The kernel keeps each CPU's time by kind in `/proc/stat`, and mpstat prints it. Its `%soft` is
# usually taken for the cost of networking. The trace adds up what it saw begin and end.

# %%
capture.ask.accounting.cpu_accounts()

# %% [markdown]
# ## The hidden cost of an interrupt
#
# The victim's work shows a loss that the trace does not find, and it grows with the interrupts. A
# calibration (`capture/lab/hidden-cost`) runs one victim at several rates of datagrams, each
# repeated, with and without tracing. The hidden cost is estimated from the calibration, whichever
# capture this page is about. It is shown beside traced time, and is never part of it. `netcost
# report CAPTURE --notebook accounting --experiment DIR` takes a calibration.

# %%
asked = calibration or capture  # a capture says what it lacks for this
asked.ask.accounting.hidden_cost()

# %% [markdown]
# ## Does it predict what it has not seen?
#
# For each run the price is fitted again, only from runs of other rates and other repeats. A traced
# run is then predicted from its own trace and its number of interrupts (`traced_and_hidden`). An
# untraced run is predicted only from the kernel's counters of interrupts and packets
# (`counted_and_hidden`). For comparison there are three predictions without a hidden cost: the
# run's own clock (`ticks`), its trace (`traced`), and the counters times the traced price
# (`counted`). Each prediction is compared with the work that the run completed. Errors are shares
# of wall time.

# %%
asked.ask.accounting.hidden_cost_predictions()

# %% [markdown]
# ## Before you use these figures

# %%
capture.ask.completeness.caveats()

# %% [markdown]
# **Words.** *Hidden cost*: time lost for each interrupt that no pair of tracepoints encloses.
# *Steal*: time in which a hypervisor ran other guests while this CPU had work. *Baseline*: the
# victim alone, untraced. *Tick*: the timer interrupt with which most kernels sample what is
# running. Full definitions: `docs/definitions.md`.

# %% [markdown]
# ## What this capture cannot answer, and how this page was made

# %%
capture.ask.completeness.unanswered()

# %%
capture.ask.completeness.provenance(experiment=calibration)
