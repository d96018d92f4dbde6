# A simulated CPU: turns happenings into raw tracepoint events, with the common fields that a kernel
# would have put there. Flag values from include/linux/trace_events.h (enum trace_flag_type),
# checked against recordings of Linux 6.1, 6.1 PREEMPT_RT, 6.12 and 6.18.

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from . import happenings as h
from . import tracepoints as t
from .formats import Common, Format, Value

IRQS_OFF, HARDIRQ, SOFTIRQ, BH_OFF = 0x01, 0x08, 0x10, 0x80


@dataclass(frozen=True)
class Event:
    at: int
    cpu: int
    task: h.Task
    format: Format
    values: dict[str, Value]
    common: Common
    # Once a task has exited, perf has no number for it in its namespace and says -1.
    exited: bool = False


Preemption = Literal["perf", "ftrace", "none"]


# Softirqs live in the task that runs them: on PREEMPT_RT they are preempted with it, elsewhere they
# end before any switch, so one dictionary keyed by task serves both.
@dataclass
class SimulatedCpu:
    number: int
    task: h.Task
    hardirqs: int = 0
    serving: dict[int, int] = field(default_factory=dict)
    bh_off: dict[int, int] = field(default_factory=dict)
    exited: set[int] = field(default_factory=set)
    formats: dict[str, Format] = field(default_factory=dict)
    preemption: Preemption = "perf"

    def common(self, irqs_off: bool = False, scheduler: bool = False) -> Common:
        tid = self.task.tid
        serving, bh_off = self.serving.get(tid, 0), self.bh_off.get(tid, 0)
        flags = HARDIRQ | IRQS_OFF if self.hardirqs else IRQS_OFF if irqs_off else 0
        flags |= (SOFTIRQ if serving else 0) | (BH_OFF if bh_off else 0)
        # Softirqs at local_bh_enable have one level more than at the exit of an interrupt. perf
        # adds one of its own; a kernel without the count has none that it does not set outright.
        level = (bh_off > 0) + self.hardirqs // 2
        if self.preemption != "none":
            level += (2 if scheduler else tid == 0) + (self.preemption == "perf")
        return Common(flags, level, tid)

    def happen(self, what: h.Happening) -> Iterator[Event]:
        match what:
            case h.Unrecorded(_, hidden):
                for _ in self.happen(hidden):
                    pass
                return
            case h.Spurious(_, pretended):
                yield from self.event(pretended)
                return
        # Entries change the context before their tracepoint fires, exits after it.
        self.before(what)
        yield from self.event(what)
        self.after(what)

    def before(self, what: h.Happening) -> None:
        tid = self.task.tid
        match what:
            case h.IrqEntry() | h.VectorEntry():
                self.hardirqs += 1
            case h.SoftirqEntry():
                self.serving[tid] = self.serving.get(tid, 0) + 1
            case h.BhDisable():
                self.bh_off[tid] = self.bh_off.get(tid, 0) + 1
            case h.BhEnable():
                self.bh_off[tid] = max(0, self.bh_off.get(tid, 0) - 1)

    def after(self, what: h.Happening) -> None:
        match what:
            case h.IrqExit() | h.VectorExit():
                self.hardirqs = max(0, self.hardirqs - 1)
            case h.SoftirqExit():
                self.serving[self.task.tid] = max(0, self.serving.get(self.task.tid, 0) - 1)
            case h.Switch(_, to):
                self.task = to
            case h.Exit():
                self.exited.add(self.task.tid)
            case h.Exec(_, _, comm):
                self.task = h.Task(self.task.tid, comm, self.task.prio, self.task.pid)

    def event(self, what: h.Happening) -> Iterator[Event]:
        described = self.describe(what)
        if described is not None:
            format_, values = described
            format_ = self.formats.get(format_.event, format_)
            # `success` was always 1, so happenings do not mention it.
            values = {one.name: values.get(one.name, 1) for one in format_.fields}
            # A hand-written description has no irqs-off sections: these fire where the kernel holds
            # a raw lock.
            irqs_off = isinstance(what, h.SoftirqRaise | h.Switch | h.Wakeup | h.MigrateTask)
            common = self.common(irqs_off, scheduler=isinstance(what, h.Switch))
            if isinstance(what, h.Exec):
                self.after(what)
            exited = self.task.tid in self.exited
            yield Event(what.at, self.number, self.task, format_, values, common, exited)

    def describe(self, what: h.Happening) -> tuple[Format, dict[str, Any]] | None:
        task = self.task
        match what:
            case h.IrqEntry(_, irq, name):
                return t.IRQ_HANDLER_ENTRY, {"irq": irq, "name": name}
            case h.IrqExit(_, irq, ret):
                return t.IRQ_HANDLER_EXIT, {"irq": irq, "ret": ret}
            case h.VectorEntry(_, vector):
                return t.VECTOR_ENTRY[vector], {"vector": t.VECTORS[vector]}
            case h.VectorExit(_, vector):
                return t.VECTOR_EXIT[vector], {"vector": t.VECTORS[vector]}
            case h.SoftirqRaise(_, vec):
                return t.SOFTIRQ_RAISE, {"vec": vec}
            case h.SoftirqEntry(_, vec):
                return t.SOFTIRQ_ENTRY, {"vec": vec}
            case h.SoftirqExit(_, vec):
                return t.SOFTIRQ_EXIT, {"vec": vec}
            case h.NapiPoll(_, device, work, budget, napi):
                return t.NAPI_POLL, {
                    "napi": napi,
                    "dev_name": device,
                    "work": work,
                    "budget": budget,
                }
            case h.Kfree(_, call_site):
                return t.KFREE, {"call_site": call_site, "ptr": 0x1000}
            case h.KfreeSkb(_, skbaddr):
                return t.KFREE_SKB, {"skbaddr": skbaddr, "location": 0x1000}
            case h.SkbEvent(_, event, skbaddr):
                return t.SKB_EVENTS[event], {"skbaddr": skbaddr, "len": 100}
            case h.DataReady(_, socket):
                return t.SK_DATA_READY, {"skaddr": socket, "family": 2}
            case h.Switch(_, to, state):
                previous = {
                    "prev_comm": task.comm,
                    "prev_pid": task.tid,
                    "prev_prio": task.prio,
                    "prev_state": state,
                }
                following = {"next_comm": to.comm, "next_pid": to.tid, "next_prio": to.prio}
                return t.SCHED_SWITCH, previous | following
            case h.Wakeup(_, woken, target_cpu):
                kinds = {
                    h.Wakeup: t.SCHED_WAKEUP,
                    h.WakeupNew: t.SCHED_WAKEUP_NEW,
                    h.Waking: t.SCHED_WAKING,
                }
                values = {
                    "comm": woken.comm,
                    "pid": woken.tid,
                    "prio": woken.prio,
                    "target_cpu": target_cpu,
                }
                return kinds[type(what)], values
            case h.MigrateTask(_, moved, orig, dest):
                values = {"comm": moved.comm, "pid": moved.tid, "prio": moved.prio}
                return t.SCHED_MIGRATE_TASK, values | {"orig_cpu": orig, "dest_cpu": dest}
            case h.Fork(_, child):
                values = {"parent_comm": task.comm, "parent_pid": task.tid}
                return t.SCHED_PROCESS_FORK, values | {
                    "child_comm": child.comm,
                    "child_pid": child.tid,
                }
            case h.Exec(_, filename, _):
                return t.SCHED_PROCESS_EXEC, {
                    "filename": filename,
                    "pid": task.tid,
                    "old_pid": task.tid,
                }
            case h.Exit(_, group_dead):
                values = {"comm": task.comm, "pid": task.tid, "prio": task.prio}
                return t.SCHED_PROCESS_EXIT, values | {"group_dead": group_dead}
        return None
