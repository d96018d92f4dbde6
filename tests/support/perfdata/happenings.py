# What happens on a CPU, in the kernel's words: the sentences from which a timeline is told. `at` is
# in nanoseconds of the recording's clock. None of them says which task is current or what the
# context flags are: the simulated CPU in simulate.py knows.

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    tid: int
    comm: str
    prio: int = 120
    pid: int | None = None

    @property
    def tgid(self) -> int:
        return self.tid if self.pid is None else self.pid


def idle(cpu: int) -> Task:
    return Task(0, f"swapper/{cpu}")


@dataclass(frozen=True)
class Happening:
    at: int


@dataclass(frozen=True)
class Switch(Happening):
    to: Task
    prev_state: int = 0


@dataclass(frozen=True)
class IrqEntry(Happening):
    irq: int
    name: str = "eth0"


@dataclass(frozen=True)
class IrqExit(Happening):
    irq: int
    ret: int = 1


@dataclass(frozen=True)
class VectorEntry(Happening):
    vector: str = "local_timer"


@dataclass(frozen=True)
class VectorExit(Happening):
    vector: str = "local_timer"


# local_bh_disable and local_bh_enable: no tracepoint fires, but every event in between carries the
# flag 0x80.
@dataclass(frozen=True)
class BhDisable(Happening):
    pass


@dataclass(frozen=True)
class BhEnable(Happening):
    pass


@dataclass(frozen=True)
class SoftirqRaise(Happening):
    vec: int


@dataclass(frozen=True)
class SoftirqEntry(Happening):
    vec: int


@dataclass(frozen=True)
class SoftirqExit(Happening):
    vec: int


@dataclass(frozen=True)
class NapiPoll(Happening):
    device: str = "eth0"
    work: int = 1
    budget: int = 64
    napi: int = 0xFF11000102B14008


# Memory is freed by a function, at this address of it.
@dataclass(frozen=True)
class Kfree(Happening):
    call_site: int


# A packet is dropped.
@dataclass(frozen=True)
class KfreeSkb(Happening):
    skbaddr: int


# A packet is queued, received or copied to a task: which, SKB_EVENTS says.
@dataclass(frozen=True)
class SkbEvent(Happening):
    event: str
    skbaddr: int


# A socket's owner is told that there is data; which socket is its address.
@dataclass(frozen=True)
class DataReady(Happening):
    socket: int


@dataclass(frozen=True)
class Wakeup(Happening):
    task: Task
    target_cpu: int = 0


@dataclass(frozen=True)
class WakeupNew(Wakeup):
    pass


@dataclass(frozen=True)
class Waking(Wakeup):
    pass


@dataclass(frozen=True)
class MigrateTask(Happening):
    task: Task
    orig_cpu: int
    dest_cpu: int


@dataclass(frozen=True)
class Fork(Happening):
    child: Task


@dataclass(frozen=True)
class Exec(Happening):
    filename: str
    comm: str


@dataclass(frozen=True)
class Exit(Happening):
    group_dead: bool = True


# The ring was full: `count` events after the previous record are missing, and perf says so in a
# LOST record, written (and stamped) when there is room again. `placed=False` writes only the
# LOST_SAMPLES record of the end of recording.
@dataclass(frozen=True)
class Lost(Happening):
    count: int
    placed: bool = True


# perf read this CPU's ring up to here and wrote it out; `repeat` records of the end of that write
# come once more at the start of the next, byte for byte, as recordings under load show.
@dataclass(frozen=True)
class Flush(Happening):
    repeat: int = 0


# It happened, so the flags of later events know of it, but no event says so: the tracepoint was not
# enabled yet (or no longer), a filter hid it, or it fell into a loss.
@dataclass(frozen=True)
class Unrecorded(Happening):
    what: Happening


# Its event is in the file, but it did not happen to the simulated CPU: for timelines that
# contradict themselves.
@dataclass(frozen=True)
class Spurious(Happening):
    what: Happening


def unrecorded(what: Happening) -> Unrecorded:
    return Unrecorded(what.at, what)


def spurious(what: Happening) -> Spurious:
    return Spurious(what.at, what)
