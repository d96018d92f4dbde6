# The ledger once more, slow and plain: every nanosecond of every CPU is a cell of a list, and every
# happening paints cells. It reads the description of a well-formed timeline, not its bytes, and
# shares nothing with the native ledger.

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.perfdata.timeline import Cpu, Recording

NETWORK_KTHREADS = ("ksoftirqd/", "napi/", "irq/", "ktimers/", "rcuc/", "backlog_napi/", "vhost-")


# Who owns a nanosecond. `run` tells one softirq invocation from the next.
@dataclass(frozen=True)
class Owner:
    context: str
    tid: int
    id: int | None = None
    napi: int | None = None
    cost_class: str | None = None
    run: int | None = None


# Why a softirq was asked for: "irq", "task" (whose), "mixed" or "unknown". A raise inside a softirq
# inherits that softirq's reason.
@dataclass(frozen=True)
class Reason:
    kind: str
    tid: int | None = None
    inherited: bool = False


def common_reason(raises: list[Reason]) -> Reason:
    inherited = bool(raises) and all(one.inherited for one in raises)
    kinds = {(one.kind, one.tid) for one in raises}
    if not kinds or ("unknown", None) in kinds:
        return Reason("unknown")
    if len(kinds) > 1:
        return Reason("mixed", None, inherited)
    [(kind, tid)] = kinds
    return Reason(kind, tid, inherited)


@dataclass
class Softirq:
    cpu: int
    entry_ns: int
    vec: int
    tid: int
    reason: Reason
    cost_class: str
    run: int
    exit_ns: int | None = None
    polls: int = 0
    packets: int = 0
    self_ns: int = 0
    poll_from: int = 0

    @property
    def origin(self) -> str:
        inherits = self.reason.inherited and self.reason.kind != "unknown"
        return "softirq" if inherits else self.reason.kind


@dataclass
class Poll:
    cpu: int
    start_ns: int | None
    end_ns: int
    napi: int
    device: str
    work: int
    budget: int
    tid: int
    self_ns: int | None


@dataclass
class Slice:
    cpu: int
    tid: int
    in_ns: int
    out_ns: int
    parts: Counter[str] = field(default_factory=Counter)


# The column of the slices table that a nanosecond belongs to.
def part(owner: Owner) -> str:
    if owner.context in ("hardirq", "vector"):
        return "hardirq_ns"
    if owner.run is not None:
        return f"softirq_{t.ACTIONS[owner.id or 0]}_{owner.cost_class}_ns"
    return "poll_ns" if owner.context == "poll" else "task_ns"


@dataclass
class Ledger:
    start_ns: int
    end_ns: int
    cells: dict[int, list[Owner]] = field(default_factory=dict)
    softirqs: list[Softirq] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    slices: list[Slice] = field(default_factory=list)

    # (cpu, start, end, context, tid, id, napi, cost_class), neighbours with one owner joined.
    def segments(self) -> list[tuple[object, ...]]:
        rows: list[list[object]] = []
        for cpu, cells in self.cells.items():
            previous: tuple[object, ...] = ()
            for now, owner in enumerate(cells, self.start_ns):
                who = (owner.context, owner.tid, owner.id, owner.napi, owner.cost_class)
                if who == previous:
                    rows[-1][2] = now + 1
                else:
                    rows.append([cpu, now, now + 1, *who])
                previous = who
        return [tuple(row) for row in rows]

    def sums(self) -> Counter[tuple[object, ...]]:
        result: Counter[tuple[object, ...]] = Counter()
        for cpu, cells in self.cells.items():
            for owner in cells:
                result[(cpu, owner.tid, owner.context, owner.id)] += 1
        return result


class PaintedCpu:
    def __init__(self, ledger: Ledger, cpu: Cpu) -> None:
        self.ledger, self.number = ledger, cpu.number
        self.cells = ledger.cells[cpu.number]
        self.task = cpu.first_task
        self.hardirqs: list[Owner] = []
        # Open, but not in the recording: they own nothing, and what is raised in them is known to
        # be by the flags.
        self.unseen_hardirqs = 0
        # A task's softirqs stay with it when it is switched out (PREEMPT_RT).
        self.running: defaultdict[int, list[Softirq]] = defaultdict(list)
        self.bh_off: Counter[int] = Counter()
        self.raises: defaultdict[int, list[Reason]] = defaultdict(list)
        self.late: defaultdict[int, list[Reason]] = defaultdict(list)
        # By tid: when the poll that a NAPI thread is in, or will be next, began.
        self.thread_poll_from: dict[int, int] = {}
        if self.task.comm.startswith("napi/"):
            # Its switch-in is not in the recording: the first event that sees it there stands in.
            first = next((one.at for one in cpu.happenings if not silent(one)), ledger.end_ns)
            self.thread_poll_from[self.task.tid] = first
        self.painted = self.slice_from = ledger.start_ns

    @property
    def softirqs(self) -> list[Softirq]:
        return self.running[self.task.tid]

    def base_class(self) -> str | None:
        if self.task.tid == 0:
            return "from_idle"
        return "scheduled" if self.task.comm.startswith(NETWORK_KTHREADS) else None

    def owner(self) -> Owner:
        tid = self.task.tid
        if self.hardirqs:
            return self.hardirqs[-1]
        if self.softirqs:
            top = self.softirqs[-1]
            return Owner("softirq", tid, top.vec, None, top.cost_class, top.run)
        if tid == 0:
            return Owner("idle", 0)
        return Owner("task", tid, None, None, self.base_class())

    def paint(self, until: int) -> None:
        owner = self.owner()
        # Nothing recorded may stand before the first event or after the last.
        for now in range(self.painted, min(until, self.ledger.end_ns)):
            self.cells[now - self.ledger.start_ns] = owner
        self.painted = max(self.painted, until)

    def end_slice(self, now: int) -> None:
        self.ledger.slices.append(Slice(self.number, self.task.tid, self.slice_from, now))
        self.slice_from = now

    def cost_class(self, reason: Reason) -> str:
        base = self.base_class()
        if base is not None:
            return base
        if reason.kind in ("mixed", "unknown"):
            return "stolen_or_synchronous"
        own = reason.kind == "task" and reason.tid == self.task.tid
        return "synchronous" if own else "stolen"

    def happen(self, what: h.Happening) -> None:
        self.paint(what.at)
        tid = self.task.tid
        match what:
            case h.IrqEntry(_, irq, _):
                self.hardirqs.append(
                    Owner("hardirq", tid, irq, None, self.base_class() or "stolen")
                )
            case h.VectorEntry(_, vector):
                number = t.VECTORS[vector]
                self.hardirqs.append(
                    Owner("vector", tid, number, None, self.base_class() or "stolen")
                )
            case h.IrqExit() | h.VectorExit():
                self.hardirqs.pop()
            case h.BhDisable():
                self.bh_off[tid] += 1
            case h.BhEnable():
                self.bh_off[tid] -= 1
            case h.SoftirqRaise(_, vec):
                self.raises[vec].append(self.raised())
            case h.SoftirqEntry(_, vec):
                raises = self.raises.pop(vec, [])
                # Behind several raises an entry without one serves the last of them.
                late, self.late[vec] = self.late[vec], raises[-1:] if len(raises) > 1 else []
                reason = common_reason(raises or late)
                row = (self.number, what.at, vec, tid, reason, self.cost_class(reason))
                entered = Softirq(*row, run=len(self.ledger.softirqs), poll_from=what.at)
                self.ledger.softirqs.append(entered)
                self.softirqs.append(entered)
            case h.SoftirqExit():
                self.softirqs.pop().exit_ns = what.at
            case h.NapiPoll():
                self.poll(what)
            case h.Unrecorded(_, h.IrqEntry() | h.VectorEntry()):
                self.unseen_hardirqs += 1
            case h.Unrecorded(_, h.IrqExit() | h.VectorExit()):
                self.unseen_hardirqs -= 1
            case h.Switch(_, to, prev_state):
                self.end_slice(what.at)
                # A NAPI thread that is preempted resumes its poll; one that sleeps has ended it.
                if prev_state not in (0, 256):
                    self.thread_poll_from.pop(tid, None)
                self.task = to
                if to.comm.startswith("napi/"):
                    self.thread_poll_from.setdefault(to.tid, what.at)

    def raised(self) -> Reason:
        if self.hardirqs or self.unseen_hardirqs:
            return Reason("irq")
        if self.softirqs:
            return replace(self.softirqs[-1].reason, inherited=True)
        return Reason("task", self.task.tid)

    def poll(self, what: h.NapiPoll) -> None:
        tid = self.task.tid
        self_ns = None
        start = None
        if self.softirqs:
            top = self.softirqs[-1]
            top.polls, top.packets = top.polls + 1, top.packets + what.work
            start, top.poll_from = top.poll_from, what.at
            self_ns = self.repaint(start, what, lambda owner: owner.run == top.run)
        elif tid in self.thread_poll_from:
            start, self.thread_poll_from[tid] = self.thread_poll_from[tid], what.at
            self_ns = self.repaint(start, what, lambda owner: owner.context == "task")
        row = (self.number, start, what.at, what.napi, what.device, what.work, what.budget, tid)
        self.ledger.polls.append(Poll(*row, self_ns))

    # A poll has no begin event: its stretch is known, and repainted, when it ends.
    def repaint(self, start: int, what: h.NapiPoll, mine: object) -> int:
        count = 0
        for now in range(start, what.at):
            owner = self.cells[now - self.ledger.start_ns]
            if owner.tid == self.task.tid and owner.napi is None and mine(owner):  # type: ignore[operator]
                # A poll is NET_RX's work, also in a thread.
                poll = replace(owner, context="poll", id=3, napi=what.napi)
                self.cells[now - self.ledger.start_ns] = poll
                count += 1
        return count


def reference(told: Recording) -> Ledger:
    times = [one.at for cpu in told.cpus for one in cpu.happenings if not silent(one)]
    ledger = Ledger(min(times), max(times))
    for cpu in told.cpus:
        ledger.cells[cpu.number] = [Owner("unpainted", -1)] * (ledger.end_ns - ledger.start_ns)
        painted = PaintedCpu(ledger, cpu)
        for what in (*cpu.unseen, *cpu.happenings):
            painted.happen(what)
        painted.paint(ledger.end_ns)
        painted.end_slice(ledger.end_ns)
    ran = {number: Counter(one.run for one in cells) for number, cells in ledger.cells.items()}
    for softirq in ledger.softirqs:
        softirq.self_ns = ran[softirq.cpu][softirq.run]
    for stay in ledger.slices:
        cells = ledger.cells[stay.cpu]
        stay.parts.update(
            map(part, cells[stay.in_ns - ledger.start_ns : stay.out_ns - ledger.start_ns])
        )
    return ledger


# No event of the recording shows these.
def silent(what: h.Happening) -> bool:
    return isinstance(what, h.BhDisable | h.BhEnable | h.Flush | h.Lost | h.Unrecorded)
