# Timelines as text: of each CPU the task that it begins with (none: idle), and what happens when.
#
#   CPU 0 openssl: 90 irq 32, 95 raise NET_RX, 99 end irq 32, 100 NET_RX, 150 poll eth0 8,
#                  160 end NET_RX, 200 switch ksoftirqd/0, 300 switch openssl asleep, 400 lost 5
#   CPU 1: 110 waking udpsink, 120 switch udpsink

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support import told
from support.native_tables import Answer, assert_conserved
from support.perfdata import Cpu, Recording, cpu
from support.perfdata import happenings as h
from support.perfdata.tracepoints import ACTIONS

TASKS = {one.comm: one for one in vars(told).values() if isinstance(one, h.Task)}
# In which state a task is switched out; runnable, where nothing is said.
STATES = {"asleep": 1, "preempted": 256}


def drawn(text: str) -> tuple[Cpu, ...]:
    parts = re.split(r"\bCPU (\d+)(?: (\S+))?: ", text)[1:]
    return tuple(
        cpu(int(number), *happenings(what, cpu=int(number)), task=task_of(task) if task else None)
        for number, task, what in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    )


def recorded(*timeline: str | Cpu, **settings: Any) -> Recording:
    parts = (drawn(one) if isinstance(one, str) else (one,) for one in timeline)
    cpus = tuple(cpu for part in parts for cpu in part)
    settings.setdefault("known", tuple(one.task for one in cpus if one.task))
    return Recording(cpus, **settings)


# What the ledger says of it. Every timeline must conserve, whatever else its test is about.
def ledger_of(folder: Path, *timeline: str | Cpu, **settings: Any) -> Answer:
    result = Answer(recorded(*timeline, **settings).write(folder / "perf.data"))
    assert_conserved(result)
    return result


# The same from each of the origins on.
def happenings(text: str, origins: Iterable[int] = (0,), cpu: int = 0) -> list[h.Happening]:
    clauses = [clause.split() for clause in text.split(",") if clause.strip()]
    return [happening(origin + int(at), what, cpu) for origin in origins for at, *what in clauses]


# openssl's CPU with the same at 1000, 2000 and so on, so many times.
def rounds(text: str, times: int = 5, *then: h.Happening) -> Cpu:
    last = then or (h.Waking(100_000, told.UDPSINK),)
    return cpu(
        0, *happenings(text, range(1000, 1000 + 1000 * times, 1000)), *last, task=told.OPENSSL
    )


# Of the cast by its name; any other as "name=tid".
def task_of(name: str, cpu: int = 0) -> h.Task:
    comm, _, tid = name.partition("=")
    return h.Task(int(tid), comm) if tid else h.idle(cpu) if name == "idle" else TASKS[comm]


def happening(at: int, what: list[str], cpu: int) -> h.Happening:
    match what:
        case ["unseen", *hidden]:
            return h.unrecorded(happening(at, hidden, cpu))
        case ["irq", irq, *name]:
            return h.IrqEntry(at, int(irq), *name)
        case ["end", "irq", irq]:
            return h.IrqExit(at, int(irq))
        case ["vector", *name]:
            return h.VectorEntry(at, *name)
        case ["end", "vector", *name]:
            return h.VectorExit(at, *name)
        case ["bh", "off"]:
            return h.BhDisable(at)
        case ["bh", "on"]:
            return h.BhEnable(at)
        case ["raise", vec]:
            return h.SoftirqRaise(at, ACTIONS.index(vec))
        case ["end", vec]:
            return h.SoftirqExit(at, ACTIONS.index(vec))
        # Device, packets, budget, address.
        case ["poll", *given]:
            return h.NapiPoll(at, *given[:1], *(int(one, 0) for one in given[1:]))
        case ["switch", to, *state]:
            return h.Switch(at, task_of(to, cpu), *(STATES[one] for one in state))
        case ["waking", task, *target]:
            return h.Waking(at, task_of(task), *map(int, target))
        case ["wakeup", task, *target]:
            return h.Wakeup(at, task_of(task), *map(int, target))
        case ["migrate", task, orig, dest]:
            return h.MigrateTask(at, task_of(task), int(orig), int(dest))
        case ["exec", filename, comm]:
            return h.Exec(at, filename, comm)
        case ["lost", count]:
            return h.Lost(at, int(count))
        case ["flush"]:
            return h.Flush(at)
        case [vec]:
            return h.SoftirqEntry(at, ACTIONS.index(vec))
    raise ValueError(f"{at} {' '.join(what)}")
