# Rules of comparability: hosts that are not alike, or were not left alone.

from collections.abc import Callable, Iterator
from typing import TypeVar

from ...comparison.comparison import Comparison
from ...comparison.run import Run
from .contexts import process_contexts
from .finding import Finding
from .host import Host, host_of
from .measured import measured

# Clocks that differ by more cannot be compared, or have to be thought of.
_SPEED_REFUSED, _SPEED_WARNED = 0.05, 0.01
# Of the CPUs' time, what the hypervisor or a neighbour may have had.
_STOLEN, _NEIGHBOUR = 0.01, 0.05
# Of the neighbours, those that a sentence names.
_NAMED = 3
# TASK_COMM_LEN without its NUL.
_COMM_LENGTH = 15
Fact = TypeVar("Fact")


def recorded(comparison: Comparison) -> Iterator[tuple[str, Run]]:
    # By side each run that has a recording.
    for side, runs in comparison.sides.items():
        yield from ((side, run) for run in runs.recorded)


def known(
    comparison: Comparison, fact: Callable[[Host], Fact | None]
) -> dict[str, list[tuple[Run, Fact]]]:
    # By side each recorded run of whose host this is known.
    found: dict[str, list[tuple[Run, Fact]]] = {side: [] for side in comparison.sides}
    for side, run in recorded(comparison):
        value = fact(host_of(run))
        if value is not None:
            found[side].append((run, value))
    return found


def _values(found: dict[str, list[tuple[Run, Fact]]]) -> dict[str, list[Fact]]:
    return {side: list(dict.fromkeys(value for _, value in runs)) for side, runs in found.items()}


def processor(comparison: Comparison) -> Iterator[Finding]:
    yield from _unlike(comparison, "processor", "refused", lambda host: host.model)


def cpu_number(comparison: Comparison) -> Iterator[Finding]:
    yield from _unlike(comparison, "cpu_number", "refused", lambda host: host.cpus)


def governor(comparison: Comparison) -> Iterator[Finding]:
    yield from _unlike(comparison, "governor", "warning", lambda host: host.governors)


def _unlike(
    comparison: Comparison, code: str, severity: str, fact: Callable[[Host], Fact | None]
) -> Iterator[Finding]:
    values = _values(known(comparison, fact))
    if len({one for some in values.values() for one in some}) > 1:
        yield Finding(code, severity, figures={"values": values})


def clock_speed(comparison: Comparison) -> Iterator[Finding]:
    hosts = [host_of(run) for _, run in recorded(comparison)]
    limited = all(host.limit_mhz for host in hosts)
    speeds = known(comparison, lambda host: host.limit_mhz if limited else host.mhz)
    every = [speed for runs in speeds.values() for _, speed in runs]
    apart = max(every) / min(every) - 1 if every and min(every) > 0 else 0.0
    if apart <= _SPEED_WARNED:
        return
    # What a scaled clock was at one moment is no proof of what it was later.
    moment = not limited and any(host.is_scaled for host in hosts)
    refused = apart > _SPEED_REFUSED and not moment
    yield Finding(
        "clock_speed",
        "refused" if refused else "warning",
        found=apart,
        limit=_SPEED_REFUSED if refused else _SPEED_WARNED,
        figures={"least": min(every), "most": max(every), "is_moment": moment},
    )


def settings(comparison: Comparison) -> Iterator[Finding]:
    # What no label says: net.core.skb_defer_max may differ where a label skb_defer_max does.
    values: dict[str, set[str]] = {}
    hosts = [host_of(run).settings for _, run in recorded(comparison)]
    for host in hosts:
        for name, value in host.items():
            values.setdefault(name, set()).add(value)
    for name, some in values.items():
        if len(some) > 1 and name.rpartition(".")[2] not in comparison.differs:
            yield Finding("settings", "warning", figures={"name": name, "values": sorted(some)})


def hypervisor(comparison: Comparison) -> Iterator[Finding]:
    for side, runs in known(comparison, lambda host: host.stolen_share).items():
        for run, share in runs:
            if share > _STOLEN:
                yield Finding("hypervisor", "warning", side, run.name, share, _STOLEN)


def unknown(comparison: Comparison) -> Iterator[Finding]:
    # What nobody recorded of a side's hosts is not alike for that.
    names: dict[str, Callable[[Host], object | None]] = {
        "the processor": lambda host: host.model,
        "the clock speed": lambda host: host.speed_mhz,
        "what a hypervisor took": lambda host: host.stolen_share,
        "the command of the load": lambda host: host.command,
    }
    missing: dict[str, list[str]] = {}
    for side, runs in comparison.sides.items():
        hosts = [host_of(run) for run in runs.recorded]
        missing[side] = [
            name for name, fact in names.items() if any(fact(host) is None for host in hosts)
        ]
        if not hosts and not _one_experiment(comparison):
            missing[side] = list(names)
    alike = missing["base"] == missing["new"]
    for side, some in list(missing.items())[: 1 if alike else None]:
        if some:
            yield Finding("unknown", "note", "" if alike else side, figures={"names": some})


def _one_experiment(comparison: Comparison) -> bool:
    # Runs of one command of the lab are of one host.
    runs = [run for side in comparison.sides.values() for run in side]
    return len({run.place and run.place[0] for run in runs}) == 1


def neighbour(comparison: Comparison) -> Iterator[Finding]:
    for side, run in recorded(comparison):
        own = measured(run)
        if own.switches is None:
            # Without sched_switch nobody knows whose time it was.
            continue
        rows = own.sums
        contexts = process_contexts(run, own, comparison)
        others = (contexts == "other") & (rows["context"] == "task")
        others &= rows["is_network"].astype(object) != "yes"
        command = host_of(run).command
        names = rows["comm"].astype("string").fillna("")
        others &= ~names.isin(_programs(run))
        names = names.mask(names == "", "without a name")
        whole = rows["ns"].sum()
        shares = rows[others].groupby(names[others])["ns"].sum().sort_values(ascending=False)
        shares = shares / whole if whole else shares
        if shares.sum() > _NEIGHBOUR:
            yield Finding(
                "neighbour",
                "warning" if command else "note",
                side,
                run.name,
                float(shares.sum()),
                _NEIGHBOUR,
                {
                    "tasks": [(str(name), float(one)) for name, one in shares[:_NAMED].items()],
                    "more": max(len(shares) - _NAMED, 0),
                    "is_load_known": bool(command),
                },
            )


def _programs(run: Run) -> set[str]:
    # What the commands of load and victim name: the kernel cuts a task's name.
    bundle = run.captures[0].bundle
    parts = (bundle.manifest.load, bundle.manifest.victim) if bundle else ()
    words = " ".join((part.command or "") for part in parts if part).split()
    return {word.strip("'\";&|()").rpartition("/")[2][:_COMM_LENGTH] for word in words} - {""}
