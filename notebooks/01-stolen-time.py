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
victim = None  # a task by name; None: the one the bundle names, else the one that lost most
buffer = None  # the ftrace instance of a trace.dat to read; None: the top one

# %%
import netcost_analysis as netcost
from netcost_analysis import plots
from netcost_analysis.questions import example as example_module
from netcost_analysis.questions import words
from netcost_analysis.questions.stolen_time import headline as answer
from netcost_analysis.questions.stolen_time import plots as stolen_plots
from netcost_analysis.questions.stolen_time import words as stolen_story
from netcost_analysis.questions.stolen_time.by_queue import by_thief
from netcost_analysis.questions.tracing_overhead import words as looking_story
from netcost_analysis.report import explain, explain_estimates, ledger_page
from netcost_analysis.report.notebook import attempt, picture, say

capture = netcost.open_capture(path, buffer)
timeline = capture.timeline()
detail = example_module.detail(timeline)  # all of it, unless the capture is very large
detail.load("softirqs", "hardirqs", "polls", "coverage", "displaced")
say(words.facts(capture, timeline))

# %% [markdown]
# ## The answer

# %%
losses = netcost.stolen(timeline)
victim = answer.choose_victim(timeline, losses, victim)
lost = losses.loc[victim] if victim else None
queues = netcost.thieves(timeline)
thieves = by_thief(queues, victim)
say(
    stolen_story.network_text(netcost.network_cost(timeline)),
    words.answer(capture, victim, lost, thieves, timeline.duration_ns),
)
with attempt():
    say(stolen_story.life_text(victim, netcost.lifetimes(timeline), timeline.duration_ns))
    say(stolen_story.waited_text(victim, netcost.waited_for(timeline)))
with attempt():
    say(looking_story.beside_answer(timeline, victim))

# %%
if victim:
    parts = answer.parts_of(timeline, victim)
    with picture(f"Where the CPU time of {victim} went", 2.6) as (_, ax):
        monitor_ns = words.known(lost["monitor_ns"])
        displaced_ns = words.known(lost["displaced_ns"]) or 0
        plots.answer(ax, parts, victim, monitor_ns, displaced_ns)

# %%
if len(thieves):
    rows = min(len(thieves), 9)
    with picture(f"What took time from {victim}, most first", 1.3 + 0.26 * rows) as (_, ax):
        plots.thieves(ax, thieves)
    say(stolen_story.queues_text(victim, queues))

# %% [markdown]
# ## One interrupt

# %%
example = example_module.moment(detail, victim)
if example:
    caption = f"Interrupts, polls, softirqs and task on CPU {example.cpu}: {example.what}"
    with picture(caption, 3.1 + 0.55 * len(example.others)) as (_, ax):
        plots.lanes(ax, *example.tables, example.cpu, example.window, example.taken, example.others)
say(explain.detail_text(timeline, detail))
say(explain.moment_text(capture, example), words.missing(capture, "napi:napi_poll"))

# %% [markdown]
# ## Victims and thieves
#
# Everybody who lost time, across; who took it, down. Shares are of the victim's time on CPU.

# %%
matrix = netcost.ledger(timeline)
say(ledger_page.html(matrix))

# %% [markdown]
# The same time by at whose cost it was spent, with what tasks waited off CPU for network work; and
# what a monitor shows of each task beside what it had.

# %%
if victim:
    classes = netcost.cost_classes(timeline)
    with picture("CPU time of the busiest tasks, by at whose cost it was spent", 3.4) as (_, ax):
        stolen_plots.classes(ax, classes)
    shares = netcost.effective_share(timeline)
    if shares["monitor_share"].notna().any():
        with picture("What a monitor shows of tasks, and what they had", 2.9) as (_, ax):
            stolen_plots.monitor(ax, shares)
    say(stolen_story.monitor_text(victim, shares))

# %% [markdown]
# ## Over time

# %%
bin_ns = plots.bin_width(timeline.duration_ns)
cpus = answer.cpus_of(timeline, victim)
gaps = timeline.coverage[timeline.coverage["cpu"].isin(cpus)]
bins = None
if cpus and timeline.duration_ns:
    window = (timeline.summary["start_ns"], timeline.summary["end_ns"])
    bins = netcost.rolling_stolen(timeline, bin_ns, bin_ns, victim=victim)
    with picture(f"Time on CPU of {victim} by what ran, over the window", 3.0) as (_, ax):
        plots.stolen_over_time(ax, bins, gaps, window, bin_ns, capture.start_ns)
say(explain.over_time_text(timeline, victim, cpus, gaps, bins, bin_ns))
if cpus and timeline.duration_ns:
    windows = netcost.rolling_stolen(timeline, victim=victim)
    say(stolen_story.windows_text(victim, windows, capture.start_ns))

# %% [markdown]
# ## At a stretch
#
# A total hides how long the task was held up at once, which is what its latency feels.

# %%
with attempt():
    stretches = netcost.episodes(timeline, victim)
    if stretches.total:
        rows = min(len(stretches.episodes), 8)
        with picture("The longest stretches without running", 1.2 + 0.28 * rows) as (_, ax):
            stolen_plots.longest(ax, stretches.episodes, capture.start_ns, rows)
    say(stolen_story.episodes_text(victim, stretches, capture.start_ns))

# %% [markdown]
# ## Handed over
#
# Softirqs that take too long are left to ksoftirqd. From then on a monitor sees them, as a task;
# whoever shares that CPU waits.

# %%
with attempt():
    handed = netcost.handovers(timeline)
    if len(handed.handovers):
        lanes = min(handed.handovers["comm"].nunique(), 8)
        many = max(lanes, min(handed.displaced["comm"].nunique(), 7))
        layout = {"ncols": 2, "width_ratios": [2, 1]}
        caption = "When kernel threads had network work, and who waited"
        with picture(caption, 1.0 + 0.26 * many, **layout) as (_, axes):
            window = (timeline.summary["start_ns"], timeline.summary["end_ns"])
            stolen_plots.when(axes[0], handed.handovers, window, capture.start_ns)
            stolen_plots.waited(axes[1], handed.displaced)
    waited_ns = words.known(lost["displaced_ns"]) if victim else None
    say(stolen_story.handovers_text(victim, handed, capture.start_ns, waited_ns))

# %% [markdown]
# ## Batches
#
# An interrupt costs less per packet the more packets it brings. A NAPI poll takes what has
# arrived, up to its budget; a NET_RX softirq makes one poll after another. Hollow bars: none at
# all.

# %%
lacking = words.missing(capture, "napi:napi_poll")
devices = explain.busiest_devices(detail.polls)
for device in devices:
    polls = detail.polls[detail.polls["device"] == device]
    if polls["work"].notna().any():
        with picture(f"Packets per poll of {device}, and time per packet", 2.7, ncols=2) as (
            _,
            axes,
        ):
            plots.batches(axes[0], polls, explain.budget_of(polls))
            plots.cost_per_packet(axes[1], polls)
            axes[0].set_title(device)
    say(explain.batch_text(device, polls))
say(lacking, explain.other_devices(detail.polls, devices), explain.busy_polls(detail))

# %%
net_rx = detail.softirqs[detail.softirqs["action"].astype(object) == "NET_RX"]
if len(net_rx) and not lacking:
    with picture("Packets per NET_RX softirq", 2.4) as (_, ax):
        plots.packets_per_softirq(ax, net_rx)
    say(explain.softirq_text(net_rx))
say(words.missing(capture, "irq:softirq_entry", "irq:softirq_exit"))

# %% [markdown]
# ## Three estimates of what the victim got
#
# A program that only computes can be asked. Its clock counts ticks; the blocks it got done,
# against those of the same run without the load, are what it really had; the trace says when
# nothing else had its CPU. They disagree, and that is a result.

# %%
lacking = explain_estimates.how_to_record(capture)
if capture.bundle and capture.bundle.victim:
    run = capture.victim_timeline()
    estimates = netcost.estimates(capture.bundle, run)
    if estimates["got_share"].notna().any():
        recorded = answer.choose_victim(timeline, losses)
        say(explain_estimates.whose_text(capture.bundle, victim, recorded))
        with picture("What the victim got by ticks, by trace, by work done", 1.7) as (_, ax):
            plots.estimates(ax, estimates)
        say(explain_estimates.estimates_text(capture.bundle, run, estimates))
say(lacking)

# %% [markdown]
# ## Before you use these figures

# %%
with attempt():
    say(looking_story.looking_text(timeline, victim))
say(words.caveats(capture, timeline))

# %% [markdown]
# **Words.** *On CPU*: from switch-in to switch-out, whoever used it. *Stolen*: interrupt-context
# time on top of a task that came from an interrupt, whoever's traffic it was. *Its own traffic*
# (synchronous): a softirq that the task raised itself, on its own send or receive path. *Perhaps
# network*: inter-processor and shared interrupts, which carry network work among others.
# *Scheduled*: network work in kernel threads such as ksoftirqd, which a monitor does show.
# *Unknown*: the capture cannot say; never counted as anything else. Every nanosecond of a CPU has
# one owner, and the owners add up to the window. A poll has no begin event: it begins where the
# softirq or the poll before it ended. Full definitions: `docs/definitions.md`.
