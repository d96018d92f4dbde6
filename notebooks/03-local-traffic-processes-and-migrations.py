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
# Two processes of one host talk to each other, and a new kernel makes them slower. Context
# switches, migrations, CPU time: everything has changed a little, and most of it is a red herring.
# **In whose time does the network's work run, whose work is it, how did the scheduler treat the
# two, and is any of that enough to explain a difference?**

# %% tags=["parameters"]
path = "../sample-data/local-migrations.netcost.tar.zst"  # what netcost.open_capture takes
victim = None  # a task by name; None: client and server, where two tasks exchange packets
buffer = None  # the ftrace instance of a trace.dat to read; None: the top one

# %%
import netcost_analysis as netcost
from netcost_analysis.questions import words
from netcost_analysis.questions.migration import plots as migration_plots
from netcost_analysis.questions.migration import words as migration_story
from netcost_analysis.questions.processes import plots, waits_of
from netcost_analysis.questions.processes import words as process_story
from netcost_analysis.questions.stolen_time import headline as answer
from netcost_analysis.report.notebook import attempt, picture, say, table

capture = netcost.open_capture(path, buffer)
timeline = capture.timeline()
say(words.facts(capture, timeline))
window = (timeline.summary["start_ns"], timeline.summary["end_ns"])
asked = victim is not None
victim = answer.choose_victim(timeline, netcost.stolen(timeline), victim)
tids, subjects = [], [victim] if asked else [victim, None] if victim else [None]

# %% [markdown]
# ## In whose time
#
# A softirq runs on top of whatever task is current, and most kernels charge that task. On loopback
# and veth that is usually the sender: its send raises NET_RX and runs it, up to the receiver's
# socket, before the send returns.

# %%
with attempt():
    rows = netcost.softirq_time(timeline)
    if len(rows):
        bars = min(rows["tid"].nunique(), 10)
        with picture("Softirq time by the task in whose context it ran", 1.3 + 0.25 * bars) as (
            _,
            ax,
        ):
            plots.softirqs_by_task(ax, rows)
    say(process_story.context_text(rows, timeline.duration_ns * len(timeline.summary["cpus"])))

# %% [markdown]
# ## Whose traffic
#
# What a task raised itself is its own. Of the rest the packets tell, where they were followed; a
# socket's data, or a wake-up, are weaker witnesses. What nothing tells stays unknown.

# %%
with attempt():
    owners = netcost.traffic_owners(timeline)
    network = owners[owners["is_network"] == "yes"]
    if len(network):
        shown = network.drop(columns="is_network").rename(columns={"ns": "softirq_ns"})
        table(shown.astype({"tid": str, "owner_tid": str}), rows=8)
    say(process_story.owners_text(capture, owners))
    pairs = netcost.traffic_pairs(timeline)
    if len(pairs):
        say(process_story.pairs_text(capture, pairs))
        shown = pairs.rename(columns={"ns": "softirq_ns"})
        if not shown["by_packet_share"].any():
            shown = shown.drop(columns="by_packet_share")
        table(shown.astype({"sender_tid": str, "receiver_tid": str}), rows=6)

# %% [markdown]
# ## Client against server

# %%
with attempt():
    ends = netcost.client_and_server(timeline)
    tids = [int(tid) for tid in ends["tid"]]
    subjects = subjects if asked else tids
    with picture("How client and server spent the window", 1.9) as (_, ax):
        plots.ends(ax, ends, timeline.duration_ns)
    say(process_story.ends_text(ends))

# %% [markdown]
# ## Switches and waits
#
# A task leaves a CPU because it has nothing to do (voluntary), or although it could go on
# (involuntary). Then it waits for one: from its wake-up, or from where it had to stop.

# %%
with attempt():
    switches = netcost.context_switches(timeline)
    chosen = tids or switches["tid"][:2].tolist()
    say(process_story.switches_text(switches, chosen))
    queued = netcost.run_queue(timeline)
    waited = waits_of(timeline.slices)
    waited = waited[waited["tid"].isin(chosen)]
    if waited["wait_ns"].notna().any():
        with picture("How long tasks waited for a CPU", 2.8) as (_, ax):
            plots.waits(ax, waited)
    if len(queued):
        # Its name before it executed the program is another row, of a wait or two.
        own = queued[queued["tid"].isin(chosen)]
        shown = (own if len(own) else queued).drop(columns="wait_share")
        table(shown.rename(columns={"ns": "waited_ns"}).astype({"tid": str}), rows=6)

# %% [markdown]
# ## Migrations
#
# Who was moved to another CPU, when and why.

# %%
with attempt():
    moved = netcost.migrations(timeline)
    if len(moved):
        names = moved["comm"].where(~moved["tid"].isin(tids)).nunique() + len(tids)
        with picture("Migrations over time, by task and cause", 1.3 + 0.24 * min(names, 11)) as (
            _,
            ax,
        ):
            migration_plots.moves(ax, moved, window, tuple(tids))
    say(migration_story.moves_text(moved, timeline.duration_ns))

# %% [markdown]
# ## Do migrations explain anything?
#
# A task that was migrated is compared with itself: just after against just before, and both
# against moments at which it was in the same state and stayed where it was. Without the latter
# every wake-up would look like a gain, for before it the task sleeps. What remains is the effect;
# multiplied by how often it happens, it is what migrations can have cost or gained in all.


# %%
def called(subject):
    if not isinstance(subject, int):
        return subject or "all tasks together"
    side = ends.loc[ends["tid"] == subject].iloc[0]
    return f"the {side['side']} ({side['comm']} {subject})"


with attempt():
    moved = netcost.migrations(timeline)
    for subject in subjects:
        verdict = netcost.migration_verdict(timeline, subject)
        say(migration_story.verdict_text(verdict, called(subject)))
    # The pictures are of whom most was moved; of all tasks where none of these was.
    counts = {
        subject: int((moved["tid" if isinstance(subject, int) else "comm"] == subject).sum())
        for subject in subjects
        if subject is not None
    }
    studied = max(counts, key=counts.get) if any(counts.values()) else None
    effects = netcost.migration_effect(timeline, studied, by_cause=False)
    measures = list(effects["measure"].unique())
    if effects["effect"].notna().any():
        say(
            words.filled(
                "<p>What goes with a migration of {name}. Lines are 95 % intervals; "
                "<i>not known</i>: too few could be studied, or in too few stretches of time.</p>",
                name=called(studied),
            )
        )
        with picture("The effect of migrations", 2.1, ncols=len(measures)) as (_, axes):
            for ax, measure in zip(axes, measures, strict=True):
                migration_plots.effects(ax, effects, measure)
    say(migration_story.effect_text(effects, called(studied)))

# %% [markdown]
# ## Before you use these figures

# %%
say(words.caveats(capture, timeline))

# %% [markdown]
# **Words.** *In the time of* a task: it was current, whoever's packets were handled. *Own traffic*:
# a softirq that the task raised on its own send or receive path. *Voluntary*, *involuntary*: as
# `/proc/PID/status` and `pidstat -w` count switches. *Effect*: a difference that goes with a
# migration. The scheduler moves a task when its CPU is wanted by another, so what follows a
# migration is not all of its making. Full definitions: `docs/definitions.md`.
