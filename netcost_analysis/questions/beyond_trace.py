# What a victim lost by its work, against a baseline, and how much of that its trace does not show.
# Without pandas, which the command line does not wait for.

from typing import NamedTuple

from ..capture.bundle import Bundle
from ..capture.manifest import Victim
from ..snapshots.service import service_work
from ..timeline.task import Group, Task, comm_of
from ..timeline.task_groups import recorded_victim
from ..timeline.timeline import Timeline
from ..units import duration, points, share
from .got_shares import baseline_got, own_ns, undisturbed_share, work_share
from .stolen import stolen_from

# Repeated runs differ by this much: the 28 idle pairs of sample-data/hidden-cost by 0.8 % in the
# median, 1.2 % in standard deviation.
_LEAST_NOISE = 0.012


class BeyondTrace(NamedTuple):
    """What the bundle's victim lost by its work, and how much of that its trace does not show.

    Shares are of what it does undisturbed; for a service, of what it did before the recording.
    untraced: why figures from the trace are None. noise_share: by how much its work may be off.
    baseline_share: the share of time that the baseline had its CPU, None where that was about all;
    a disturbed baseline is no measure. interrupts_share: the share of its run that interrupts on
    top of it had. hidden_share: what remains; hidden_ns: the same in time of its run, run_ns.
    may_be_paused: it ran in a guest that does not know when its host ran others.
    """

    victim: str
    service: bool
    lost_share: float
    noise_share: float
    baseline_share: float | None = None
    untraced: str = ""
    traced_lost_share: float | None = None
    hidden_share: float | None = None
    hidden_low_share: float | None = None
    hidden_high_share: float | None = None
    hidden_ns: int | None = None
    interrupts_share: float | None = None
    run_ns: int | None = None
    may_be_paused: bool = False


def beyond_trace(timeline: Timeline, victim: Task | None) -> BeyondTrace | None:
    """For the bundle's victim, where that is the task in question and its whole run is covered.

    None where the bundle lacks its work or a baseline's.
    """
    bundle = timeline.capture.bundle
    work = work_share(bundle) if bundle and bundle.victim else None
    if bundle is None or bundle.victim is None or work is None or not timeline.has_victims_run:
        return None
    tasks = [row.comm for row in timeline.owned_by() if row.of_task]
    recorded = recorded_victim(timeline, tasks)
    own, asked = comm_of(timeline, recorded), comm_of(timeline, victim)
    if recorded is None or (asked is not None and asked != own):
        return None
    if isinstance(recorded, Group) and victim is not None and not isinstance(victim, Group):
        # All tasks of a name, or one task, are not the service.
        return None
    service = bundle.victim.attached is not None
    noise = _noise(bundle, work)
    lost = BeyondTrace(own or "the victim", service, 1 - work, noise, baseline_got(bundle))
    traced, whole = _traced(bundle, timeline, recorded), undisturbed_share(bundle)
    if isinstance(traced, str):
        return lost._replace(untraced=traced)
    if not whole:
        return lost._replace(untraced="what it ran in its baseline was not recorded")
    hidden = traced.got / whole - work
    if hidden > 1:
        # No hidden cost doubles what a unit of work takes.
        times = f"{traced.got / whole / work:.1f} times" if work else "far more than"
        return lost._replace(untraced=f"it ran {times} what that work took in its baseline")
    # A disturbed baseline did less than it could have.
    least = work * (lost.baseline_share or 1)
    return lost._replace(
        traced_lost_share=1 - traced.got / whole,
        hidden_share=hidden,
        hidden_low_share=(traced.got - traced.unrecorded) / whole - work * (1 + noise),
        hidden_high_share=(traced.got + traced.unknown) / whole - least * (1 - noise),
        interrupts_share=traced.stolen,
        hidden_ns=round(hidden * whole * traced.run_ns),
        run_ns=traced.run_ns,
        may_be_paused=bundle.may_be_paused,
    )


def _noise(bundle: Bundle, work: float) -> float:
    # By how much the ratio of two runs' work may be off: repeated runs, the time that readings
    # take, differences between block sizes, and between a service's work before and after.
    baseline, later = bundle.baseline, bundle.afterwards
    if baseline is None:
        return _LEAST_NOISE
    off = [_LEAST_NOISE]
    for run in (bundle, baseline):
        done = None if run.speed_runs else service_work(run)
        if done is not None:
            off.append(done.error_s / done.seconds)
    if later is not None and later.work_rates:
        key, rate = next(iter(later.work_rates.items()))
        if before := baseline.work_rates.get(key):
            off.append(abs(rate / before - 1))
    idle = baseline.work_rates
    ratios = [rate / idle[key] for key, rate in bundle.work_rates.items() if idle.get(key)]
    if len(ratios) > 1 and work:
        off.append((max(ratios) - min(ratios)) / 2 / work)
    return min(max(off), 1.0)


class _Traced(NamedTuple):
    # Shares of the victim's run. got: what it ran itself by the trace; unrecorded: how much of that
    # may have been interrupts that were not recorded; unknown: time without a known owner on its
    # CPUs; stolen: what interrupts on top of it had. run_ns: its length.
    got: float
    stolen: float
    unrecorded: float
    unknown: float
    run_ns: int


def _traced(bundle: Bundle, timeline: Timeline, recorded: Task) -> _Traced | str:
    # Or why there is nothing.
    victim, window = bundle.victim or Victim(), bundle.manifest.window
    start, end = victim.start_ns, victim.end_ns
    if start is None or end is None or end <= start:
        return "its start and end were not recorded, and the trace may cover only part of its run"
    if timeline.missing["on_cpu"]:
        return "sched:sched_switch was not recorded"
    if (window.start_ns or 0) > start or (window.end_ns or end) < end:
        return "the trace covers only part of its run"
    # Unknown time before and after its run does not count.
    if timeline.window.of != "victim":
        timeline = timeline.capture.timeline(window="victim")
    own = own_ns(bundle, timeline)
    if own is None:
        return "the trace does not show it"
    unknown = sum(
        row.ns
        for row in timeline.owned_by()
        if row.context == "unknown" and victim.cpu in (None, row.cpu)
    )
    row, run_ns = stolen_from(timeline, recorded).row, end - start
    taken, stolen = row["stolen_unrecorded_ns"], row["stolen_ns"]
    return _Traced(
        own / run_ns,
        stolen / run_ns,
        min(taken, own) / run_ns,
        min(unknown, run_ns) / run_ns,
        run_ns,
    )


def beyond_words(beyond: BeyondTrace) -> list[str]:
    """In sentences."""
    first = _by_work(beyond)
    low, high = beyond.hidden_low_share, beyond.hidden_high_share
    if beyond.hidden_share is None or low is None or high is None:
        why = f"How much work interrupts took from it is unknown: {beyond.untraced}."
        return [first, why]
    lost = beyond.traced_lost_share or 0.0
    shown = f"{points(lost)} points" if lost >= 0.0005 else "less than 0.1 points"
    if beyond.baseline_share is not None:
        # What a disturbed baseline would have done undisturbed is only estimated.
        traced = f"In the trace it ran for {share(1 - lost)} of the time that it would have had"
    elif lost <= 0:
        traced = "The trace shows no loss"
    elif beyond.lost_share > beyond.noise_share:
        traced = f"The trace explains {shown} of that"
    else:
        traced = f"In the trace it ran {shown} less than undisturbed"
    taken = share(beyond.interrupts_share) or "nothing"
    traced += f" (interrupts on top of it took {taken} of its run)"
    if beyond.baseline_share is not None:
        return [first, f"{traced}."]
    if high < 0:
        return [
            first,
            f"{traced}. That is {points(-beyond.hidden_share)} points ({points(-high)} to "
            f"{points(-low)}) more than its work lost, so something that no trace shows slowed its "
            "baseline.",
        ]
    if low <= 0:
        rest = f"{points(beyond.hidden_share, sign=True)} points"
        rest += f" ({points(low, sign=True)} to {points(high, sign=True)})"
        return [first, f"{traced}. The difference, {rest}, cannot be distinguished from 0."]
    rest = f"{points(beyond.hidden_share)} points ({points(low)} to {points(high)})"
    run = f"{duration(beyond.hidden_ns)} of its run of {duration(beyond.run_ns)}"
    pauses = ", pauses of this guest by its host" if beyond.may_be_paused else ""
    causes = f"interrupt entry and exit, cold caches{pauses}, and tracing itself"
    return [
        first,
        f"{traced}. The other {rest}, {run}, are hidden cost outside every tracepoint: {causes}.",
    ]


def _by_work(beyond: BeyondTrace) -> str:
    lost, base = beyond.lost_share, "undisturbed"
    if beyond.service:
        base = "before the recording"
    if (alone := beyond.baseline_share) is not None:
        return (
            f"The baseline was disturbed: it had its CPU for only {share(alone)} of the time. So "
            f"{beyond.victim} did {share(1 - lost)} of its work, and about "
            f"{share((1 - lost) * alone)} of what it would do undisturbed. Record the baseline "
            "again where nothing else runs."
        )
    noise = f"(repeated runs differ by about {share(beyond.noise_share)})"
    if lost > beyond.noise_share:
        return f"{beyond.victim} did {share(lost)} less work than {base} {noise}."
    return f"{beyond.victim} did as much work as {base}: {share(1 - lost)} of it {noise}."
