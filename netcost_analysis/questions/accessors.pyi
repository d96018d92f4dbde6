# Written by `make reference` from the declarations of questions: not to be edited.

import collections.abc
from typing import Any, Literal, Optional

from netcost_analysis.opening.experiment import Experiment

from netcost_analysis.answers.answer import Answer
from netcost_analysis.answers.ask import Ask

class RecordingCompleteness:
    def caveats(self) -> Answer:
        """What to know before using the figures: what is missing, doubtful or estimated."""

    def completeness(self) -> Answer:
        """Whether a recording has all that its host counted: softirqs, interrupts, switches."""

    def coverages(self) -> Answer:
        """How much of the timeline was recorded and has an owner, and how many packets were timed."""

    def provenance(self, *, experiment: Any = ...) -> Answer:
        """Which recording and which versions the figures come from, with a checksum."""

    def recording(self) -> Answer:
        """What this recording is: its recorder, host and length, and how much of it is known."""

    def unanswered(self) -> Answer:
        """Which questions this capture cannot answer, and what is missing for each."""


class RecordingStolenTime:
    def cgroups(self) -> Answer:
        """Where the time on CPU of each cgroup's tasks went."""

    def cost_classes(self, *, by: Literal['comm', 'tid', 'cpu', 'device'] = ...) -> Answer:
        """Where all CPU time went, by victim, cost class and whether it was network."""

    def effective_share(self, *, by: Literal['comm', 'tid', 'cpu', 'device'] = ...) -> Answer:
        """The share of a CPU that each victim effectively had, against what a monitor shows."""

    def episodes(self, *, victim: int | str | None = ..., most: int = ..., gap_ns: int = ...) -> Answer:
        """The longest episodes in which interrupts kept one task from running."""

    def example(self, *, victim: int | str | None = ...) -> Answer:
        """One typical interrupt of a victim, with everything around it."""

    def handovers(self) -> Answer:
        """Each time ksoftirqd or a NAPI thread had network work."""

    def headline(self, *, victim: int | str | None = ...) -> Answer:
        """How much of a victim's time on CPU packet processing took, and which devices did."""

    def ledger(self, *, by: Literal['comm', 'tid', 'cpu', 'device'] = ...) -> Answer:
        """The victim x thief matrix of a timeline."""

    def lifetimes(self, *, by: Literal['comm', 'tid', 'cpu', 'device'] = ...) -> Answer:
        """How long each victim lived within the window, and what it did with that time."""

    def network_cost(self) -> Answer:
        """What networking cost in total and on each CPU, whichever task was current, idle CPUs too."""

    def over_time(self, *, victim: int | str | None = ..., bin_ns: int | None = ...) -> Answer:
        """What a victim's time on CPU went to over the capture, in adjacent bins."""

    def queues(self) -> Answer:
        """Which interrupt line each NAPI instance is polled for."""

    def rolling_stolen(self, *, window_ns: int | None = ..., step_ns: int | None = ..., by: Optional[Literal['comm', 'tid', 'cpu', 'device']] = ..., victim: int | str | None = ...) -> Answer:
        """How much was stolen, in windows that roll over the timeline."""

    def stolen(self, *, by: Literal['comm', 'tid', 'cpu', 'device'] = ...) -> Answer:
        """Where each victim's time on CPU went."""

    def thieves(self, *, by: Literal['comm', 'tid', 'cpu', 'device'] = ..., victim: int | str | None = ...) -> Answer:
        """What took a victim's time, largest first, down to device and queue."""

    def waited_for(self, *, by: Literal['comm', 'tid', 'cpu', 'device'] = ...) -> Answer:
        """Which tasks had the CPU while each victim was runnable and waited for it."""


class RecordingBatches:
    def detail_window(self) -> Answer:
        """Which part of a very large capture is shown softirq by softirq and poll by poll."""

    def device_batches(self) -> Answer:
        """How many packets the polls of each device received."""

    def irq_gaps(self) -> Answer:
        """Time from one interrupt of a line to the next on the same CPU, vectors included."""

    def kernel_limits(self) -> Answer:
        """The softirq limits of a bundle's host; all None for a bare recording."""

    def long_softirqs(self, *, longer_ns: int = ..., fewer_packets: int = ..., longest: int = ...) -> Answer:
        """NET_RX softirqs that took long for few packets, and the longest few of all."""

    def net_rx_totals(self) -> Answer:
        """What NET_RX softirqs did and took in total; what a packet costs alone and with others."""

    def packet_costs(self, *, sizes: tuple[int, ...] = ...) -> Answer:
        """What a packet costs by batch size, from the line of poll_costs and what was measured."""

    def poll_costs(self, *, by: Literal['device', 'cpu'] = ..., min_polls: int = ..., min_works: int = ..., min_spread: float = ...) -> Answer:
        """Per device, the fixed cost of a poll and the marginal cost of a packet, with intervals."""

    def poll_sizes(self, *, by: Literal['device', 'cpu'] = ...) -> Answer:
        """Packets per poll: how often each batch size occurred, by device, CPU and budget."""

    def raise_delays(self) -> Answer:
        """Time from a softirq's first raise to its entry, by vector, origin and where it ran."""

    def rps_dispatch(self) -> Answer:
        """NET_RX that polled nothing and that no interrupt raised: the sending side of RPS."""

    def softirq_chains(self) -> Answer:
        """Each NET_RX softirq: what raised it, how long it waited, what it polled, where its time went."""

    def softirq_lengths(self) -> Answer:
        """How long softirqs run, by vector: histograms that can be added up over recordings."""

    def softirq_runs(self, *, hz: int | None = ...) -> Answer:
        """The runs of __do_softirq: how many rounds each made, and what ended it."""

    def softirq_sizes(self) -> Answer:
        """Polls and packets per NET_RX softirq: how often each pair occurred."""

    def squeezes(self, *, budget: int | None = ..., usecs: int | None = ..., hz: int | None = ...) -> Answer:
        """How often NET_RX stopped at a limit, and whether softnet_stat's time_squeeze agrees."""


class RecordingProcesses:
    def client_and_server(self, *, client: int | str | None = ..., server: int | str | None = ...) -> Answer:
        """The two endpoints of local traffic, side by side."""

    def context_switches(self, *, by: Literal['tid', 'comm', 'cpu'] = ...) -> Answer:
        """How often each task left a CPU, and whether it did so voluntarily."""

    def run_queue(self, *, by: Literal['tid', 'comm', 'cpu'] = ...) -> Answer:
        """How long runnable tasks waited for a CPU, and why."""

    def scheduler_rates(self) -> Answer:
        """How often the scheduler switched, preempted and woke client, server and others."""

    def skb_frees(self) -> Answer:
        """Which task freed packet buffers, on which CPU and in which context."""

    def softirq_time(self, *, by: Literal['tid', 'comm', 'cpu'] = ...) -> Answer:
        """Softirq time by the task that it ran on top of, by action and cost class."""

    def traffic_owners(self) -> Answer:
        """Softirq time by the process that owned the traffic, and by the process it ran in."""

    def traffic_pairs(self) -> Answer:
        """Who sent to whom on this host: the softirqs whose sender and receiver are both known."""


class RecordingMigration:
    def migration_effect(self, *, victim: int | str | None = ..., widths_ns: collections.abc.Sequence[int] = ..., by_cause: bool = ...) -> Answer:
        """What migrations did to the tasks that were migrated: an event study."""

    def migration_rates(self, *, by: Literal['tid', 'comm', 'cpu'] = ...) -> Answer:
        """How often tasks were migrated, by cause."""

    def migration_verdict(self, *, victim: int | str | None = ..., horizon_ns: int = ...) -> Answer:
        """Whether migrations explain any of what a task got: yes, no, or cannot tell."""

    def migrations(self) -> Answer:
        """Every migration: its cause, what held either CPU, and how long the task then waited."""


class RecordingDevices:
    def assumed_rates(self, *, interval_s: float = ..., folder: str | None = ...) -> Answer:
        """The rates that a tool shows if it assumes the interval that it asked for."""

    def device_cost(self, *, by: Literal['device', 'master'] = ...) -> Answer:
        """What a packet of each device costs: CPU time over what it carried in the same time."""

    def device_flags(self) -> Answer:
        """What looks wrong with the network interfaces, and why."""

    def device_lines(self) -> Answer:
        """Which network device each interrupt line serves, and how that is known."""

    def device_matrix(self) -> Answer:
        """Devices by CPU: the share of each CPU's time that each took, and interrupts per second."""

    def device_saturation(self) -> Answer:
        """Every counter of packets that found a queue full, from before the load to after it."""

    def device_summary(self) -> Answer:
        """Which device costs most CPU time, and the most serious problem found with any."""

    def device_time(self) -> Answer:
        """How much CPU time each device took on each CPU, in interrupts and in polls."""

    def device_time_series(self, *, bin_ns: int | None = ...) -> Answer:
        """How much CPU time each device took, bin by bin, in interrupts and in polls."""

    def device_totals(self, *, folder: str = ..., sides: bool = ...) -> Answer:
        """What each interface received and sent from the first reading of net/dev to the last."""

    def device_traffic(self, *, folder: str = ..., sides: bool = ...) -> Answer:
        """What each interface received and sent, over the true time between readings of net/dev."""

    def interfaces(self) -> Answer:
        """What is known about each network interface of the host, before and after recording."""


class RecordingAccounting:
    def account_reasons(self, *, calibration: Experiment | None = ...) -> Answer:
        """Why each account of what the victim got can be wrong, on the kernel that kept it."""

    def accounts(self, *, hidden_ns: float | None = ..., hidden_from: str = ..., calibration: Experiment | None = ...) -> Answer:
        """Every estimate of the share of wall time that the bundle's victim got, and how each can err."""

    def cpu_accounts(self) -> Answer:
        """Where the time of the victim's CPU went, according to three accounts of one run."""

    def estimates(self) -> Answer:
        """Three estimates of the share of wall time that the bundle's victim got."""


class RecordingFunctions:
    def components(self, *, cpu: int | None = ..., event: str | None = ..., start_s: float | None = ..., end_s: float | None = ..., rules: str | None = ...) -> Answer:
        """Which part of the kernel's work took the CPUs' time, by the call paths of samples."""

    def counters_by_component(self, *, device: str | None = ..., direction: Optional[Literal['rx', 'tx']] = ..., cpu: int | None = ..., rules: str | None = ...) -> Answer:
        """What the processor's counters show per component: instructions per cycle, misses, stalls."""

    def functions(self, *, cpu: int | None = ..., event: str | None = ..., start_s: float | None = ..., end_s: float | None = ..., rules: str | None = ..., user: bool = ...) -> Answer:
        """Which functions took the CPUs' time, and which component each belonged to."""

    def interrupt_components(self, *, event: str | None = ..., rules: str | None = ...) -> Answer:
        """What the kernel did in interrupt context, by device, interrupted task and component."""

    def memory_loads(self, *, cpu: int | None = ..., event: str | None = ..., rules: str | None = ...) -> Answer:
        """Which memory loads were slow, by component and by the data that they read."""

    def packet_components(self, *, device: str | None = ..., direction: Optional[Literal['rx', 'tx']] = ..., cpu: int | None = ..., event: str | None = ..., rules: str | None = ...) -> Answer:
        """What each packet of a device cost, by component, with sampling intervals."""

    def unclassified(self, *, event: str | None = ..., rules: str | None = ...) -> Answer:
        """Which kernel functions no rule assigns to a component, and which several rules name."""


class RecordingTracingOverhead:
    def corrected_stolen(self, *, by: Literal['comm', 'tid', 'cpu', 'device'] = ..., victim: int | str | None = ...) -> Answer:
        """The figures of stolen(), with and without the cost of tracing."""

    def event_cost(self) -> Answer:
        """What one traced event costs, from each available source, the best first."""

    def network_overhead(self, *, victim: int | str | None = ...) -> Answer:
        """How much of the time that packet processing took from a victim is tracing itself."""

    def tracing_cost(self, *, by: Literal['comm', 'tid', 'cpu', 'device'] = ...) -> Answer:
        """What tracing took from each CPU or victim."""


class RecordingRemedies:
    def remedies(self, *, victim: int | str | None = ...) -> Answer:
        """The most that each remedy could give back to a victim, and who would pay for it."""


class RecordingCounters:
    def cpu_counters(self) -> Answer:
        """What each CPU's counters show: instructions per cycle, misses and stalls, also per packet."""


class RecordingEnergy:
    def energy_by_owner(self, *, domain: str | None = ...) -> Answer:
        """A domain's energy, charged by busy time to tasks, network work and other interrupts."""

    def idle_wakeups(self, *, gap_ns: int = ...) -> Answer:
        """How often idle CPUs were woken, by what, and how often for packets."""

    def power(self) -> Answer:
        """How much energy the machine used, by domain: joules, watts and the idle floor."""


class RecordingAsk(Ask):
    @property
    def completeness(self) -> RecordingCompleteness: ...
    @property
    def stolen_time(self) -> RecordingStolenTime: ...
    @property
    def batches(self) -> RecordingBatches: ...
    @property
    def processes(self) -> RecordingProcesses: ...
    @property
    def migration(self) -> RecordingMigration: ...
    @property
    def devices(self) -> RecordingDevices: ...
    @property
    def accounting(self) -> RecordingAccounting: ...
    @property
    def functions(self) -> RecordingFunctions: ...
    @property
    def tracing_overhead(self) -> RecordingTracingOverhead: ...
    @property
    def remedies(self) -> RecordingRemedies: ...
    @property
    def counters(self) -> RecordingCounters: ...
    @property
    def energy(self) -> RecordingEnergy: ...

class ExperimentBatches:
    def rate_curve(self, *, curves: tuple[str, ...] | None = ...) -> Answer:
        """The CPU share of networking by packet rate, and what the cost of polls and packets predicts."""


class ExperimentAccounting:
    def hidden_cost(self) -> Answer:
        """What an interrupt costs beyond what tracepoints enclose."""

    def hidden_cost_predictions(self, *, held_out: Literal['rate', 'repeat', 'both'] = ...) -> Answer:
        """Whether the hidden cost predicts the loss of runs that it was not fitted on."""


class ExperimentFunctions:
    def components_by_size(self, *, event: str | None = ..., rules: str | None = ...) -> Answer:
        """Where a packet's time goes, by component, over sizes of write and read."""

    def findings(self, *, event: str | None = ..., rules: str | None = ...) -> Answer:
        """Which findings of Liao and Bhuyan (2012) hold here, which do not, and which cannot be tested."""


class ExperimentComparison:
    def one_cpu_control(self, *, compared: str = ..., base: str | None = ..., new: str | None = ..., metric: str = ..., control: str = ..., one: str = ..., two: str = ...) -> Answer:
        """Whether a change is still there where client and server share one CPU."""


class ExperimentSweep:
    def by_rate(self) -> Answer:
        """What each packet rate costs on each data path, and how many packets arrive, with intervals."""

    def cheaper_path(self, *, metric: str = ...) -> Answer:
        """Which data path is cheaper at each packet rate, with the interval of the difference."""

    def cpu_by_rate(self) -> Answer:
        """What mpstat shows for the measured CPU at each rate on each data path."""

    def destinations(self, *, metric: str = ...) -> Answer:
        """What the same packets cost to one destination and to two: the difference at each rate."""

    def made_by(self) -> Answer:
        """How an experiment was made: kernel, times, checksum, versions, and the command to repeat it."""

    def saturation(self) -> Answer:
        """Where each curve of a sweep ends: the measured end, its cause, and the predicted end."""


class ExperimentCounters:
    def counters_by_step(self) -> Answer:
        """What each CPU's counters show in each step of an experiment, such as sizes of I/O."""


class ExperimentEnergy:
    def energy_by_size(self) -> Answer:
        """What a gigabyte and a packet cost in energy, in each step of an experiment, by domain."""


class ExperimentAsk(Ask):
    @property
    def batches(self) -> ExperimentBatches: ...
    @property
    def accounting(self) -> ExperimentAccounting: ...
    @property
    def functions(self) -> ExperimentFunctions: ...
    @property
    def comparison(self) -> ExperimentComparison: ...
    @property
    def sweep(self) -> ExperimentSweep: ...
    @property
    def counters(self) -> ExperimentCounters: ...
    @property
    def energy(self) -> ExperimentEnergy: ...

class ComparisonFunctions:
    def component_changes(self, *, device: str | None = ..., direction: Optional[Literal['rx', 'tx']] = ..., event: str | None = ..., rules: str | None = ...) -> Answer:
        """How the cost of a packet changed, by component, from base to new."""


class ComparisonComparison:
    def changes(self) -> Answer:
        """What changed from base to new, metric by metric, with intervals."""

    def comparability(self) -> Answer:
        """Whether the sides can be compared at all, and what may be wrong with a comparison."""

    def cost_tree(self) -> Answer:
        """Where the change in CPU time per unit of work went, as a tree that sums exactly."""

    def observations(self) -> Answer:
        """Each repeat or block of time in which a metric of the comparison was observed."""

    def other_causes(self) -> Answer:
        """Whether migrations, switches, preemptions, wake-ups or utilisation explain the change."""

    def runs_compared(self) -> Answer:
        """Which runs are compared: each with its recording's checksum, host, command and coverage."""

    def throughput_prediction(self) -> Answer:
        """The throughput that the bottleneck's extra softirq time predicts, beside the measured one."""


class ComparisonAsk(Ask):
    @property
    def functions(self) -> ComparisonFunctions: ...
    @property
    def comparison(self) -> ComparisonComparison: ...

class FleetFleet:
    def by_device(self) -> Answer:
        """What networking costs by device: share stolen from tasks, time per packet, batches."""

    def by_driver(self) -> Answer:
        """What networking costs by driver: share stolen from tasks, time per packet, batches."""

    def by_host(self) -> Answer:
        """What networking costs by host: share stolen from tasks, time per packet, batches."""

    def by_kernel(self) -> Answer:
        """What networking costs by kernel: share stolen from tasks, time per packet, batches."""

    def fleet_captures(self) -> Answer:
        """The captures: their hosts, kernels and times, and how much each holds."""

    def fleet_poll_sizes(self, *, captures_by: Literal['all', 'host', 'kernel', 'device', 'driver'] = ...) -> Answer:
        """Packets per poll in all captures together: exact sums of their histograms."""

    def fleet_softirq_lengths(self, *, captures_by: Literal['all', 'host', 'kernel', 'device', 'driver'] = ...) -> Answer:
        """How long softirqs ran in all captures together: exact sums of their histograms."""

    def outliers(self, *, far: float = ...) -> Answer:
        """Captures far from others of their kernel and driver, and the part of the cost that differs."""

    def trend(self) -> Answer:
        """When the cost of packets, or the share stolen, changed, on which kernel and driver."""

    def unreadable(self) -> Answer:
        """Captures that could not be read, and why."""


class FleetAsk(Ask):
    @property
    def fleet(self) -> FleetFleet: ...
