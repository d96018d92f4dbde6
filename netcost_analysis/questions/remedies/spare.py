# What other CPUs could take over without taking it from a task.

from typing import NamedTuple

from ...timeline.owners import by_total, summed
from ...timeline.timeline import Timeline


class Spare(NamedTuple):
    # Of a CPU, or of several: idle_ns surely, idle_max_ns with what nobody is known to have had.
    # comm: the task that had most of it otherwise, None for none.
    cpu: int | None
    idle_ns: int
    idle_max_ns: int
    comm: str | None


def spares(timeline: Timeline, cpus: set[int]) -> list[Spare]:
    # Of each of some CPUs, the most idle first.
    owned = timeline.owned_by()
    idle = summed((row.cpu, row.ns) for row in owned if row.context == "idle")
    nobodys = (row for row in owned if row.context == "unknown" and not row.of_task)
    unknown = summed((row.cpu, row.ns) for row in nobodys)
    found = []
    for cpu in sorted(cpus):
        tasks = summed((row.comm, row.ns) for row in owned if row.of_task and row.cpu == cpu)
        surely = idle.get(cpu, 0)
        comm = next(iter(by_total(tasks)), None)
        found.append(Spare(cpu, surely, surely + unknown.get(cpu, 0), comm))
    return sorted(found, key=lambda one: (-one.idle_ns, -one.idle_max_ns))


def together(every: list[Spare]) -> Spare:
    # All of them as one.
    idle_ns, idle_max_ns = sum(one.idle_ns for one in every), sum(one.idle_max_ns for one in every)
    return Spare(None, idle_ns, idle_max_ns, None)
