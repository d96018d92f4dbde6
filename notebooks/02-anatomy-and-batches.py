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
# A device interrupts the CPU; its handler does next to nothing but raise the NET_RX softirq; that
# polls the device, which hands over what has arrived, up to a budget. **How many packets come in
# one batch, what ends it, and what does a packet cost by itself and with others?** The fewer
# packets share an interrupt, a softirq and a poll, the dearer each of them is.

# %% tags=["parameters"]
path = "../sample-data/nic-guest/6.12-nic-1-flows.netcost.tar.zst"  # a capture
buffer = None  # the ftrace instance of a trace.dat to read; None: the top one
experiment = None  # recordings at several packet rates; None: the project's, beside its own capture

# %%
import netcost_analysis as netcost
from netcost_analysis.capture.experiment import open_experiment
from netcost_analysis.questions import example
from netcost_analysis.questions import words as shared_words
from netcost_analysis.questions.batches import plots as pictures
from netcost_analysis.questions.batches import plots_costs, words_costs, words_limits
from netcost_analysis.questions.batches import words as words
from netcost_analysis.report import explain
from netcost_analysis.report.notebook import attempt, picture, say

capture = netcost.open_capture(path, buffer)
whole = capture.timeline()
timeline = example.detail(whole)  # all of it, unless the capture is very large
say(shared_words.facts(capture, whole), explain.detail_text(whole, timeline))

# %% [markdown]
# ## The answer

# %%
chains, costs = None, None
with attempt():
    chains = netcost.softirq_chains(timeline)
with attempt():
    costs = netcost.poll_costs(timeline)
if chains is not None:
    cpu_ns = timeline.duration_ns * len(timeline.summary["cpus"])
    say(words.answer(chains, costs, cpu_ns))

# %% [markdown]
# ## From the interrupt to the poll
#
# Each NET_RX with what raised it. The time from the raise to the softirq's entry belongs to the
# task, or to whatever else had the CPU; all the rest is taken from it.

# %%
if chains is not None and len(chains):
    parts = words.parts_of(chains)
    with picture("Where the time of a NET_RX goes, by device", 1.3 + 0.42 * len(parts)) as (_, ax):
        pictures.anatomy(ax, parts)
    say(words.anatomy_text(chains))

# %%
with attempt():
    gaps = netcost.irq_gaps(timeline)
    shown = gaps[gaps["gaps"] > 0].head(8)
    if len(shown):
        names = words.line_labels(shown)
        with picture("Time between interrupts of a line", 1.2 + 0.33 * len(shown)) as (_, ax):
            pictures.spreads(ax, shown, names, "from one interrupt to the next of that line")
    say(words.gaps_text(gaps))

# %%
with attempt():
    delays = netcost.raise_delays(timeline)
    shown = words.delays_shown(delays)
    if len(shown):
        names = words.delay_labels(shown)
        with picture("From a softirq's raise to its entry", 1.2 + 0.33 * len(shown)) as (_, ax):
            pictures.spreads(ax, shown, names, "from raise to entry")
    say(words.delays_text(delays))

# %% [markdown]
# ## Batches
#
# `work` is what a poll received. It counts received packets alone, and some of its values mean
# something else than that so many came together.

# %%
timeline.ask.batches.poll_sizes()

# %% [markdown]
# ## What ends a NET_RX
#
# It ends when there is nothing left to poll, or where it runs into a limit.

# %%
limits = netcost.kernel_limits(capture)
say(words_limits.limits_text(limits))
if chains is not None and (chains["polls"] > 0).fillna(False).any() and chains["packets"].sum():
    with picture("Packets and length of each NET_RX, and the limits of both", 3.4) as (_, ax):
        pictures.softirq_limits(ax, chains, limits)
with attempt():
    say(words_limits.sizes_text(netcost.softirq_sizes(timeline)))
with attempt():
    say(words_limits.squeezes_text(netcost.squeezes(timeline)))

# %% [markdown]
# ## Back to back
#
# Softirqs that were raised while others ran follow at once, in rounds of one run of
# `__do_softirq`, ten at most; then ksoftirqd is woken, and tasks have their turn.

# %%
with attempt():
    runs = netcost.softirq_runs(timeline)
    if len(runs):
        with picture("Rounds of softirqs, back to back", 2.5) as (_, ax):
            pictures.run_rounds(ax, runs)
    say(words_limits.runs_text(runs, limits))

# %% [markdown]
# ## Long for few packets
#
# A softirq of 20 ms is a stutter in everything else on its CPU. For fewer than 64 packets it points
# to a driver, or to what handles the packets, unless the CPU itself was taken away (a hypervisor).

# %%
with attempt():
    outliers = netcost.long_softirqs(timeline)
    say(words_limits.outliers_text(outliers, 20_000_000, 64))

# %% [markdown]
# ## Steered away
#
# With receive packet steering a CPU runs NET_RX that polls nothing: it only tells another CPU of
# packets. None of the figures per poll contains them.

# %%
with attempt():
    say(words_limits.dispatch_text(netcost.rps_dispatch(timeline)))

# %% [markdown]
# ## What a poll costs, and what a packet
#
# The interrupt and the softirq around polls are measured. A poll's own time is laid on a line: what
# it takes whatever it receives, and what each packet adds. That needs batches of different sizes.

# %%
if costs is not None:
    per_packet = netcost.packet_costs(timeline)
    for row in range(min(len(costs), 3)):
        cost = costs.iloc[row]
        polls = timeline.polls[timeline.polls["device"] == cost["device"]]
        by_batch = per_packet[per_packet["device"] == cost["device"]]
        if polls["work"].notna().any() and polls["self_ns"].notna().any():
            alt = f"Own time of the polls of {cost['device']} by their packets"
            with picture(alt, 2.9, ncols=1 + bool(len(by_batch)), squeeze=False) as (_, axes):
                plots_costs.poll_cost(axes[0, 0], polls, cost)
                if len(by_batch):
                    plots_costs.packet_cost(axes[0, 1], by_batch)
        say(words_costs.costs_text(cost))

# %% [markdown]
# ## Why the curve of CPU over packet rate bends
#
# Document 002 found the same CPU share at 50,000 and at 500,000 packets per second, and suspected
# batches. A share is the rate times (the packet's own cost + the cost of poll, softirq and
# interrupt over the batch): it stays flat while batches grow as fast as the rate and the packets'
# own part is small. Each step below is predicted from the costs in the other steps alone.

# %%
if experiment is None and path == "../sample-data/nic-guest/6.12-nic-1-flows.netcost.tar.zst":
    experiment = "../sample-data/datapath-sweep"
if experiment is None:
    say(words_costs.NO_SERIES)
else:
    with attempt():
        curves = netcost.rate_curve(open_experiment(experiment))
        say(words_costs.series_text(open_experiment(experiment)))
        names = list(dict.fromkeys(curves["curve"]))
        for left in range(0, min(len(names), 4), 2):
            pair = names[left : left + 2]
            with picture(f"CPU share by packet rate: {', '.join(pair)}", 3.3, ncols=2) as (_, axes):
                for ax, name in zip(axes, pair, strict=False):
                    first = name == names[0]
                    plots_costs.share_by_rate(ax, curves[curves["curve"] == name], legend=first)
                    ax.set_title(name, pad=24 if left == 0 else 6)
        with picture("Packets per poll by packet rate", 2.6) as (_, ax):
            plots_costs.batch_by_rate(ax, curves)
        say(words_costs.flat_text(curves))
        say(*(words_costs.curve_text(curves[curves["curve"] == name]) for name in names))

# %% [markdown]
# ## Before you use these figures

# %%
say(words.caveats(capture, whole))

# %% [markdown]
# **Words.** *Chain*: an interrupt, the NET_RX that it raised, its polls. *Batch*: the packets of
# one poll. *Work*: packets that a poll received; sent ones that it completed are not in it, and GRO
# may have merged several into one. *Budget*: how many it might have had. *Squeeze*: a NET_RX that
# stopped because its packets or its time were used up. *Round*, *run*: one pass over the pending
# softirqs, and the passes that follow each other. A poll has no begin event: it begins where the
# softirq or the poll before it ended, so the first holds what NET_RX does before it, and frees of
# other sockets' buffers are in whichever poll they precede. Full definitions:
# `docs/definitions.md`.
