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
# A network interface costs CPU time in its interrupts and in the polls that these lead to, on
# whichever CPU they happen. No counter of the kernel has that time by interface. **Which device
# takes how much of which CPU, for how many packets, and is one of them an interface that nobody
# uses?** The times are from the kernel's tracepoints, the packets from its counters, over the same
# stretch of time.

# %% tags=["parameters"]
path = "../sample-data/quiet-interface.netcost.tar.zst"  # what netcost.open_capture takes
buffer = None  # the ftrace instance of a trace.dat to read; None: the top one
interval_s = 1.0  # what a monitor would believe that its interval is

# %%
import netcost_analysis as netcost
from netcost_analysis.capture.requires import unrecorded
from netcost_analysis.plots import bin_width
from netcost_analysis.questions import words as shared_words
from netcost_analysis.questions.devices import plots, words, words_traffic
from netcost_analysis.questions.devices.device_cost import comparable, lacking
from netcost_analysis.questions.devices.device_flags import unseen as not_looked_at
from netcost_analysis.questions.devices.device_lines import IRQ_EVENTS
from netcost_analysis.questions.devices.device_time import over_time
from netcost_analysis.questions.devices.words_flags import flag_list
from netcost_analysis.report.notebook import attempt, picture, say, table

capture = netcost.open_capture(path, buffer)
timeline = capture.timeline()
say(shared_words.facts(capture, timeline))

# %% [markdown]
# ## The answer

# %%
costs = flags = None
with attempt():
    costs = netcost.device_cost(timeline)
with attempt():
    flags = netcost.device_flags(timeline)
if costs is not None:
    named = not unrecorded(capture, "napi:napi_poll")
    state = "whether interfaces are up" not in not_looked_at(timeline)
    say(words.answer(costs, flags, lacking(timeline), named, state))

# %% [markdown]
# ## Devices by CPUs
#
# Solaris had `intrstat`: the share of each CPU that each device's interrupts take, and how many
# there are. On Linux the interrupt only asks for work that a softirq then does, in polls of the
# device, so a device's time here is that of its interrupts and its polls. Interrupt lines of other
# devices are rows of their own.

# %%
with attempt():
    matrix = netcost.device_matrix(timeline)
    rows = min(len(matrix.cpu_share), 14)
    if rows:
        with picture("Share of each CPU's time by device", 0.9 + 0.36 * rows) as (_, ax):
            plots.matrix(ax, matrix.cpu_share, matrix.interrupts_per_s)
    say(words.matrix_text(netcost.device_time(timeline), timeline))
    lines = netcost.device_lines(timeline)
    unseen = shared_words.missing(capture, "napi:napi_poll")
    say(unseen or words.lines_text(lines), shared_words.missing(capture, *IRQ_EVENTS))

# %% [markdown]
# ## What each carried, and its CPU time meanwhile
#
# Packets and bytes are what the interface's counters grew by, over the time between two readings.

# %%
traffic = None
if capture.bundle:
    with attempt():
        traffic = netcost.device_traffic(capture.bundle)
        whole = netcost.device_traffic(capture.bundle, whole=True)
        table(words_traffic.totals(whole), rows=20, names=words_traffic.TOTALS)
        say(words_traffic.nominal_text(whole, netcost.interfaces(capture.bundle)))
if costs is not None and timeline.duration_ns:
    bin_ns = bin_width(timeline.duration_ns)
    window = (timeline.summary["start_ns"], timeline.summary["end_ns"])
    sums = timeline.sums(bin_ns)
    comparable = traffic is not None and comparable(timeline)
    for device in words.busy_devices(costs):
        bins = over_time(sums, lines, device)
        timed = bins["ns"].sum() > 0
        beside = comparable and traffic[traffic["device"] == device]["namespace"].nunique() == 1
        if not timed and not beside:
            continue
        columns = int(timed) + beside
        with picture(f"Time and traffic of {device}", 2.4, ncols=columns, squeeze=False) as (
            _,
            axes,
        ):
            axes[0, 0].set_title(device)
            if timed:
                plots.time_shares(axes[0, 0], bins, window, bin_ns, capture.start_ns)
            if beside:
                last = axes[0, columns - 1]
                plots.traffic(last, traffic[traffic["device"] == device], capture.start_ns)
                last.set_xlim(*((one - capture.start_ns) / 1e9 for one in window))
if not capture.bundle:
    say(f"<p class='missing'>{lacking(timeline)}.</p>")

# %% [markdown]
# ## What a packet costs
#
# Time over packets, both between the first and the last reading of the counters. A poll's time
# holds the stack above it as far as IP and TCP receive in it, and whatever else that poll had to
# do, such as completing sent packets, which it does not count.

# %%
if costs is not None and len(costs):
    known = costs[costs["ns_per_work"].notna()]
    if len(known):
        rows = min(len(known), 8)
        with picture("CPU time per packet received, by device", 0.9 + 0.4 * rows) as (_, ax):
            plots.per_packet(ax, costs)
    table(words.price_list(costs), rows=20, names=words.PRICES)
    say(words.cost_text(costs))

# %% [markdown]
# ## Over the true interval
#
# Who asks to sleep for a second on a loaded host is woken later. A tool that divides by the
# interval it asked for then shows rates that never were, and can find a link busier than it can be.

# %%
if capture.bundle:
    with attempt():
        read = netcost.assumed_rates(
            capture.bundle, interval_s, words_traffic.folder_of(capture.bundle)
        )
        namespaces = read.groupby("device")["namespace"].nunique()
        busy = [one for one in words.busy_devices(costs) if namespaces.get(one) == 1]
        if busy:
            of_one = read[read["device"] == busy[0]]
            origin_ns = int(of_one["start_ns"].min())
            with picture(f"True rates of {busy[0]}, and over assumed intervals", 2.4) as (_, ax):
                plots.misread(ax, of_one, interval_s, origin_ns)
                ax.set_title(busy[0])
                ax.set_xlabel("time since the first sample, s")
        say(words_traffic.misread_text(read, interval_s))
else:
    say(f"<p class='missing'>{lacking(timeline)}.</p>")

# %% [markdown]
# ## Where packets found no room

# %%
if capture.bundle:
    with attempt():
        full = netcost.device_saturation(capture.bundle)
        say(words.saturation_text(full))
        grown = full[(full["count"] > 0).fillna(False)]
        if len(grown):
            place = ["namespace"] if grown["namespace"].nunique() > 1 else []
            table(grown[["layer", *place, "device", "cpu", "counter", "count", "per_s"]], rows=12)
else:
    say(f"<p class='missing'>{lacking(timeline)}.</p>")

# %% [markdown]
# ## What looks wrong

# %%
if flags is not None:
    say(flag_list(flags, not_looked_at(timeline)))

# %% [markdown]
# ## Before you use these figures

# %%
say(shared_words.caveats(capture, timeline))

# %% [markdown]
# **Words.** *Poll*: a device's driver taking packets, up to a budget, in a softirq. *Backlog*: the
# polls that have no device; receive packet steering, veth without NAPI and loopback use them.
# *Work*: packets that a poll received. *Utilisation*: the busier direction over the link's speed,
# NA where that is unknown; a veth says 10 Gbit/s, a nominal speed. A device's time does not hold
# what its packets cost in system calls, nor what the softirq did outside its polls. Full
# definitions: `docs/definitions.md`.
