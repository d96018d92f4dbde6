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
# # Accounting doctor: whom to believe about CPU time?
#
# top, mpstat, a program's own clock and a trace say different things about the same seconds. **How
# much of its CPU did the victim get, which accounts are wrong, why on this kernel, and is what the
# trace does not see something that can be predicted?**

# %% tags=["parameters"]
path = "../sample-data/veth-stolen-time"  # what netcost.open_capture takes
buffer = None  # the ftrace instance of a trace.dat to read; None: the top one
experiment = None  # a calibration of capture/lab; None: the project's, beside its own capture

# %%
import netcost_analysis as netcost
from netcost_analysis.questions import words as shared_words
from netcost_analysis.questions.accounting import calibrations, plots, words_hidden
from netcost_analysis.questions.accounting import words as words
from netcost_analysis.report.notebook import attempt, picture, say

capture = netcost.open_capture(path, buffer)
say(shared_words.facts(capture, capture.timeline()))

# %%
calibration = hidden = None
matches = False
if experiment is None and path == "../sample-data/veth-stolen-time":
    experiment = "../sample-data/hidden-cost"
with attempt():
    calibration = calibrations.calibration(experiment)
    hidden = netcost.hidden_cost(calibration)
    matches = calibrations.same_host(capture.bundle, calibration)

# %% [markdown]
# ## The answer
#
# Each account is the share of wall time that the victim got. *Work* is blocks per second against
# those of the same program alone, just before, on the same CPU.

# %%
accounts = None
with attempt():
    price = hidden.hidden_ns if matches else None
    accounts = netcost.accounts(capture, price, "as calibrated on such a host")
    say(words.answer(capture, accounts))
    known = int(accounts["got_share"].notna().sum())
    if known:
        with picture("What each account says the victim got", 0.8 + 0.36 * known) as (_, ax):
            plots.accounts(ax, accounts)

# %% [markdown]
# ## Why they differ
#
# A *step* is what the account counts in, over the time that it is of: it cannot be nearer than
# that. The reasons are those of this kernel's configuration.

# %%
if accounts is not None:
    say(words.accounts_html(accounts), words.steal_text(accounts))
    if hidden is not None:
        say(words.whose(matches, capture.bundle, calibration))
else:
    say("<p class='missing'>There are no accounts to compare: see above.</p>")

# %% [markdown]
# ## Where the CPU's time went
#
# The kernel keeps each CPU's time by kind in `/proc/stat`, and mpstat prints it: `%soft` is what
# networking is usually said to cost. The trace adds up what it saw begin and end.

# %%
with attempt():
    kinds = netcost.cpu_accounts(capture)
    known = int(kinds["tasks_share"].notna().sum())
    if known:
        with picture("The CPU's time by kind, by each account", 1.1 + 0.36 * known) as (_, ax):
            plots.cpu_kinds(ax, kinds)
    say(words.cpu_text(kinds))

# %% [markdown]
# ## The hidden cost of an interrupt
#
# What the work says was lost, and the trace does not find, grows with the interrupts. A calibration
# (`capture/lab/hidden-cost`) runs one victim at several rates of datagrams, each repeated, with
# and without tracing. The hidden cost is estimated on the calibration, whatever capture this page
# is of, and stands beside traced time, never in it.

# %%
if hidden is not None:
    with picture("Loss beyond traced time by rate of interrupts", 3.4) as (_, ax):
        plots.gap(ax, hidden.runs, hidden.coefficients)
    say(words_hidden.hidden_text(hidden, calibration, matches))

# %% [markdown]
# ## Does it predict what it has not seen?
#
# For each run the price is learnt again from runs of other rates and other repeats only. A run
# that was traced is then predicted from its own trace and the number of its interrupts; a run
# that was not, from the kernel's counters of interrupts and packets alone. The work that they
# got done is what they are judged by.

# %%
if hidden is not None:
    held_out = hidden.predicted[hidden.predicted["held_out"] == "both"]
    if len(held_out):
        with picture("Predicted against measured loss", 4.0, ncols=2) as (_, axes):
            for ax, run, title in zip(
                axes, ("load_traced", "load"), ("Traced runs", "Untraced runs"), strict=True
            ):
                plots.predicted(ax, held_out, run)
                ax.set_title(title)
        with picture("Errors of the predictions", 2.6) as (_, ax):
            plots.prediction_errors(ax, held_out)
        say(words_hidden.verdict(hidden, "both"), words_hidden.errors_html(hidden, "both"))

# %% [markdown]
# **Words.** *Hidden cost*: time lost for each interrupt that no pair of tracepoints encloses.
# *Steal*: what a hypervisor ran others for while this CPU had work. *Baseline*: the victim alone,
# untraced. *Tick*: the timer interrupt by which most kernels sample who is running. Full
# definitions: `docs/definitions.md`.
