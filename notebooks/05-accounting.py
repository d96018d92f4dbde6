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
# # Accounting: whom to believe about CPU time?
#
# top, mpstat, a program's own clock and a trace say different things about the same seconds. **How
# much of its CPU did the victim get, which accounts are wrong, why on this kernel, and is what the
# trace does not see something that can be predicted?**

# %% tags=["parameters"]
path = "../sample-data/veth-stolen-time"  # what netcost.open_capture takes
buffer = None  # the ftrace instance of a trace.dat to read; None: the top one
beside = {}  # what lies beside it, as open_capture takes it: {"victim_output": "victim.txt"}
experiment = "../sample-data/hidden-cost"  # a calibration of capture/lab; None: there is none

# %%
import netcost_analysis as netcost

capture = netcost.open_capture(path, buffer, **beside)
calibration = netcost.open_experiment(experiment) if experiment else None
capture.ask.completeness.recording()

# %% [markdown]
# ## The answer
#
# Each account is the share of wall time that the victim got. *Work* is blocks per second against
# those of the same program alone, just before, on the same CPU. *Residual*: what an account has
# more than work. *Resolution*: a step of what the account counts in, over the time that it is of:
# it cannot be nearer than that. *Steal*: what a hypervisor ran others for.

# %%
capture.ask.accounting.accounts(calibration=calibration)

# %% [markdown]
# ## Why they differ
#
# The reasons are those of this kernel's configuration.

# %%
capture.ask.accounting.account_reasons(calibration=calibration)

# %% [markdown]
# ## Where the CPU's time went
#
# The kernel keeps each CPU's time by kind in `/proc/stat`, and mpstat prints it: `%soft` is what
# networking is usually said to cost. The trace adds up what it saw begin and end.

# %%
capture.ask.accounting.cpu_accounts()

# %% [markdown]
# ## The hidden cost of an interrupt
#
# What the work says was lost, and the trace does not find, grows with the interrupts. A calibration
# (`capture/lab/hidden-cost`) runs one victim at several rates of datagrams, each repeated, with
# and without tracing. The hidden cost is estimated on the calibration, whatever capture this page
# is of, and stands beside traced time, never in it: `netcost report CAPTURE --notebook accounting
# --experiment DIR` takes one.

# %%
asked = calibration or capture  # a capture says what it lacks for this
asked.ask.accounting.hidden_cost()

# %% [markdown]
# ## Does it predict what it has not seen?
#
# For each run the price is learnt again from runs of other rates and other repeats only. A run
# that was traced is then predicted from its own trace and the number of its interrupts
# (`traced_and_hidden`); a run that was not, from the kernel's counters of interrupts and packets
# alone (`counted_and_hidden`). For comparison there are three predictions without a hidden cost:
# the run's own clock (`ticks`), its trace (`traced`), and the counters times the traced price
# (`counted`). Each prediction is compared with the work that the run got done; errors are shares
# of wall time.

# %%
asked.ask.accounting.hidden_cost_predictions()

# %% [markdown]
# ## Before you use these figures

# %%
capture.ask.completeness.caveats()

# %% [markdown]
# **Words.** *Hidden cost*: time lost for each interrupt that no pair of tracepoints encloses.
# *Steal*: what a hypervisor ran others for while this CPU had work. *Baseline*: the victim alone,
# untraced. *Tick*: the timer interrupt by which most kernels sample who is running. Full
# definitions: `docs/definitions.md`.

# %% [markdown]
# ## What this capture cannot answer, and how this page was made

# %%
capture.ask.completeness.unanswered()

# %%
capture.ask.completeness.provenance(experiment=calibration)
