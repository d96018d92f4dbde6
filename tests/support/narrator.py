# Well-formed timelines out of a tape of small numbers, as the kernel would produce them: interrupts
# nest and return, softirqs run where the kernel runs them, pending bits decide which. A shorter or
# smaller tape is a simpler story, so hypothesis shrinks failures to something a person can draw.

from collections.abc import Callable

from hypothesis import strategies as st

from support.perfdata import happenings as h
from support.perfdata.timeline import Cpu, Recording

BASE = 1_000_000
NET_RX, TIMER = 3, 1
ETH0, ETH1 = 0xFF11000102B14008, 0xFF11000102B14508


class Narrator:
    def __init__(self, number: int, tape: bytes, realtime: bool = False) -> None:
        self.number, self.tape, self.realtime = number, tape, realtime
        self.place, self.now = 0, BASE
        self.told: list[h.Happening] = []
        first = 100 * (number + 1)
        self.tasks = [
            h.idle(number),
            h.Task(first, "openssl"),
            h.Task(first + 1, f"ksoftirqd/{number}"),
            h.Task(first + 2, "napi/eth0-5"),
            h.Task(first + 3, "udpsink", pid=first + 1000),
        ]
        self.task = self.first = self.tasks[self.choice(len(self.tasks))]
        self.pending: set[int] = set()
        self.serving: dict[int, int] = {}
        self.bh_off = False
        self.hardirqs = 0

    def choice(self, count: int) -> int:
        if self.place >= len(self.tape):
            return 0
        self.place += 1
        return self.tape[self.place - 1] % count

    def say(self, kind: Callable[..., h.Happening], *details: object) -> None:
        # Ties are common in recordings: every fourth step or so takes no time.
        step = self.choice(64)
        self.now += (0, 1, 2, 5, 9, 0, 14, 30)[step % 8]
        self.told.append(kind(self.now, *details))
        if step > 58:
            # Across a flush time moves on: equal records on either side could not be told from a
            # repeat.
            self.told.append(h.Flush(self.now, repeat=step - 59))
            self.now += 1

    def tell(self) -> Cpu:
        steps = (self.interrupt, self.bottom_halves_off, self.switch, self.wake, self.interrupt)
        while self.place < len(self.tape) and len(self.told) < 300:
            steps[self.choice(len(steps))]()
        return Cpu(self.number, tuple(self.told), self.first)

    def raise_some(self) -> None:
        for vec in ((), (NET_RX,), (TIMER,), (TIMER, NET_RX), (NET_RX, NET_RX))[self.choice(5)]:
            self.say(h.SoftirqRaise, vec)
            self.pending.add(vec)

    def interrupt(self) -> None:
        if self.hardirqs > 2:
            return
        vector = self.choice(2)
        # No line and no vector interrupts itself.
        name = ("local_timer", "call_function_single", "reschedule")[self.hardirqs]
        irq = 30 + 3 * self.hardirqs + self.choice(3)
        entry, exit_ = (h.VectorEntry, h.VectorExit) if vector else (h.IrqEntry, h.IrqExit)
        self.say(entry, *((name,) if vector else (irq, f"virtio{irq}-input.0")))
        self.hardirqs += 1
        self.raise_some()
        if self.choice(6) == 5:
            self.interrupt()
        self.hardirqs -= 1
        self.say(exit_, name if vector else irq)
        if not self.hardirqs and not self.serving.get(self.task.tid) and not self.bh_off:
            self.softirqs()

    # __do_softirq: passes over what is pending, and after the third leaves the rest to ksoftirqd.
    def softirqs(self) -> None:
        task = self.task
        if self.realtime and task.tid == 0:
            return
        for _ in range(3):
            vecs, self.pending = sorted(self.pending), set()
            for vec in vecs:
                self.say(h.SoftirqEntry, vec)
                self.serving[task.tid] = self.serving.get(task.tid, 0) + 1
                self.body(vec)
                self.serving[task.tid] -= 1
                self.say(h.SoftirqExit, vec)
        if self.pending:
            self.say(h.Wakeup, self.tasks[2], self.number)

    def body(self, vec: int) -> None:
        for _ in range(self.choice(4)):
            match self.choice(5):
                case 0 | 1 if vec == NET_RX:
                    device = self.choice(2)
                    work = self.choice(65)
                    self.say(h.NapiPoll, f"eth{device}", work, 64, (ETH0, ETH1)[device])
                case 2:
                    self.raise_some()
                case 3 if self.realtime:
                    self.preempt()
                case 4:
                    self.interrupt()

    # On PREEMPT_RT a task is switched out inside its softirq; the others run, and it comes back.
    def preempt(self) -> None:
        task = self.task
        others = [one for one in self.tasks[1:] if not self.serving.get(one.tid)]
        if not others:
            return
        self.task = others[self.choice(len(others))]
        self.say(h.Switch, self.task, 256)
        for _ in range(self.choice(3)):
            self.interrupt()
        self.say(h.Switch, task, 1)
        self.task = task

    # A system call that sends: what it raises runs at its own local_bh_enable.
    def bottom_halves_off(self) -> None:
        if self.task.tid == 0 or self.bh_off:
            return
        self.say(h.BhDisable)
        self.bh_off = True
        self.raise_some()
        if self.choice(3) == 2:
            self.interrupt()
        self.bh_off = False
        self.say(h.BhEnable)
        self.softirqs()

    def switch(self) -> None:
        to = self.tasks[self.choice(len(self.tasks))]
        if to.tid == self.task.tid:
            return
        self.say(h.Switch, to, self.choice(3))
        self.task = to
        if to.comm.startswith("ksoftirqd/"):
            self.softirqs()
        if to.comm.startswith("napi/"):
            self.threaded_polls()

    def threaded_polls(self) -> None:
        self.say(h.BhDisable)
        self.bh_off = True
        for _ in range(self.choice(4)):
            if self.choice(4) == 3:
                self.interrupt()
            self.say(h.NapiPoll, "eth0", self.choice(65), 64, ETH0)
        self.bh_off = False
        self.say(h.BhEnable)
        self.softirqs()

    def wake(self) -> None:
        task = self.tasks[1 + self.choice(len(self.tasks) - 1)]
        self.say(h.Waking, task, self.number)
        self.say(h.Wakeup, task, self.number)


def recordings(realtime: bool = False) -> st.SearchStrategy[Recording]:
    tape = st.binary(min_size=8, max_size=40) | st.binary(min_size=100, max_size=400)
    tapes = st.lists(tape, min_size=1, max_size=3)

    def told(tapes: list[bytes]) -> Recording:
        narrators = [Narrator(number, one, realtime) for number, one in enumerate(tapes)]
        cpus = tuple(one.tell() for one in narrators)
        return Recording(cpus, known=tuple(task for one in narrators for task in one.tasks[1:]))

    def timed(one: Recording) -> bool:
        # A CPU without events is not a recorded CPU.
        return {event.cpu for event in one.events()} == {cpu.number for cpu in one.cpus}

    return tapes.map(told).filter(timed)
